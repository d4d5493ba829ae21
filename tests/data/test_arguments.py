"""What the constructors of the image and toy data modules refuse, and by which name."""

from __future__ import annotations

import re
from typing import Any

import pytest

from pauc_lightning.data import (
    CIFAR10LT,
    CIFAR100LT,
    DigitsLT,
    FashionMNISTLT,
    GaussianLT,
    ImageFolderLT,
    INaturalist2021,
    LongTailDataModule,
    TinyImageNetLT,
)
from pauc_lightning.data.longtail import class_ids
from pauc_lightning.errors import InputError

NAN = float("nan")
REQUIRED: dict[type[LongTailDataModule], dict[str, Any]] = {
    ImageFolderLT: {"root": "images", "positive_classes": ["cat"]},
}
EVERY = (
    CIFAR10LT,
    CIFAR100LT,
    DigitsLT,
    FashionMNISTLT,
    GaussianLT,
    ImageFolderLT,
    INaturalist2021,
    TinyImageNetLT,
)
IMAGES = (CIFAR10LT, CIFAR100LT, FashionMNISTLT, ImageFolderLT, INaturalist2021, TinyImageNetLT)

OF_EVERY_MODULE: dict[str, tuple[Any, ...]] = {
    "batch_size": (0, -1, 1.5, "many", True, None, NAN),
    "eval_batch_size": (0, 2.0, "many"),
    "seed": (-1, 0.5, "lucky", False, NAN, None),
    "num_workers": (-1, 100_000, 1.5, True),
    "imbalance_ratio": (0, -0.5, 1.01, NAN, float("inf"), "half", True),
    "positive_fraction": (0, 1, -1, NAN, "half", True),
    "sampler": ("random", None, 3),
    "predict_part": ("all", None),
    "split_file": ("", 7),
}
OF_IMAGES: dict[str, tuple[Any, ...]] = {
    "flip": ("false", 1, None),
    "max_rotation": (-1, 181, NAN, float("inf"), "15", True),
    "crop_padding": (-1, 1.5, NAN, "4", True),
    "root": ("", None, 7, "a\0b"),
}
OF_ONE: dict[type[LongTailDataModule], dict[str, tuple[Any, ...]]] = {
    DigitsLT: {"positive_classes": ("38", 3, [3, 3], [True], [1.5], [None])},
    FashionMNISTLT: {"positive_classes": ("Pullover", ["Bag", "Bag"], [False])},
    CIFAR10LT: {"subset": (0, 4, True, "1", 1.5, None), "positive_classes": ("cat", [2, 2])},
    TinyImageNetLT: {"subset": (0, 4), "cache_dir": ("", 3)},
    ImageFolderLT: {
        "positive_classes": ("cat", None, ["cat", "cat"], [True]),
        "image_size": (0, -5, 32.0, "32", NAN, 10**6, True),
        "in_memory": ("false", 0),
        "cache_dir": ("", 3),
        "crop_padding": (32, 1000),
    },
    INaturalist2021: {
        "image_size": (0, 10**6, "224"),
        "positive_taxon": (None, 3),
        "negative_taxon": (3, "Fungi"),
        "crop_padding": (224,),
    },
    GaussianLT: {
        "means": (
            3,
            [],
            [[0.0]],
            [[], []],
            "means",
            [[0.0, NAN], [0, 0], [0, 0]],
            [["a", 0], [0, 0], [0, 0]],
        ),
        "stds": ([[1.0, 0], [1, 1], [1, 1]], [[1.0, -1], [1, 1], [1, 1]], [[1], [1], [1]], None),
        "sizes": (3, [3, 4], [0, 5, 5], [1.5, 5, 5], [10**12, 5, 5], ["a", 5, 5]),
    },
}
CASES = [
    *((kind, name, value) for kind in EVERY for name, values in OF_EVERY_MODULE.items() for value in values),
    *((kind, name, value) for kind in IMAGES for name, values in OF_IMAGES.items() for value in values),
    *(
        (kind, name, value)
        for kind, table in OF_ONE.items()
        for name, values in table.items()
        for value in values
    ),
]


@pytest.mark.parametrize("kind", EVERY)
def test_every_bad_argument_is_refused_by_its_name_before_anything_is_read(kind: Any) -> None:
    cases = [(name, value) for of, name, value in CASES if of is kind]
    assert len(cases) > 30
    for name, value in cases:
        with pytest.raises(InputError) as refused:
            kind(**{**REQUIRED.get(kind, {}), name: value})
        message = str(refused.value)
        assert re.search(rf"`{name}\b", message), (name, value, message)
        assert "\n" not in message
        assert message.endswith(".")


def test_a_class_given_by_name_and_by_id_is_noticed() -> None:
    with pytest.raises(InputError, match=r"has the classes \[1\] by name and by id: name each class once"):
        class_ids(["dog", 0, 1], ["cat", "dog"])


def test_normalisation_constants_of_a_subclass_are_checked() -> None:
    class Flat(FashionMNISTLT):
        std = (0.0,)

    class Nowhere(FashionMNISTLT):
        mean = (NAN,)

    with pytest.raises(InputError, match=r"`std\[0\]` must be a finite number above 0, got 0\.0"):
        Flat()
    with pytest.raises(InputError, match=r"`mean\[0\]` must be a finite number, got nan"):
        Nowhere()


def test_a_huge_seed_is_a_seed() -> None:
    data = DigitsLT(seed=2**100, batch_size=10**9)
    (batch,) = data.train_dataloader()
    assert len(batch.target) == data.train_size
