"""Batches per second: augmented images in whole batches or one by one, and rows of a table as slices or one by one."""

from __future__ import annotations

import os
import statistics
import sys
import time
from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset, TensorDataset
from tqdm import tqdm

from pauc_lightning.cli.plain_parser import PlainParser
from pauc_lightning.data.augment import IMAGENET_MEAN, IMAGENET_STD
from pauc_lightning.data.base import LongTailDataModule
from pauc_lightning.data.images import ImageDataModule
from pauc_lightning.data.source import Source
from pauc_lightning.errors import InputError

Epoch = Callable[[], int]
"""Goes through the training part once and returns the number of samples it has seen."""


class _RandomImages(ImageDataModule):
    """Random bytes of ten classes."""

    def __init__(self, n: int, size: int, batch_size: int) -> None:
        super().__init__(positive_classes=[0], batch_size=batch_size, sampler="shuffled")
        self.n, self.size = n, size

    def load_source(self) -> Source:
        generator = torch.Generator().manual_seed(0)
        shape = (self.n, 3, self.size, self.size)
        images = torch.randint(0, 256, shape, dtype=torch.uint8, generator=generator)
        return Source(images, np.arange(self.n) % 10)


class _RandomTable(LongTailDataModule):
    """Random numbers, a fiftieth of the rows positive."""

    def __init__(self, rows: int, columns: int, batch_size: int) -> None:
        super().__init__(positive_classes=[0], batch_size=batch_size)
        self.rows, self.columns = rows, columns

    def load_source(self) -> Source:
        generator = torch.Generator().manual_seed(0)
        inputs = torch.randn(self.rows, self.columns, generator=generator)
        return Source(inputs, (np.arange(self.rows) % 50).clip(max=1))


