"""iNaturalist 2021: fungi against insects."""

from __future__ import annotations

import os
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from pauc_lightning.arguments import check_path
from pauc_lightning.data.download import Archive, fetch_and_unpack
from pauc_lightning.data.image_files import ImageFiles
from pauc_lightning.data.images import ImageDataModule, check_image_size
from pauc_lightning.data.published import Published
from pauc_lightning.data.source import Source
from pauc_lightning.errors import InputError

_LARGEST = {"2021_train_mini": 100 * 10**9, "2021_valid": 20 * 10**9}  # bytes; they are 42 and 8 GB
_FOLDERS = {"2021_train_mini": "train_mini", "2021_valid": "val"}  # torchvision's name: name in the archive
_TAXA = ("Fungi", "Insecta")
_PUBLISHED = Published(
    "iNaturalist2021",
    (),
    "fungi",
    20460,
    151560,
    "341 species of fungi and 2526 of insects with 60 images each: 50 of the mini training set and 10 of the "
    "validation set. The table counts them before they are divided into parts.",
    counted="all",
)


class INaturalist2021(ImageDataModule):
    """iNaturalist 2021, the mini training set and the validation set together, binary: fungi against insects.

    Each species has 60 images, which are divided 0.7/0.15/0.15. The images are read from disk for every batch:
    give `num_workers`. The archives are 42 GB and 8 GB, and as much again unpacked.

    Args:
        root: Folder with torchvision's ``2021_train_mini`` and ``2021_valid``, which are downloaded if they are not
            there.
        positive_taxon: The positives: a kingdom, phylum, class, order, family or genus by its scientific name.
        negative_taxon: The negatives, likewise; null means everything else.
        imbalance_ratio: Ratio of the last species' size to the first's, in (0, 1]; the species between shrink
            exponentially in the order of their ids. null keeps every image.
        image_size: Height and width to which every image is scaled and cut.
        kwargs: Options of every image data module.
    """

    def __init__(
        self,
        root: str = "data",
        positive_taxon: str = "Fungi",
        negative_taxon: str | None = "Insecta",
        imbalance_ratio: float | None = None,
        image_size: int = 224,
        **kwargs: Any,
    ) -> None:
        super().__init__((), imbalance_ratio, **kwargs)
        check_path("root", root)
        check_image_size(image_size)
        self.check_padding(image_size)
        for argument, taxon in (("positive_taxon", positive_taxon), ("negative_taxon", negative_taxon)):
            if not isinstance(taxon, str) and not (argument == "negative_taxon" and taxon is None):
                raise InputError(
                    f"`{argument}` must be a scientific name, such as Fungi or Insecta, got {taxon!r}."
                )
        if positive_taxon == negative_taxon:
            raise InputError(
                f"`negative_taxon={negative_taxon}` is also the `positive_taxon`: choose another."
            )
        self.root = root
        self.positive_taxon = positive_taxon
        self.negative_taxon = negative_taxon
        self.image_size = image_size

    @cached_property
    def species(self) -> list[str]:
        """The folder names of the species in use: number, six taxa and the second part of the name."""
        from torchvision.datasets.inaturalist import DATASET_MD5, DATASET_URLS

        root = Path(self.root)
        for name, inside in _FOLDERS.items():
            archive = Archive(DATASET_URLS[name], f"{name}.tgz", DATASET_MD5[name], _LARGEST[name])
            fetch_and_unpack(archive, root, inside, name)
        folders = sorted(folder.name for folder in (root / "2021_train_mini").iterdir() if folder.is_dir())
        wanted = [
            folder
            for folder in folders
            if self.negative_taxon is None or {self.positive_taxon, self.negative_taxon} & set(_taxa(folder))
        ]
        for argument in ("positive_taxon", "negative_taxon"):
            taxon = getattr(self, argument)
            if taxon is not None and not any(taxon in _taxa(folder) for folder in wanted):
                raise InputError(
                    f"`{argument}={taxon}` is in none of the {len(folders)} species of {self.root}: use a scientific "
                    "name with a capital letter, such as Fungi, Insecta or Aves."
                )
        if all(self.positive_taxon in _taxa(folder) for folder in wanted):
            raise InputError(
                f"`negative_taxon={self.negative_taxon}` lies within `positive_taxon={self.positive_taxon}`, so there "
                "are no negatives: choose another."
            )
        return wanted

    @cached_property
    def positive_ids(self) -> tuple[int, ...]:
        """The species of the positive taxon, numbered among those in use."""
        return tuple(i for i, folder in enumerate(self.species) if self.positive_taxon in _taxa(folder))

    @property
    def published(self) -> Published | None:
        """The paper's numbers for these data; None if the paper does not use them."""
        is_papers = (self.positive_taxon, self.negative_taxon) == _TAXA and self.imbalance_ratio is None
        return _PUBLISHED if is_papers else None

    def load_source(self) -> Source:
        """The files of all images of both taxa, species by species."""
        names, labels = [], []
        for label, species in enumerate(self.species):
            for part in _FOLDERS:
                files = _files(Path(self.root, part, species))
                names += [f"{part}/{species}/{file}" for file in files]
                labels += [label] * len(files)
        images = ImageFiles(Path(self.root), names, self.image_size)
        class_names = [" ".join(species.split("_")[6:]) for species in self.species]
        return Source(images, np.array(labels, dtype=np.int64), class_names, names)


def _files(folder: Path) -> list[str]:
    """The images of a species in one of the archives."""
    try:
        names = sorted(os.listdir(folder))
    except OSError as error:
        raise InputError(
            f"{folder} cannot be read: {error.strerror or error}. Delete {folder.parent}; the next run makes it again."
        ) from error
    if not names:
        raise InputError(f"{folder} has no images. Delete {folder.parent}; the next run makes it again.")
    return names


def _taxa(folder: str) -> list[str]:
    """Kingdom, phylum, class, order, family and genus of a species, from the name of its folder."""
    return folder.split("_")[1:7]
