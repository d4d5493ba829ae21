"""Fashion-MNIST: as small as MNIST, and not as easy."""

from __future__ import annotations

import gzip
import math
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torchvision.datasets import FashionMNIST

from pauc_lightning.arguments import check_path
from pauc_lightning.data.base import Source
from pauc_lightning.data.download import Archive, fetch
from pauc_lightning.data.images import ImageDataModule
from pauc_lightning.errors import InputError

_IMAGE = (28, 28)
_FILES = tuple(name.removesuffix(".gz") for name, _ in FashionMNIST.resources)
# The authors' own repository. torchvision's mirror has the same files, but over http only.
_MIRROR = "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/"
_DEBIAN_FOLDER = Path("/usr/share/datasets/fashion-mnist")  # the package dataset-fashion-mnist


class FashionMNISTLT(ImageDataModule):
    """Fashion-MNIST (28x28 pixels, one channel), train and test images merged, long-tailed and binary.

    Not one of the paper's data sets, but quick to train on, and on Debian it comes as a package
    (dataset-fashion-mnist), which is found by itself. By default pullovers are to be told from the rest.

    Args:
        root: Folder with the four original files, or with torchvision's ``FashionMNIST/raw``; they are
            downloaded to the latter if they are not there.
        positive_classes: Ids or names of the classes that are positive; all others are negative.
        imbalance_ratio: Number of ankle boots over number of T-shirts, in (0, 1]; the classes between shrink
            exponentially. null keeps every image.
        kwargs: What every image data module takes.
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
        """All images as uint8 of shape ``(70000, 1, 28, 28)``, those of the training files first."""
        paths = self._find()
        train_images, train_labels, test_images, test_labels = arrays = [_read_idx(path) for path in paths]
        for path, array, shape in zip(paths, arrays, (_IMAGE, (), _IMAGE, ()), strict=True):
            if array.shape[1:] != shape or array.ndim != 1 + len(shape):
                raise InputError(
                    f"{path} has an array of shape {array.shape}, but {('n', *shape)} is expected: it is not from "
                    "Fashion-MNIST. Delete it or get it again."
                )
        images = np.concatenate([train_images, test_images])[:, None]
        labels = np.concatenate([train_labels, test_labels]).astype(np.int64)
        if len(images) != len(labels):
            raise InputError(f"`root={self.root}` has {len(images)} images, but {len(labels)} labels.")
        return Source(torch.from_numpy(images), labels, tuple(FashionMNIST.classes))

    def _find(self) -> list[Path]:
        """Paths of the four files, which are downloaded if need be."""
        raw = Path(self.root) / "FashionMNIST" / "raw"
        for folder in (Path(self.root), raw, _DEBIAN_FOLDER):
            for ending in (".gz", ""):
                paths = [folder / f"{name}{ending}" for name in _FILES]
                if all(path.exists() for path in paths):
                    return paths
        return [fetch(Archive(f"{_MIRROR}{name}", name, md5), raw) for name, md5 in FashionMNIST.resources]


def _read_idx(path: Path) -> NDArray[np.uint8]:
    """An array of bytes in LeCun's format: 0, 0, 8, number of dimensions, the dimensions, the data."""
    try:
        with gzip.open(path) if path.suffix == ".gz" else open(path, "rb") as file:
            content = file.read()
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"cannot read {path}: {error}. Delete the file or get it again.") from error
    n_dims = content[3] if content[:3] == b"\0\0\x08" and len(content) > 3 else 0
    start = 4 + 4 * n_dims
    shape = [int.from_bytes(content[i : i + 4], "big") for i in range(4, start, 4)]
    if n_dims == 0 or len(content) != start + math.prod(shape):
        raise InputError(f"{path} is not a whole file of bytes in idx format. Delete it or get it again.")
    return np.frombuffer(content, dtype=np.uint8, offset=start).reshape(shape)
