"""Tiny-ImageNet and the paper's subsets of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np

from pauc_lightning.arguments import check_path
from pauc_lightning.data.download import Archive, fetch_and_unpack
from pauc_lightning.data.image_cache import DecodedImages
from pauc_lightning.data.image_files import ImageFiles
from pauc_lightning.data.image_folder import list_images
from pauc_lightning.data.published import Published, PublishedImages
from pauc_lightning.data.source import Inputs, Source

_ARCHIVE = Archive(
    "https://cs231n.stanford.edu/tiny-imagenet-200.zip",
    "tiny-imagenet-200.zip",
    "90528d7ca1a48142e341f4ef8d21d0de",
)
_SIZE = 64
_VEHICLES = (70, 81, 94, 107, 111, 116, 121, 133, 145, 153, 164, 166)
_NOT_LONG_TAILED = (
    "The table has 350 = 0.7·500 training images of every class: its data are not long-tailed, although the text "
    "calls them so. `imbalance_ratio: 0.01` makes them long-tailed as the CIFAR sets are. The 50 labelled validation "
    "images of each class are not among the 500."
)


class TinyImageNetLT(PublishedImages):
    """Tiny-ImageNet (200 classes, 64x64 pixels), binary: the paper's Tiny-ImageNet-200-LT-1, -2 and -3.

    The 500 training images of each class are used, as in the paper's table. The classes are numbered in the
    order of their WordNet ids.

    Args:
        root: Folder with the unpacked ``tiny-imagenet-200``, which is downloaded if it is not there.
        subset: The paper's subset: 1 dogs, 2 birds, 3 vehicles.
        positive_classes: Ids or names of positive classes, instead of the subset's.
        imbalance_ratio: Ratio of the last class's size to the first's, in (0, 1]; the classes between shrink
            exponentially in the order of their ids. null keeps every image, as in the paper's table.
        cache_dir: Folder that keeps the decoded images (at most 1.2 GB) for the next run; null keeps nothing.
        kwargs: Options of every image data module.
    """

    published_ratio = None
    subsets = (
        Published("Tiny-ImageNet-200-LT-1", (24, 25, 26, 27, 28, 29), "dogs", 2100, 67900, _NOT_LONG_TAILED),
        Published("Tiny-ImageNet-200-LT-2", (11, 20, 21, 22), "birds", 1400, 68600, _NOT_LONG_TAILED),
        Published("Tiny-ImageNet-200-LT-3", _VEHICLES, "vehicles", 4200, 65800, _NOT_LONG_TAILED),
    )

    def __init__(
        self,
        root: str = "data",
        subset: Literal[1, 2, 3] = 1,
        positive_classes: Sequence[int | str] | None = None,
        imbalance_ratio: float | None = None,
        cache_dir: str | None = "data/cache",
        **kwargs: Any,
    ) -> None:
        super().__init__(root, subset, positive_classes, imbalance_ratio, **kwargs)
        if cache_dir is not None:
            check_path("cache_dir", cache_dir)
        self.cache_dir = cache_dir

    def load_source(self) -> Source:
        """The files of the 100,000 training images and their classes; no image is decoded."""
        folder = fetch_and_unpack(_ARCHIVE, Path(self.root), "tiny-imagenet-200")
        names, labels, wordnet_ids = list_images(folder / "train")
        files = ImageFiles(folder / "train", names, _SIZE)
        return Source(files, np.array(labels, dtype=np.int64), _class_names(folder, wordnet_ids), names)

    @cached_property
    def inputs(self) -> Inputs:
        """The images of the parts, decoded, as uint8."""
        files = self.source.inputs
        assert isinstance(files, ImageFiles)
        return DecodedImages(files, self.used, self.cache_dir)


def _class_names(folder: Path, wordnet_ids: Sequence[str]) -> list[str]:
    """The names of the classes, from the list of words that comes with the images; without it, the ids."""
    path = folder / "words.txt"
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines() if path.exists() else []
    words = {key: text.split(",")[0] for key, _, text in (line.partition("\t") for line in lines)}
    names = [words.get(key, key) for key in wordnet_ids]
    uses = Counter(names)
    return [name if uses[name] == 1 else key for name, key in zip(names, wordnet_ids, strict=True)]
