"""Any folder of images with one subfolder per class."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from pauc_lightning.arguments import check_flag, check_path
from pauc_lightning.data.image_cache import DecodedImages
from pauc_lightning.data.image_files import EXTENSIONS, ImageFiles, shown
from pauc_lightning.data.images import ImageDataModule, check_image_size
from pauc_lightning.data.source import Inputs, Source
from pauc_lightning.errors import InputError
from pauc_lightning.files import home_hint

_PART_NAMES = ("train", "val", "valid", "validation", "test")
_LARGEST_IN_MEMORY = 64


class ImageFolderLT(ImageDataModule):
    """A folder with one subfolder of images per class, long-tailed and binary.

    The classes are numbered in the order of their names (in numerical order if all names are numbers). If the
    subfolders are called train, val, test or similar, each must contain the classes; they are merged and split again.

    Args:
        root: The folder.
        positive_classes: Names or ids of the classes that are positive; all others are negative.
        imbalance_ratio: Ratio of the last class's size to the first's, in (0, 1]; the classes between shrink
            exponentially in the order of their ids. null keeps every image.
        image_size: Height and width to which every image is scaled and cut.
        in_memory: Whether the images that the parts use are decoded at the start and stay in memory. Otherwise they
            are read from disk for each batch: give `num_workers` then. null means true up to 64 pixels.
        cache_dir: Folder that keeps the decoded images for the next run; null keeps nothing.
        kwargs: Options of every image data module.
    """

    input_folders: ClassVar = ("root",)

    def __init__(
        self,
        root: str,
        positive_classes: Sequence[int | str],
        imbalance_ratio: float | None = None,
        image_size: int = 32,
        in_memory: bool | None = None,
        cache_dir: str | None = "data/cache",
        **kwargs: Any,
    ) -> None:
        super().__init__(positive_classes, imbalance_ratio, **kwargs)
        check_path("root", root)
        check_image_size(image_size)
        self.check_padding(image_size)
        if in_memory is not None:
            check_flag("in_memory", in_memory)
        if cache_dir is not None:
            check_path("cache_dir", cache_dir)
        self.root = root
        self.image_size = image_size
        self.in_memory = image_size <= _LARGEST_IN_MEMORY if in_memory is None else in_memory
        self.cache_dir = cache_dir

    def load_source(self) -> Source:
        """The files of all images and their classes; no image is decoded."""
        names, labels, classes = list_images(Path(self.root))
        files = ImageFiles(Path(self.root), names, self.image_size)
        return Source(files, np.array(labels, dtype=np.int64), classes, names)

    @cached_property
    def inputs(self) -> Inputs:
        """The images of the parts as uint8 in memory, or the files to read them from."""
        files = self.source.inputs
        assert isinstance(files, ImageFiles)
        return DecodedImages(files, self.used, self.cache_dir) if self.in_memory else files


def list_images(root: Path, argument: str = "root") -> tuple[list[str], list[int], list[str]]:
    """The images of a folder: their paths below it, their class ids, and the class names.

    Args:
        root: The folder.
        argument: The argument that names it, for messages.
    """
    try:
        return _list_images(root, argument)
    except OSError as error:
        place = shown(error.filename or root)
        raise InputError(
            f"`{argument}={shown(root)}` cannot be read: {place}: {error.strerror or error}. Make it readable, or "
            "move it out of the folder."
        ) from error


def _list_images(root: Path, argument: str) -> tuple[list[str], list[int], list[str]]:
    if not root.is_dir():
        kind = "is a file" if root.exists() else "does not exist"
        raise InputError(
            f"`{argument}={shown(root)}` {kind}: give the folder that has a subfolder per class."
            f"{'' if root.exists() else home_hint(str(root))}"
        )
    folders = _subfolders(root)
    if folders and all(folder.name.lower() in _PART_NAMES for folder in folders):
        folders = [folder for part in folders for folder in _subfolders(part)]
    _refuse_loops(root, folders, argument)
    names = {folder.name for folder in folders}
    classes = sorted(names, key=int) if all(name.isdecimal() for name in names) else sorted(names)
    if len(classes) < 2:
        raise InputError(
            f"`{argument}={shown(root)}` has {len(classes)} subfolders with images, but at least two classes are "
            "needed: expected <folder>/<class>/<image> or <folder>/train/<class>/<image>."
        )
    ids = {name: label for label, name in enumerate(classes)}
    images = sorted(
        (ids[folder.name], f"{place}/{name}")
        for folder in folders
        for directory, _, files in os.walk(folder, onerror=_raise)
        for place in [Path(directory).relative_to(root).as_posix()]
        for name in files
        if name.lower().endswith(EXTENSIONS) and not name.startswith(".")
    )
    empty = sorted(set(classes) - {classes[label] for label, _ in images})
    if empty:
        raise InputError(
            f"`{argument}={shown(root)}` has classes without images: {', '.join(map(shown, empty[:5]))}. Remove the "
            f"folders, or convert their images to one of {', '.join(EXTENSIONS)}."
        )
    return [name for _, name in images], [label for label, _ in images], classes


def _subfolders(folder: Path) -> list[Path]:
    return sorted(child for child in folder.iterdir() if child.is_dir() and not child.name.startswith("."))


def _refuse_loops(root: Path, folders: Sequence[Path], argument: str) -> None:
    """Refuse a class folder that links to a folder that contains it: it would hold every image."""
    inside = root.resolve()
    for folder in folders:
        if folder.is_symlink() and inside.is_relative_to(folder.resolve()):
            raise InputError(
                f"`{argument}={shown(root)}`: {shown(folder)} is a link to {shown(folder.resolve())}, which contains "
                "it. Remove the link."
            )


def _raise(error: OSError) -> None:
    """Error handler for os.walk, which silently skips unreadable folders by default."""
    raise error
