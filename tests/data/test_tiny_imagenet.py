"""Tiny-ImageNet from a tiny archive in the original format."""

from __future__ import annotations

import hashlib
import io
import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from archives import FileServer, serve
from PIL import Image

from pauc_lightning.data import TinyImageNetLT
from pauc_lightning.data import tiny_imagenet as module
from pauc_lightning.data.download import Archive
from pauc_lightning.data.longtail import binary_targets, split_long_tail
from pauc_lightning.errors import InputError

WORDS = {
    "n01443537": "goldfish, Carassius auratus",
    "n02085620": "Chihuahua",
    "n02012849": "crane",
    "n03126707": "crane",
    "n09999999": "a word that no class has",
}
CLASSES = sorted(WORDS)[:4]


def jpeg(value: int, mode: str = "RGB") -> bytes:
    buffer = io.BytesIO()
    Image.new(mode, (64, 64), (value,) * 3 if mode == "RGB" else value).save(buffer, "JPEG", quality=95)
    return buffer.getvalue()


def archive() -> bytes:
    """train/<wnid>/images/<wnid>_<i>.JPEG with boxes beside them, val with annotations, test without labels."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as zip_file:
        folder = "tiny-imagenet-200"
        zip_file.writestr(f"{folder}/wnids.txt", "\n".join(reversed(CLASSES)))
        zip_file.writestr(f"{folder}/words.txt", "\n".join(f"{key}\t{word}" for key, word in WORDS.items()))
        for label, wnid in enumerate(CLASSES):
            for i in range(20):
                name = f"{folder}/train/{wnid}/images/{wnid}_{i}.JPEG"
                # Some of the originals are grey images.
                zip_file.writestr(name, jpeg(50 * label + 20, "L" if i == 0 else "RGB"))
            zip_file.writestr(f"{folder}/train/{wnid}/{wnid}_boxes.txt", f"{wnid}_0.JPEG\t0\t0\t62\t62\n")
        zip_file.writestr(f"{folder}/val/images/val_0.JPEG", jpeg(0))
        zip_file.writestr(f"{folder}/val/val_annotations.txt", f"val_0.JPEG\t{CLASSES[0]}\t0\t0\t62\t62\n")
        zip_file.writestr(f"{folder}/test/images/test_0.JPEG", jpeg(0))
    return buffer.getvalue()


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FileServer]:
    content = archive()
    with serve({"tiny-imagenet-200.zip": content}) as running:
        name = "tiny-imagenet-200.zip"
        md5 = hashlib.md5(content).hexdigest()
        monkeypatch.setattr(module, "_ARCHIVE", Archive(running.url(name), name, md5))
        yield running


def load(root: Path) -> TinyImageNetLT:
    return TinyImageNetLT(str(root), positive_classes=["Chihuahua"], cache_dir=str(root / "cache"))


def test_training_images_in_the_order_of_the_wordnet_ids(server: FileServer, tmp_path: Path) -> None:
    data = load(tmp_path)
    images = data.inputs[torch.arange(80)]
    assert images.shape == (80, 3, 64, 64)
    assert data.source.labels.tolist() == np.repeat(np.arange(4), 20).tolist()
    brightness = images.float().mean((1, 2, 3)).round()
    assert brightness.tolist() == np.repeat([20, 70, 120, 170], 20).tolist()
    # Two classes are called crane, so they keep their ids.
    assert data.source.class_names == ["goldfish", "n02012849", "Chihuahua", "n03126707"]
    assert data.positive_ids == (2,)
    assert data.input_shape == (3, 64, 64)
    assert torch.equal(load(tmp_path).inputs[torch.arange(80)], images)
    assert server.starts == [0]
    (tmp_path / "tiny-imagenet-200" / "words.txt").unlink()  # some people's scripts remove it
    without = TinyImageNetLT(str(tmp_path), positive_classes=["n02085620"], cache_dir=str(tmp_path / "cache"))
    assert without.positive_ids == (2,)


def test_a_corrupted_archive_is_refused(server: FileServer, tmp_path: Path) -> None:
    whole = server.files["tiny-imagenet-200.zip"]
    server.files["tiny-imagenet-200.zip"] = whole[:2000] + bytes(64) + whole[2064:]
    with pytest.raises(InputError, match="MD5 sum"):
        load(tmp_path).source  # noqa: B018  # reads the files
    assert not (tmp_path / "tiny-imagenet-200").exists()


@pytest.mark.parametrize("subset", [1, 2, 3])
def test_the_counts_are_the_papers(subset: int) -> None:
    """350 of the 500 images of each of 200 classes."""
    row = TinyImageNetLT.subsets[subset - 1]
    labels = np.repeat(np.arange(200), 500)
    split = split_long_tail(labels, TinyImageNetLT.published_ratio, seed=0)
    train = binary_targets(labels, row.positives)[split.train]
    assert (int(train.sum()), int((1 - train).sum())) == (row.n_pos, row.n_neg)
