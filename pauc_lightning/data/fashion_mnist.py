"""Fashion-MNIST: as small as MNIST, but harder."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from pauc_lightning.arguments import check_path
from pauc_lightning.data.download import Archive, fetch
from pauc_lightning.data.idx import read_array, read_shape
from pauc_lightning.data.images import ImageDataModule
from pauc_lightning.data.kept_sources import file_state, read_once
from pauc_lightning.data.source import Source
from pauc_lightning.errors import InputError

_IMAGE = (28, 28)
# The authors' own repository. torchvision's mirror has the same files, but only over http.
_MIRROR = "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/"
_DEBIAN_FOLDER = Path("/usr/share/datasets/fashion-mnist")  # the package dataset-fashion-mnist


class FashionMNISTLT(ImageDataModule):
    """Fashion-MNIST (28x28 pixels, one channel), train and test images merged, long-tailed and binary.

    Not one of the paper's data sets, but quick to train on. Debian's package dataset-fashion-mnist is found
    automatically. By default pullovers are the positives.

    Args:
        root: Folder with the four original files, or with torchvision's ``FashionMNIST/raw``, to which they are
            downloaded if they are in neither.
        positive_classes: Ids or names of the classes that are positive; all others are negative.
        imbalance_ratio: Ratio of ankle boots to T-shirts, in (0, 1]; the classes between shrink
            exponentially. null keeps every image.
        kwargs: Options of every image data module.
    """

    mean = (0.2860,)  # of all training pixels
    std = (0.3530,)

    def __init__(
        self,
        root: str = "data",
        positive_classes: Sequence[int | str] = ("Pullover",),
        imbalance_ratio: float | None = 0.01,
        **kwargs: Any,
    ) -> None:
        super().__init__(positive_classes, imbalance_ratio, **kwargs)
        check_path("root", root)
        self.root = root

    def load_source(self) -> Source:
        """All images as uint8 of shape ``(70000, 1, 28, 28)``, those of the training files first; read when indexed."""
        from torchvision.datasets import FashionMNIST

        train_images, train_labels, test_images, test_labels = self._find()
        images = _IdxImages((train_images, test_images))
        labels = np.concatenate([_read_labels(path) for path in (train_labels, test_labels)])
        if len(images) != len(labels):
            raise InputError(
                f"`root={self.root}` has {len(images)} images, but {len(labels)} labels: get the files again."
            )
        return Source(images, labels, tuple(FashionMNIST.classes))

    @cached_property
    def inputs(self) -> Tensor:
        """All images in memory."""
        images = self.source.inputs
        assert isinstance(images, _IdxImages)
        key = "idx", *(file_state(path) for path in images.paths)
        read, _ = read_once(key, images.read, lambda read: read.nbytes)
        return read

    def _find(self) -> list[Path]:
        """Paths of the four files, which are downloaded if necessary."""
        from torchvision.datasets import FashionMNIST

        raw = Path(self.root) / "FashionMNIST" / "raw"
        names = [name for name, _ in FashionMNIST.resources]
        for folder in (Path(self.root), raw, _DEBIAN_FOLDER):
            for ending in (".gz", ""):
                paths = [folder / f"{name.removesuffix('.gz')}{ending}" for name in names]
                if all(path.exists() for path in paths):
                    return paths
        return [fetch(Archive(f"{_MIRROR}{name}", name, md5), raw) for name, md5 in FashionMNIST.resources]


class _IdxImages:
    """Images in idx files: the headers tell their number; the pixels are read when they are needed.

    Args:
        paths: The files.
    """

    def __init__(self, paths: Sequence[Path]) -> None:
        self.paths = paths
        self._n = sum(_checked_shape(path, _IMAGE)[0] for path in paths)

    def __len__(self) -> int:
        return self._n

    def __getitem__(self, index: Tensor | slice) -> Tensor:
        return self.read()[index]

    def read(self) -> Tensor:
        """All images, uint8 of shape ``(n, 1, height, width)``."""
        return torch.from_numpy(np.concatenate([read_array(path) for path in self.paths])[:, None])


def _read_labels(path: Path) -> NDArray[np.int64]:
    _checked_shape(path, ())
    return read_array(path).astype(np.int64)


def _checked_shape(path: Path, of_sample: tuple[int, ...]) -> tuple[int, ...]:
    shape = read_shape(path)
    if shape[1:] != of_sample:
        raise InputError(
            f"{path} has an array of shape {shape}, but {('n', *of_sample)} is expected: it is not from "
            "Fashion-MNIST. Delete it or get it again."
        )
    return shape
