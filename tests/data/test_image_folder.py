"""A folder of images written by the test: what is read, how it is cut, what is cached, what is refused."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from lightning.pytorch import Trainer
from PIL import Image

from pauc_lightning.data import ImageFolderLT
from pauc_lightning.data.augment import IMAGENET_MEAN, IMAGENET_STD
from pauc_lightning.data.image_files import ImageFiles
from pauc_lightning.data.image_folder import list_images
from pauc_lightning.errors import InputError


def write_image(path: Path, value: int, size: tuple[int, int] = (8, 8)) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", size, (value, value // 2, 0)).save(path)


def write_folder(root: Path, counts: dict[str, int]) -> Path:
    """PNG images whose red value is their number within the class."""
    for folder, n in counts.items():
        for i in range(n):
            write_image(root / folder / f"{i:03}.png", i)
    return root


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_folder(tmp_path / "images", {"cat": 20, "ant": 30, "dog": 40})


def module(root: Path, **kwargs: Any) -> ImageFolderLT:
    return ImageFolderLT(
        root=str(root), **{"positive_classes": ["cat"], "image_size": 8, "cache_dir": None, **kwargs}
    )


def test_classes_are_numbered_by_name_and_found_by_name_or_id(root: Path) -> None:
    data = module(root)
    assert data.source.class_names == ["ant", "cat", "dog"]
    assert [(c.label, c.is_positive, c.train, c.val, c.test) for c in data.class_counts] == [
        (0, False, 21, 4, 5),
        (1, True, 14, 3, 3),
        (2, False, 28, 6, 6),
    ]
    assert np.array_equal(module(root, positive_classes=[1]).targets, data.targets)
    assert module(root, positive_classes=["cat", 0]).positive_ids == (1, 0)


def test_pixels_are_those_of_the_files(root: Path) -> None:
    images = module(root).source.inputs
    assert isinstance(images, torch.Tensor)
    assert images.dtype == torch.uint8
    assert images.shape == (90, 3, 8, 8)
    red = torch.cat([torch.arange(30), torch.arange(20), torch.arange(40)])
    assert torch.equal(images[:, 0], red.to(torch.uint8).view(-1, 1, 1).expand(-1, 8, 8))
    assert torch.equal(images[:, 1], (red // 2).to(torch.uint8).view(-1, 1, 1).expand(-1, 8, 8))


def test_parts_are_merged_and_numbers_sorted_as_numbers(tmp_path: Path) -> None:
    write_folder(tmp_path, {"train/10": 2, "train/2": 1, "test/2": 1})
    names, labels, classes = list_images(tmp_path)
    assert classes == ["2", "10"]
    assert list(zip(names, labels, strict=True)) == [
        ("test/2/000.png", 0),
        ("train/2/000.png", 0),
        ("train/10/000.png", 1),
        ("train/10/001.png", 1),
    ]


def test_files_that_are_no_images_are_passed_over(root: Path) -> None:
    (root / "cat" / "notes.txt").write_text("no image")
    (root / "cat" / "._000.png").write_text("what some systems leave behind")
    write_image(root / "dog" / "more" / "040.PNG", 40)
    names, _, _ = list_images(root)
    assert len(names) == 91
    assert names[-1] == "dog/more/040.PNG"


def test_images_of_other_shapes_are_scaled_and_cut_at_the_middle(tmp_path: Path) -> None:
    picture = np.zeros((10, 30, 3), dtype=np.uint8)
    picture[:, 10:20] = 200
    Image.fromarray(picture).save(tmp_path / "wide.png")
    Image.fromarray(picture[:, :, 0].T).convert("L").save(tmp_path / "tall_grey.png")
    files = ImageFiles(tmp_path, ["wide.png", "tall_grey.png"], size=4)
    both = files[torch.tensor([0, 1])]
    assert both.shape == (2, 3, 4, 4)
    assert (both > 150).all()
    assert torch.equal(files[torch.tensor(1)], both[1])


def test_files_read_in_workers_give_the_same_batches(root: Path) -> None:
    in_memory, on_disk = module(root), module(root, in_memory=False, num_workers=2)
    assert on_disk.input_shape == (3, 8, 8)
    for ours, theirs in zip(in_memory.train_dataloader(), on_disk.train_dataloader(), strict=True):
        assert torch.equal(ours.input, theirs.input)
        assert torch.equal(ours.target, theirs.target)
        assert ours.index is not None
        assert theirs.index is not None
        assert torch.equal(ours.index, theirs.index)
    validation = next(iter(on_disk.val_dataloader()))
    assert torch.equal(validation.input, next(iter(in_memory.val_dataloader())).input)


def test_cache_is_reused_until_a_file_changes(root: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    first = module(root, cache_dir=str(cache)).source.inputs
    (made,) = cache.glob("*.npy")
    before = made.stat().st_mtime_ns
    again = module(root, cache_dir=str(cache)).source.inputs
    assert isinstance(first, torch.Tensor)
    assert isinstance(again, torch.Tensor)
    assert torch.equal(first, again)
    assert made.stat().st_mtime_ns == before
    write_image(root / "ant" / "000.png", 77)
    os.utime(root / "ant" / "000.png", ns=(1, 1))
    changed = module(root, cache_dir=str(cache)).source.inputs
    assert int(changed[:1][0, 0, 0, 0]) == 77
    assert len(list(cache.glob("*.npy"))) == 2
    module(root, cache_dir=str(cache), image_size=4).source  # noqa: B018  # reads the files
    assert len(list(cache.glob("*.npy"))) == 3


def test_a_broken_image_is_named_and_leaves_no_cache(root: Path, tmp_path: Path) -> None:
    broken = root / "dog" / "017.png"
    broken.write_bytes(broken.read_bytes()[:40])
    with pytest.raises(InputError, match=r"dog.017\.png.*Replace or remove"):
        module(root, cache_dir=str(tmp_path / "cache")).source  # noqa: B018
    assert not list((tmp_path / "cache").glob("*.npy"))
    write_image(broken, 17)
    assert len(module(root, cache_dir=str(tmp_path / "cache")).source.inputs) == 90


def test_mistakes_are_explained(root: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"unknown names \['cats'\]: did you mean \['cat'\]"):
        module(root, positive_classes=["cats"]).targets  # noqa: B018
    with pytest.raises(InputError, match="is not a folder"):
        list_images(tmp_path / "nowhere")
    with pytest.raises(InputError, match="0 subfolders"):
        list_images(root / "cat")
    (root / "empty").mkdir()
    with pytest.raises(InputError, match="classes without images: empty"):
        list_images(root)
    with pytest.raises(InputError, match="max_rotation"):
        module(root, max_rotation=200)
    with pytest.raises(InputError, match="crop_padding"):
        module(root, crop_padding=-1)
    with pytest.raises(InputError, match="image_size"):
        module(root, image_size=0)
    with pytest.raises(InputError, match="predict_part"):
        module(root, predict_part="all")


def test_transforms(root: Path) -> None:
    data = module(root)
    images = torch.randint(1, 256, (64, 3, 8, 8), dtype=torch.uint8)
    mean, std = (torch.tensor(values).view(3, 1, 1) for values in (IMAGENET_MEAN, IMAGENET_STD))
    expected = (images.float() / 255 - mean) / std
    torch.testing.assert_close(data.eval_transform(images), expected)
    plain = module(root, flip=False, max_rotation=0.0, crop_padding=0)
    torch.testing.assert_close(plain.train_transform(images), expected)
    # An eighth of 8 pixels: shifts by one pixel show black borders on both sides, and never more.
    shifted = module(root, flip=False, max_rotation=0.0).train_transform(images) * std + mean
    black = (shifted < 1e-3).all(1)
    assert black[:, :, 0].all(1).any()
    assert black[:, :, -1].all(1).any()
    assert not black[:, 1:-1, 1:-1].any()


def test_predict_part_decides_what_predict_scores(root: Path) -> None:
    data = module(root, predict_part="val")
    assert len(data.predict_dataloader().dataset) == 13  # type: ignore[arg-type]
    data = module(root, predict_part="train")
    batch = next(iter(data.predict_dataloader()))
    assert len(batch.index) == 63
    data.trainer = Trainer(logger=False, accelerator="cpu", enable_checkpointing=False)
    transformed = data.on_after_batch_transfer(batch, 0)
    torch.testing.assert_close(transformed.input, data.eval_transform(batch.input))  # not augmented
