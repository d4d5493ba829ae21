"""The recipe of a table of features: everything besides the images that decides its numbers."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pauc_lightning.arguments import check_choice, check_integer, check_number
from pauc_lightning.errors import InputError

INTERPOLATIONS = ("bilinear", "bicubic")
LARGEST_IMAGE = 8192  # pixels


@dataclass(frozen=True)
class Recipe:
    """How images become features.

    Args:
        network: timm's name of the architecture.
        weights: A local file of weights; None for those that timm downloads.
        weights_hash: A checksum of that file; empty without one.
        image_size: Height and width in pixels to which images are scaled and cut.
        interpolation: How images are scaled, "bilinear" or "bicubic".
        mean: Number to subtract from each colour channel, whose values are from 0 to 1.
        std: Divisor of the differences.
    """

    network: str
    weights: str | None
    weights_hash: str
    image_size: int
    interpolation: str
    mean: tuple[float, ...]
    std: tuple[float, ...]

    def __post_init__(self) -> None:
        hint = "it is the height and width in pixels"
        check_integer("image_size", self.image_size, at_least=1, at_most=LARGEST_IMAGE, hint=hint)
        check_choice("interpolation", self.interpolation, INTERPOLATIONS)
        for value in self.mean:
            check_number("mean", value, hint="colours are from 0 to 1")
        for value in self.std:
            check_number("std", value, above=0, hint="colours are from 0 to 1")

    def to_json(self) -> str:
        """The recipe as one line of JSON."""
        return json.dumps(dataclasses.asdict(self))

    @classmethod
    def from_json(cls, text: str, file: str) -> Recipe:
        """The recipe that :meth:`to_json` wrote.

        Args:
            text: The JSON.
            file: The file that it was in, for messages.
        """
        try:
            content: dict[str, Any] = json.loads(text)
            content |= {name: tuple(content[name]) for name in ("mean", "std")}
            return cls(**content)
        except (ValueError, TypeError, KeyError) as error:
            raise InputError(
                f"{file} has no readable recipe ({error}): give a table that this version of `pauc features` wrote."
            ) from error


def checksum(path: Path) -> str:
    """The SHA-256 of a file."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()
