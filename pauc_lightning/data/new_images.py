"""New images, without classes, to be scored by a trained model."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from pauc_lightning.data.image_files import EXTENSIONS, ImageFiles
from pauc_lightning.data.source import NewData
from pauc_lightning.data.table_labels import UNKNOWN
from pauc_lightning.errors import InputError


def new_images(folder: Path, input_shape: tuple[int, ...]) -> NewData:
    """The images of a folder and its subfolders in the order of their paths, read when they are indexed.

    Args:
        folder: The folder.
        input_shape: Channels, height and width of the training images. For a model of grey images, colour images
            are converted to grey.
    """
    channels, size = check_square(input_shape, folder)
    names = image_names(folder)
    targets = np.full(len(names), UNKNOWN, dtype=np.int64)
    return NewData(ImageFiles(folder, names, size, channels), targets, {"file": names})


def image_names(folder: Path, argument: str = "input") -> list[str]:
    """The paths of all images below a folder, in order.

    Args:
        folder: The folder.
        argument: The argument that names it, for messages.
    """
    if not folder.is_dir():
        raise InputError(f"`{argument}={folder}` is not a folder: give a folder with images.")
    unreadable: list[OSError] = []
    names = sorted(
        (Path(place) / name).relative_to(folder).as_posix()
        for place, _, files in os.walk(folder, onerror=unreadable.append)
        for name in files
        if name.lower().endswith(EXTENSIONS) and not name.startswith(".")
    )
    if unreadable:
        raise InputError(f"`{argument}={folder}` cannot be read: {unreadable[0]}. Change the permissions.")
    if not names:
        raise InputError(
            f"`{argument}={folder}` has no images: their names must end in one of {', '.join(EXTENSIONS)}."
        )
    return names


def check_square(input_shape: tuple[int, ...], source: Path | str) -> tuple[int, int]:
    """The channels and the size of the training images, or :class:`InputError` if files cannot be read as such.

    Args:
        input_shape: Channels, height and width of the training images.
        source: Where the new images are from, for the message.
    """
    channels, height, width = input_shape
    if channels not in (1, 3) or height != width:
        raise InputError(
            f"`input={source}`: new images are read as grey or colour squares, but the model was trained on images "
            f"of shape {input_shape}: score them in Python, as tensors of this shape."
        )
    return channels, height
