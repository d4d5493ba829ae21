"""A folder of images written by the test: what is read, how it is cut, what is cached, what is refused."""

from __future__ import annotations

import io
import multiprocessing
import os
import re
import shutil
import struct
import tempfile
import warnings
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from lightning.pytorch import Trainer
from PIL import Image

from pauc_lightning.cli import main as pauc
from pauc_lightning.data import ImageFolderLT
from pauc_lightning.data.augment import IMAGENET_MEAN, IMAGENET_STD
from pauc_lightning.data.image_cache import decode_all
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
    images = module(root).inputs[torch.arange(90)]
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
    everything = torch.arange(90)
    first = module(root, cache_dir=str(cache)).inputs[everything]
    (made,) = cache.glob("*.npy")
    before = made.stat().st_mtime_ns
    again = module(root, cache_dir=str(cache), seed=1).inputs[everything]  # another split of the same images
    assert torch.equal(first, again)
    assert made.stat().st_mtime_ns == before
    write_image(root / "ant" / "000.png", 77)
    os.utime(root / "ant" / "000.png", ns=(1, 1))
    changed = module(root, cache_dir=str(cache)).inputs[everything]
    assert int(changed[0, 0, 0, 0]) == 77
    assert len(list(cache.glob("*.npy"))) == 2
    module(root, cache_dir=str(cache), image_size=4).inputs  # noqa: B018  # reads the files
    assert len(list(cache.glob("*.npy"))) == 3


def test_a_broken_image_is_named_and_leaves_no_cache(root: Path, tmp_path: Path) -> None:
    broken = root / "dog" / "017.png"
    broken.write_bytes(broken.read_bytes()[:40])
    with pytest.raises(InputError, match=r"dog.017\.png.*Replace or remove"):
        module(root, cache_dir=str(tmp_path / "cache")).inputs  # noqa: B018
    assert not list((tmp_path / "cache").glob("*.npy"))
    write_image(broken, 17)
    assert len(module(root, cache_dir=str(tmp_path / "cache")).inputs) == 90


def picture(mode: str, size: tuple[int, int] = (8, 8)) -> Image.Image:
    """A grey image of value 100, or what comes nearest in the mode."""
    return Image.new("RGB", size, (100, 100, 100)).convert(mode)


@pytest.mark.parametrize(
    ("name", "image"),
    [
        ("grey.png", picture("L")),
        ("grey_alpha.png", picture("LA")),
        ("alpha.png", picture("RGBA")),
        ("palette.png", picture("RGB").quantize(4)),
        ("cmyk.jpg", picture("CMYK")),
        ("cmyk.tiff", picture("CMYK")),
        ("16_bits.png", Image.fromarray(np.full((8, 8), 100 * 257, dtype=np.uint16))),
        ("16_bits.tiff", Image.fromarray(np.full((8, 8), 100 * 257, dtype=np.uint16))),
    ],
)
def test_every_kind_of_image_becomes_three_channels_of_bytes(
    tmp_path: Path, name: str, image: Image.Image
) -> None:
    image.save(tmp_path / name)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pixels = ImageFiles(tmp_path, [name], 8)[:]
    assert (pixels.int() - 100).abs().max() <= 1


def test_16_bits_in_pgm_and_a_transparent_palette(tmp_path: Path) -> None:
    (tmp_path / "a.pgm").write_bytes(b"P5 2 2 65535\n" + np.array([0, 25700, 65535, 257], ">u2").tobytes())
    assert ImageFiles(tmp_path, ["a.pgm"], 2)[:][0, 1].flatten().tolist() == [0, 100, 255, 1]
    transparent = picture("RGB").quantize(2)
    transparent.save(tmp_path / "b.png", transparency=b"\x00\x80")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert (ImageFiles(tmp_path, ["b.png"], 8)[:] == 100).all()