class _PILDataset(Dataset[tuple[Tensor, int, int]]):
    """The same images loaded conventionally: one PIL image at a time through torchvision's transforms."""

    def __init__(self, images: Tensor, targets: Tensor) -> None:
        from torchvision import transforms

        self.images = images.permute(0, 2, 3, 1).contiguous().numpy()
        self.targets = targets.tolist()
        size = images.shape[-1]
        self.transform = transforms.Compose(
            [
                transforms.RandomHorizontalFlip(),
                transforms.RandomRotation(15),
                transforms.RandomCrop(size, padding=size // 8),
                transforms.ToTensor(),
                transforms.Normalize(IMAGENET_MEAN, IMAGENET_STD),
            ]
        )

    def __len__(self) -> int:
        return len(self.targets)

    def __getitem__(self, index: int) -> tuple[Tensor, int, int]:
        from PIL import Image

        return self.transform(Image.fromarray(self.images[index])), self.targets[index], index


def main(argv: Sequence[str] | None = None) -> None:
    """Print the training samples per second of each way of loading, for random images and a random table."""
    parser = PlainParser(prog="pauc benchmark data", description=main.__doc__)
    integers = {
        "images": (15_000, 100, "images; 0.7 of them are for training"),
        "size": (32, 8, "height and width of the images"),
        "batch_size": (1024, 1, "images per batch"),
        "workers": (os.cpu_count(), 0, "worker processes that load images one by one"),
        "rows": (200_000, 200, "rows of the table; 0.7 of them are for training"),
        "columns": (40, 1, "columns of the table"),
        "row_batch_size": (512, 2, "rows per batch"),
        "threads": (1, 1, "torch's threads in this process; 1 compares core by core"),
        "repeats": (5, 1, "epochs to time"),
    }
    for name, (default, _, text) in integers.items():
        parser.add_argument(f"--{name}", type=int, default=default, help=text)
    args = parser.parse_args(argv)
    for name, (_, smallest, _) in integers.items():
        if getattr(args, name) < smallest:
            raise InputError(f"`--{name}` must be at least {smallest}, got {getattr(args, name)}.")
    torch.set_num_threads(args.threads)
    print(
        f"Median of {args.repeats} epochs, torch threads: {torch.get_num_threads()}, processors: {os.cpu_count()}"
    )
    _compare_images(args.images, args.size, args.batch_size, args.workers, args.repeats)
    _compare_tables(args.rows, args.columns, args.row_batch_size, args.repeats)


def _compare_images(n: int, size: int, batch_size: int, workers: int, repeats: int) -> None:
    data = _RandomImages(n, size, batch_size)
    ways = {"whole batches, in memory (this project)": _batch_epoch(data)}
    for n_workers in dict.fromkeys([0, workers]):
        ways[f"one by one, PIL, {n_workers} workers"] = _pil_epoch(data, batch_size, n_workers)
    title = (
        f"{data.train_size:,} training images of {size}x{size}, batches of {batch_size}: flip, rotation by up to 15 "
        "degrees,\ncrop with padding, normalisation"
    )
    _print_rates(title, "images/s", _rates(ways, repeats))


def _compare_tables(rows: int, columns: int, batch_size: int, repeats: int) -> None:
    data = _RandomTable(rows, columns, batch_size)
    ways = {
        "stratified slices, resumable (this project)": _slice_epoch(data),
        "plain loop over tensors": _plain_epoch(data),
        "one by one, DataLoader of a TensorDataset": _row_epoch(data),
    }
    title = f"{data.train_size:,} training rows of {columns} numbers, batches of {batch_size}"
    _print_rates(title, "rows/s", _rates(ways, repeats))


def _rates(ways: dict[str, Epoch], repeats: int) -> dict[str, float]:
    """Samples per second of each way, the median of its epochs."""
    rates: dict[str, list[float]] = {name: [] for name in ways}
    for repeat in tqdm(range(repeats + 1), "measuring", leave=False, file=sys.stderr):
        for name, epoch in ways.items():
            start = time.perf_counter()
            seen = epoch()
            if repeat > 0:  # the first epoch starts the workers and warms the caches
                rates[name].append(seen / (time.perf_counter() - start))
    return {name: statistics.median(values) for name, values in rates.items()}


def _print_rates(title: str, unit: str, rates: dict[str, float]) -> None:
    print(f"\n{title}\n{'':44}{unit:>12}{'ratio':>10}")
    (ours, fastest), *others = rates.items()
    print(f"{ours:44}{fastest:>12,.0f}")
    for name, rate in others:
        print(f"{name:44}{rate:>12,.0f}{fastest / rate:>9.2f}x")


def _batch_epoch(data: _RandomImages) -> Epoch:
    loader = data.train_dataloader()
    return lambda: sum(len(data.train_transform(batch.input)) for batch in loader)


def _pil_epoch(data: _RandomImages, batch_size: int, workers: int) -> Epoch:
    dataset = _PILDataset(*_training_part(data))
    loader = DataLoader(
        dataset, batch_size, shuffle=True, num_workers=workers, persistent_workers=workers > 0
    )
    return lambda: sum(len(images) for images, _, _ in loader)


def _slice_epoch(data: _RandomTable) -> Epoch:
    loader = data.train_dataloader()
    return lambda: sum(len(batch.input) for batch in loader)


def _plain_epoch(data: _RandomTable) -> Epoch:
    """The shortest loop that one would write by hand: shuffled, neither stratified nor resumable."""
    inputs, targets = _training_part(data)

    def epoch() -> int:
        seen = 0
        for index in torch.randperm(len(targets)).split(data.batch_size):
            batch = inputs.index_select(0, index), targets.index_select(0, index), index
            seen += len(batch[0])
        return seen

    return epoch


def _row_epoch(data: _RandomTable) -> Epoch:
    inputs, targets = _training_part(data)
    dataset = TensorDataset(inputs, targets, torch.arange(len(targets)))
    loader = DataLoader(dataset, data.batch_size, shuffle=True)
    return lambda: sum(len(rows) for rows, _, _ in loader)


def _training_part(data: LongTailDataModule) -> tuple[Tensor, Tensor]:
    """Inputs and targets of the training part, copied together."""
    members = torch.from_numpy(data.split.train)
    return data.source.inputs[members], torch.from_numpy(data.targets)[members]


if __name__ == "__main__":
    main()
