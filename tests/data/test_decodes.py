"""Counting a data set decodes no image; using it decodes those that the long tail keeps, each once."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import PIL.Image
import pytest
import torch
from numpy.typing import NDArray

from pauc_lightning.cli.data_tables import describe
from pauc_lightning.data import (
    FashionMNISTLT,
    ImageFolderLT,
    INaturalist2021,
    LongTailDataModule,
    TinyImageNetLT,
    fashion_mnist,
)
from pauc_lightning.data.idx import read_array

SIZES = (40, 30, 20)
SPECIES = (
    "00000_Animalia_Arthropoda_Insecta_Coleoptera_Cleridae_Trichodes_ornatus",
    "00001_Animalia_Arthropoda_Insecta_Diptera_Syrphidae_Eristalis_tenax",
    "00002_Fungi_Basidiomycota_Agaricomycetes_Agaricales_Amanitaceae_Amanita_muscaria",
)


def write_images(folder: Path, n: int, value: int) -> None:
    folder.mkdir(parents=True)
    for i in range(n):
        PIL.Image.new("RGB", (8, 8), (value + i, value, value)).save(folder / f"{i:03}.png")


def image_folder(root: Path) -> ImageFolderLT:
    for label, n in enumerate(SIZES):
        write_images(root / f"class {label}", n, 60 * label)
    return ImageFolderLT(str(root), [2], imbalance_ratio=0.2, image_size=8, cache_dir=str(root / ".cache"))


def tiny_imagenet(root: Path) -> TinyImageNetLT:
    for label, n in enumerate(SIZES):
        write_images(root / "tiny-imagenet-200" / "train" / f"n{label}" / "images", n, 60 * label)
    return TinyImageNetLT(str(root), positive_classes=[2], imbalance_ratio=0.2, cache_dir=None)


def inaturalist(root: Path) -> INaturalist2021:
    for label, species in enumerate(SPECIES):
        write_images(root / "2021_train_mini" / species, SIZES[label] - 5, 60 * label)
        write_images(root / "2021_valid" / species, 5, 60 * label)
    return INaturalist2021(str(root), imbalance_ratio=0.2, image_size=8)


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each image file is opened."""
    counts: Counter[str] = Counter()
    original = PIL.Image.open

    def counting(path: Any, *args: Any, **kwargs: Any) -> Any:
        counts[str(path)] += 1
        return original(path, *args, **kwargs)

    monkeypatch.setattr(PIL.Image, "open", counting)
    return counts


@pytest.mark.parametrize("make", [image_folder, tiny_imagenet, inaturalist])
def test_only_kept_images_are_decoded(make: Any, tmp_path: Path, opened: Counter[str]) -> None:
    data: LongTailDataModule = make(tmp_path)
    text = describe(data)
    assert not opened
    # 40, ⌊40·0.2^½⌋ = 17 and ⌊40·0.2⌋ = 8 of the 90 images
    assert "65" in next(line for line in text.splitlines() if line.split()[:1] == ["all"]).split()
    loaders = (data.train_dataloader(), data.val_dataloader(), data.test_dataloader())
    for (_, part), loader in zip(data.split.items(), loaders, strict=True):
        for batch in loader:
            assert batch.index is not None
            expected = 60 * data.source.labels[part[batch.index.numpy()]]
            assert batch.input[:, 1, 0, 0].tolist() == expected.tolist()
    assert len(data.used) == len(opened) == 65
    assert set(opened.values()) == {1}
    if make is not inaturalist:  # which reads each image when it is used
        with pytest.raises(IndexError):  # nothing is there instead of an image that was not decoded
            data.inputs[torch.arange(90)]
    one = data.dataset("val")[3]
    assert torch.equal(one.input, data.dataset("val").batch(torch.tensor([3])).input[0])
    names = [data.source.sample_names[i] for i in data.used]
    assert all(any(path.endswith(f"/{name}") for path in opened) for name in names)


def test_fashion_mnist_is_counted_without_its_pixels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    for part, n in (("train", 200), ("t10k", 100)):
        for name, array in (
            ("images-idx3", rng.integers(0, 256, (n, 28, 28), dtype=np.uint8)),
            ("labels-idx1", (np.arange(n) % 10).astype(np.uint8)),
        ):
            header = bytes([0, 0, 8, array.ndim]) + np.array(array.shape, dtype=">i4").tobytes()
            (tmp_path / f"{part}-{name}-ubyte").write_bytes(header + array.tobytes())
    read: list[str] = []

    def counting(path: Path) -> NDArray[np.uint8]:
        read.append(path.name)
        return read_array(path)

    monkeypatch.setattr(fashion_mnist, "read_array", counting)
    data = FashionMNISTLT(str(tmp_path), imbalance_ratio=None)
    assert "300" in describe(data)
    assert sorted(read) == ["t10k-labels-idx1-ubyte", "train-labels-idx1-ubyte"]
    assert len(next(iter(data.train_dataloader())).input) > 0
    assert sorted(read)[-2:] == ["train-images-idx3-ubyte", "train-labels-idx1-ubyte"]
    assert len(read) == 4