def broken_files() -> dict[str, bytes]:
    buffer = io.BytesIO()
    noise = np.random.default_rng(0).integers(0, 256, (64, 64, 3), dtype=np.uint8)
    Image.fromarray(noise).save(buffer, "PNG")
    png = buffer.getvalue()
    buffer = io.BytesIO()
    Image.fromarray(noise).save(buffer, "JPEG")
    jpeg = buffer.getvalue()
    buffer = io.BytesIO()
    Image.fromarray(np.ones((4, 4), dtype=np.float32)).save(buffer, "TIFF")
    fractions = buffer.getvalue()
    bomb = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 50_000, 50_000, 8, 2, 0, 0, 0))
    return {
        "empty": b"",
        "text": b"this is no image",
        "header only": png[:20],
        "png cut off": png[: len(png) // 2],
        "jpeg cut off": jpeg[: len(jpeg) // 2],
        "png with flipped bytes": png[:60] + bytes(40) + png[100:],
        "fractions": fractions,
        "2,500,000,000 pixels": bomb + chunk(b"IDAT", b"") + chunk(b"IEND", b""),
    }


def chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


@pytest.mark.parametrize(("kind", "content"), broken_files().items(), ids=broken_files())
def test_every_broken_file_is_named_in_one_sentence(tmp_path: Path, kind: str, content: bytes) -> None:
    (tmp_path / "a.png").write_bytes(content)
    with pytest.raises(
        InputError, match=r"cannot read the image .*a\.png: .+\. Replace or remove the file\."
    ) as e:
        ImageFiles(tmp_path, ["a.png"], 8)[:]
    assert "\n" not in str(e.value)


def test_a_broken_image_in_a_worker_is_the_same_sentence(root: Path) -> None:
    data = module(root, in_memory=False, num_workers=2)
    for name in data.source.sample_names[1:]:
        (root / name).write_bytes(b"broken")
    with pytest.raises(InputError) as e:
        list(data.train_dataloader())
    assert re.fullmatch(r"cannot read the image \S+\.png: .*Replace or remove the file\.", str(e.value))


def test_a_broken_image_in_a_worker_ends_the_command_in_one_sentence(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for path in sorted(root.rglob("*.png"))[1:]:
        path.write_bytes(b"broken")
    monkeypatch.chdir(tmp_path)
    options = {
        "root": root,
        "positive_classes": "[cat]",
        "in_memory": "false",
        "num_workers": 1,
        "image_size": 8,
    }
    with pytest.raises(SystemExit) as end:
        pauc(
            [
                *("fit", "--data=ImageFolderLT", "--model=CE", "--model.init_args.backbone=MLPScorer"),
                *(f"--run_dir={tmp_path}/runs", "--trainer.accelerator=cpu", "--model.init_args.regions=[]"),
                *(f"--data.init_args.{key}={value}" for key, value in options.items()),
            ]
        )
    assert end.value.code == 2
    said = capsys.readouterr().err
    assert "Traceback" not in said
    assert re.search(r"error: cannot read the image \S+\.png: .*Replace or remove the file\.$", said)


def test_odd_names_are_read_and_shown(tmp_path: Path) -> None:
    odd = os.fsencode(tmp_path) + b"/images/c\xff/new\nline \xfe.png"
    write_folder(tmp_path / "images", {"ant": 20, "dog": 20})
    os.mkdir(os.path.dirname(odd))
    for i in range(20):
        shutil.copy(os.fsencode(tmp_path / "images/ant/003.png"), odd.replace(b".png", b"%02d.png" % i))
    data = module(tmp_path / "images", positive_classes=["dog"], cache_dir=str(tmp_path / "cache"))
    assert data.inputs[torch.tensor([20])][0, 0, 0, 0] == 3
    data.export_split(str(tmp_path / "split.json"))
    again = module(tmp_path / "images", positive_classes=["dog"], split_file=str(tmp_path / "split.json"))
    assert np.array_equal(again.split.test, data.split.test)
    os.truncate(odd.replace(b".png", b"00.png"), 0)
    with pytest.raises(InputError, match=r"images/c\\udcff/new\\nline \\udcfe00\.png': ") as e:
        module(tmp_path / "images", positive_classes=["dog"]).inputs  # noqa: B018
    str(e.value).encode()  # any terminal can show it


def list_as_nobody(root: Path, result: Any) -> None:
    if os.geteuid() == 0:  # whom no permission stops
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)
    try:
        list_images(root)
        result.put("listed")
    except InputError as error:
        result.put(str(error))


@pytest.mark.parametrize("closed", ["images", "images/cat", "images/dog/more", "."])
def test_a_folder_without_permission_is_named(root: Path, tmp_path: Path, closed: str) -> None:
    write_image(root / "dog" / "more" / "040.png", 40)
    for folder in (tmp_path, *tmp_path.parents):
        if folder.stat().st_uid == os.geteuid() and folder.is_relative_to(tempfile.gettempdir()):
            folder.chmod(folder.stat().st_mode | 0o555)
    (tmp_path / closed).chmod(0)
    context = multiprocessing.get_context("fork")
    result = context.Queue()
    process = context.Process(target=list_as_nobody, args=(root, result))
    process.start()
    message = result.get(timeout=30)
    process.join()
    (tmp_path / closed).chmod(0o700)
    assert re.fullmatch(r"`root=.*` cannot be read: .*: Permission denied\. Make it readable.*", message)
    assert (tmp_path / closed).name in message


def test_an_unreadable_folder_is_not_passed_over(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As above for those who are not root; os.walk is silent about such folders unless told otherwise."""
    real = os.scandir

    def scandir(path: Any) -> Any:
        if str(path).endswith("dog"):
            raise PermissionError(13, "Permission denied", str(path))
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)
    with pytest.raises(InputError, match=r"cannot be read: .*dog: Permission denied"):
        list_images(root)


def test_links(root: Path, tmp_path: Path) -> None:
    (root / "dog" / "up").symlink_to("..")
    (root / "nothing").symlink_to("nothing")
    (root / "elk").symlink_to(write_folder(tmp_path / "elsewhere", {"x": 3}))
    names, _, classes = list_images(root)
    assert classes == ["ant", "cat", "dog", "elk"]  # a class may lie elsewhere
    assert len(names) == 93
    (root / "self").symlink_to(".")
    with pytest.raises(InputError, match=r"self is a link to .*images, which contains it\. Remove the link"):
        list_images(root)
    (root / "self").unlink()
    (root / "ant" / "gone.png").symlink_to("nowhere.png")
    for cache in (None, str(tmp_path / "cache")):
        with pytest.raises(InputError, match=r"cannot read the image .*gone\.png: No such file"):
            module(root, cache_dir=cache).inputs  # noqa: B018


def test_a_cache_that_cannot_be_made_or_read_is_explained(root: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(InputError, match="cannot write to"):
        module(root, cache_dir=str(tmp_path / "file")).inputs  # noqa: B018
    with pytest.raises(
        InputError, match=r"the decoded images need \d+\.\d GB in `cache_dir=.*cache`, which has"
    ):
        decode_all(ImageFiles(root, ["cat/000.png"] * 90, 10**6), str(tmp_path / "cache"))
    with pytest.raises(InputError, match="do not fit into memory"):
        decode_all(ImageFiles(root, [f"{i}" for i in range(100)], 10**8), None)
    module(root, cache_dir=str(tmp_path / "cache")).inputs  # noqa: B018
    (made,) = (tmp_path / "cache").glob("*.npy")
    made.write_bytes(made.read_bytes()[:1000])
    with pytest.raises(InputError, match=r"images-\w+\.npy cannot be read.*Delete the file"):
        module(root, cache_dir=str(tmp_path / "cache")).inputs  # noqa: B018


def test_mistakes_are_explained(root: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"unknown names \['cats'\]: did you mean \['cat'\]"):
        module(root, positive_classes=["cats"]).targets  # noqa: B018
    with pytest.raises(InputError, match=r"nowhere` does not exist: give the folder"):
        list_images(tmp_path / "nowhere")
    with pytest.raises(InputError, match=r"000\.png` is a file: give the folder"):
        list_images(root / "cat" / "000.png")
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
    assert len(batch.target) == 63
    data.trainer = Trainer(logger=False, accelerator="cpu", enable_checkpointing=False)
    transformed = data.on_after_batch_transfer(batch, 0)
    torch.testing.assert_close(transformed.input, data.eval_transform(batch.input))  # not augmented


def test_the_constants_of_the_normalisation_can_be_chosen(root: Path) -> None:
    data = module(root, mean=[0.5, 0.25, 0], std=[0.5, 0.5, 2])
    images = data.inputs[torch.arange(90)]
    scaled = (images.float() / 255 - torch.tensor([0.5, 0.25, 0.0]).view(3, 1, 1)) / torch.tensor(
        [0.5, 0.5, 2.0]
    ).view(3, 1, 1)
    torch.testing.assert_close(data.eval_transform(images), scaled)
    with pytest.raises(InputError, match=r"`mean` must be a list of 3 numbers, one per channel, got \[0.5\]"):
        module(root, mean=[0.5])
    with pytest.raises(InputError, match=r"`std\[1\]` must be a finite number above 0, got 0"):
        module(root, std=[1, 0, 1])
