"""CIFAR-10, CIFAR-100 and the paper's subsets of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import torch

from pauc_lightning.data.download import Archive, fetch_and_unpack
from pauc_lightning.data.kept_sources import file_state, read_once
from pauc_lightning.data.published import Published, PublishedImages
from pauc_lightning.data.source import Source
from pauc_lightning.errors import InputError

if TYPE_CHECKING:
    from torchvision.datasets import CIFAR10

_ROUNDING = (
    "Class i of 10 keeps 6000·0.01^(i/9) images, of which 0.7 are for training; this project rounds both down, "
    "and differs from the table by at most one image per class."
)
_CATS = ' The table calls class 3 "birds"; it is cats.'
_FLATFISH = (
    " The table's class 32 is the flatfish. The large omnivores and herbivores of CIFAR-100 are camel (15), "
    "cattle (19), chimpanzee (21), elephant (31) and kangaroo (38): give "
    "`positive_classes: [15, 19, 21, 31, 38]` for these."
)
_NOT_600 = (
    "The table implies a largest class of about 697 training images after the split in 0.7/0.15/0.15. CIFAR-100 "
    "has 600 images per class, of which 420 are for training: the counts cannot come from CIFAR-100. The data here are "
    "built from the 600 by the rule that reproduces the CIFAR-10 counts."
)


class CIFAR10LT(PublishedImages):
    """CIFAR-10, train and test images merged, long-tailed and binary: the paper's CIFAR-10-LT-1, -2 and -3.

    Args:
        root: Folder with torchvision's ``cifar-10-batches-py``, which is downloaded if it is not there.
        subset: The paper's subset: 1 birds, 2 automobiles, 3 cats.
        positive_classes: Ids or names of positive classes, instead of the subset's.
        imbalance_ratio: Ratio of trucks to airplanes, in (0, 1]; the classes between shrink
            exponentially. null keeps every image.
        kwargs: Options of every image data module.
    """

    published_ratio = 0.01
    subsets = (
        Published("CIFAR-10-LT-1", (2,), "birds", 1508, 8907, _ROUNDING),
        Published("CIFAR-10-LT-2", (1,), "automobiles", 2517, 7898, _ROUNDING),
        Published("CIFAR-10-LT-3", (3,), "cats", 904, 9511, _ROUNDING + _CATS),
    )

    def __init__(
        self,
        root: str = "data",
        subset: Literal[1, 2, 3] = 1,
        positive_classes: Sequence[int | str] | None = None,
        imbalance_ratio: float | None = 0.01,
        **kwargs: Any,
    ) -> None:
        super().__init__(root, subset, positive_classes, imbalance_ratio, **kwargs)

    @classmethod
    def torchvision_class(cls) -> type[CIFAR10]:
        """The reader of the original files, which knows their addresses and checksums."""
        from torchvision.datasets import CIFAR10

        original: type[CIFAR10] = CIFAR10
        return original

    def load_source(self) -> Source:
        """All images as uint8 of shape ``(60000, 3, 32, 32)``, those of the training files first."""
        original = self.torchvision_class()
        archive = Archive(original.url, original.filename, original.tgz_md5)
        try:
            folder = fetch_and_unpack(archive, Path(self.root), original.base_folder)
        except InputError as error:
            raise InputError(f"{error} {self._other_source()}") from error
        key = type(self), str(folder), *(file_state(path) for path in sorted(folder.iterdir()))
        source, _ = read_once(key, lambda: self._read(archive, folder), lambda read: 60_000 * 3 * 32 * 32)
        return source

    def _read(self, archive: Archive, folder: Path) -> Source:
        original = self.torchvision_class()
        try:  # checks the files' checksums
            train, test = (original(self.root, train=is_train) for is_train in (True, False))
        except (RuntimeError, OSError) as error:
            raise InputError(
                f"{folder} is not the original, or is incomplete or damaged: delete it, and the next run restores it "
                f"from {archive.name} in {self.root} or from {archive.url}. {self._other_source()}"
            ) from error
        images = np.concatenate([train.data, test.data]).transpose(0, 3, 1, 2)
        labels = np.array(train.targets + test.targets, dtype=np.int64)
        return Source(torch.from_numpy(np.ascontiguousarray(images)), labels, tuple(train.classes))

    def _other_source(self) -> str:
        """The options that read the same images from files; sorted by name, the classes have their original ids."""
        ratio = "null" if self.imbalance_ratio is None else self.imbalance_ratio
        return (
            "If you have the images as files, <folder>/<class>/<image>, no download is needed: "
            "--data=ImageFolderLT --data.root=<folder> "
            f"--data.positive_classes='{list(self.positive_classes)}' "
            f"--data.imbalance_ratio={ratio}."
        )


class CIFAR100LT(CIFAR10LT):
    """CIFAR-100, train and test images merged, long-tailed and binary: the paper's CIFAR-100-LT-1, -2 and -3.

    The paper's class counts cannot be obtained from CIFAR-100; ``pauc data`` explains why.

    Args:
        root: Folder with torchvision's ``cifar-100-python``, which is downloaded if it is not there.
        subset: The paper's subset: 1 insects, 2 fruits and vegetables, 3 large omnivores and
            herbivores, with the flatfish (32) in place of the elephant (31), as in the paper's table.
        positive_classes: Ids or names of positive classes, instead of the subset's.
        imbalance_ratio: Ratio of the last class's size to the first's, in (0, 1]; the classes between shrink
            exponentially in the order of their ids. null keeps every image.
        kwargs: Options of every image data module.
    """

    subsets = (
        Published("CIFAR-100-LT-1", (6, 7, 14, 18, 24), "insects", 1928, 13218, _NOT_600),
        Published("CIFAR-100-LT-2", (0, 51, 53, 57, 83), "fruits and vegetables", 885, 14261, _NOT_600),
        Published(
            "CIFAR-100-LT-3",
            (15, 19, 21, 32, 38),
            "large omnivores and herbivores, one of them a flatfish",
            1172,
            13974,
            _NOT_600 + _FLATFISH,
        ),
    )

    @classmethod
    def torchvision_class(cls) -> type[CIFAR10]:
        """The reader of the original files, which knows their addresses and checksums."""
        from torchvision.datasets import CIFAR100

        original: type[CIFAR10] = CIFAR100
        return original
