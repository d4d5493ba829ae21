"""Fashion-MNIST from tiny files in the original format, wherever they lie."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from archives import FileServer, serve
from PIL import Image
from torchvision.datasets import FashionMNIST

from pauc_lightning.data import FashionMNISTLT
from pauc_lightning.data import fashion_mnist as module
from pauc_lightning.errors import InputError

RNG = np.random.default_rng(0)
ARRAYS = {
    "train-images-idx3-ubyte": RNG.integers(0, 256, (200, 28, 28), dtype=np.uint8),
    "train-labels-idx1-ubyte": (np.arange(200) % 10).astype(np.uint8),
    "t10k-images-idx3-ubyte": RNG.integers(0, 256, (100, 28, 28), dtype=np.uint8),
    "t10k-labels-idx1-ubyte": (np.arange(100) % 10).astype(np.uint8),
}


def idx(array: np.ndarray) -> bytes:
    """LeCun's format, with the dimensions as big-endian 32-bit numbers."""
    header = bytes([0, 0, 8, array.ndim]) + np.array(array.shape, dtype=">i4").tobytes()
    return header + array.tobytes()


@pytest.fixture(autouse=True)
def no_debian_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What this machine happens to have installed must not decide."""
    monkeypatch.setattr(module, "_DEBIAN_FOLDER", tmp_path / "debian")


def write(folder: Path, compressed: bool) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, array in ARRAYS.items():
        content = idx(array)
        (folder / f"{name}{'.gz' if compressed else ''}").write_bytes(
            gzip.compress(content) if compressed else content
        )


def check(data: FashionMNISTLT) -> None:
    images = data.inputs
    assert torch.equal(data.source.inputs[:], images)
    assert images.dtype == torch.uint8
    expected = np.concatenate([ARRAYS["train-images-idx3-ubyte"], ARRAYS["t10k-images-idx3-ubyte"]])
    assert np.array_equal(images.numpy(), expected[:, None])
    assert data.source.labels.tolist() == [*(np.arange(200) % 10), *(np.arange(100) % 10)]
    assert data.positive_ids == (2,)
    assert data.input_shape == (1, 28, 28)


@pytest.mark.parametrize(
    ("place", "compressed"),
    [("", True), ("", False), ("FashionMNIST/raw", True), ("FashionMNIST/raw", False), ("../debian", True)],
)
def test_the_files_are_found(tmp_path: Path, place: str, compressed: bool) -> None:
    root = tmp_path / "root"
    root.mkdir()
    write(root / place, compressed)
    check(FashionMNISTLT(str(root), imbalance_ratio=None))


@pytest.fixture
def server() -> Iterator[FileServer]:
    with serve({f"{name}.gz": gzip.compress(idx(array)) for name, array in ARRAYS.items()}) as running:
        yield running


def test_the_files_are_downloaded(
    server: FileServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_MIRROR", server.url(""))
    resources = [(name, hashlib.md5(server.files[name]).hexdigest()) for name, _ in FashionMNIST.resources]
    monkeypatch.setattr(FashionMNIST, "resources", resources)
    for _ in range(2):
        check(FashionMNISTLT(str(tmp_path), imbalance_ratio=None))
    assert server.starts == [0] * 4
    assert (tmp_path / "FashionMNIST/raw/train-images-idx3-ubyte.gz").exists()  # where torchvision looks


def test_pixels_are_normalised_to_about_unit_variance(tmp_path: Path) -> None:
    write(tmp_path, True)
    data = FashionMNISTLT(str(tmp_path))
    black = data.eval_transform(torch.zeros(1, 1, 28, 28, dtype=torch.uint8))
    torch.testing.assert_close(black, torch.full_like(black, -0.2860 / 0.3530))


@pytest.mark.parametrize(
    "content",
    [
        gzip.compress(idx(ARRAYS["train-images-idx3-ubyte"]))[:-500],
        gzip.compress(idx(ARRAYS["train-images-idx3-ubyte"])[:-1]),
        gzip.compress(idx(ARRAYS["train-images-idx3-ubyte"])[:9]),
        gzip.compress(b"\x00\x00\x0d\x01" + bytes(8)),
        gzip.compress(b""),
        b"<html>not found</html>",
    ],
    # The bytes hold a time stamp, which must not get into the tests' names: parallel workers compare them.
    ids=["cut off", "a pixel short", "no pixels", "another type", "empty", "a web page"],
)
def test_a_damaged_file_is_named(tmp_path: Path, content: bytes) -> None:
    write(tmp_path, True)
    (tmp_path / "train-images-idx3-ubyte.gz").write_bytes(content)
    with pytest.raises(InputError, match=r"train-images-idx3-ubyte\.gz"):
        FashionMNISTLT(str(tmp_path)).inputs  # noqa: B018  # reads the files


def test_as_many_labels_as_images(tmp_path: Path) -> None:
    write(tmp_path, True)
    labels = tmp_path / "t10k-labels-idx1-ubyte.gz"
    labels.write_bytes(gzip.compress(idx(ARRAYS["t10k-labels-idx1-ubyte"][:99])))
    with pytest.raises(InputError, match="300 images, but 299 labels"):
        FashionMNISTLT(str(tmp_path)).source  # noqa: B018


@pytest.mark.parametrize(
    ("name", "array"),
    [
        ("t10k-images-idx3-ubyte", np.zeros((100, 20, 20), dtype=np.uint8)),
        ("train-labels-idx1-ubyte", np.zeros((200, 1), dtype=np.uint8)),
    ],
)
def test_files_of_another_shape_are_named(tmp_path: Path, name: str, array: np.ndarray) -> None:
    write(tmp_path, False)
    (tmp_path / name).write_bytes(idx(array))
    with pytest.raises(InputError, match=rf"{name} has an array of shape .* it is not from Fashion-MNIST"):
        FashionMNISTLT(str(tmp_path)).source  # noqa: B018


def test_new_images_become_grey_as_the_training_images_are(tmp_path: Path) -> None:
    write(tmp_path, False)
    data = FashionMNISTLT(str(tmp_path), imbalance_ratio=None)
    pixels = ARRAYS["train-images-idx3-ubyte"]
    new = tmp_path / "new"
    new.mkdir()
    Image.fromarray(pixels[3]).save(new / "a.png")
    Image.fromarray(pixels[4]).convert("RGB").save(new / "b.png")
    Image.fromarray(pixels[5].astype(np.uint16) * 257).save(new / "c.png")
    loaded = data.load_new(new)
    images = loaded.inputs[:]
    assert images.shape == (3, 1, 28, 28)
    assert torch.equal(images, data.inputs[3:6])
    assert loaded.columns["file"] == ["a.png", "b.png", "c.png"]
    assert loaded.targets.tolist() == [-1, -1, -1]
