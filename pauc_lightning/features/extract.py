"""The features of all images, computed batch by batch."""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor
from tqdm import tqdm

from pauc_lightning.data.image_files import ImageFiles
from pauc_lightning.features.network import FeatureNetwork
from pauc_lightning.features.parts import Parts

Item = TypeVar("Item")
Result = TypeVar("Result")

PART = 4096
"""Images in each part: a kill loses at most the work on so many."""
_AHEAD = 2  # batches for each thread that are at work or waiting


def extract(
    network: FeatureNetwork, files: ImageFiles, parts: Parts, batch_size: int, device: torch.device
) -> None:
    """Compute the features that are missing in ``parts``, with a progress bar.

    Args:
        network: The network, on ``device``.
        files: All images.
        parts: Where the features go; those that are there already are kept.
        batch_size: Images that the network gets at a time.
        device: The device that computes.
    """
    n = len(files)
    n_done = min(parts.n_done * PART, n)
    with tqdm(
        desc="features", total=n, initial=n_done, unit=" images", leave=False, file=sys.stderr, smoothing=0.05
    ) as bar:
        for start in range(n_done, n, PART):
            end = min(start + PART, n)
            batches = [slice(first, min(first + batch_size, end)) for first in range(start, end, batch_size)]
            rows = []
            for features in _features(network, files, batches, device):
                rows.append(features.numpy())
                bar.update(len(features))
            parts.add(np.concatenate(rows))


def _features(
    network: FeatureNetwork, files: ImageFiles, batches: Iterable[slice], device: torch.device
) -> Iterator[Tensor]:
    """The features of each batch, in order.

    On a CPU each thread takes a batch of its own through the network: threads that share a batch wait for each other
    at every layer, which takes much longer when other programs run. Elsewhere threads decode ahead.
    """
    if device.type != "cpu":
        for images in _in_order(files.__getitem__, batches, os.cpu_count() or 1):
            yield network(images.to(device)).cpu()
        return
    with _one_thread_per_batch() as n_threads:
        yield from _in_order(lambda batch: network(files[batch]), batches, n_threads)


@contextmanager
def _one_thread_per_batch() -> Iterator[int]:
    """Let torch use one thread for each operation; yields how many it would have used."""
    n_threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield n_threads
    finally:
        torch.set_num_threads(n_threads)


def _in_order(work: Callable[[Item], Result], items: Iterable[Item], n_threads: int) -> Iterator[Result]:
    """The results of ``work`` on each item in order, by threads that are only a little ahead."""
    with ThreadPoolExecutor(n_threads, initializer=torch.set_num_threads, initargs=(1,)) as pool:
        waiting: deque[Future[Result]] = deque()
        try:
            for item in items:
                waiting.append(pool.submit(work, item))
                if len(waiting) > _AHEAD * n_threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:  # after an error the others need not be computed
            for future in waiting:
                future.cancel()
