"""``pauc features`` on small images with a small network whose weights are random, as are its running statistics."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas  # type: ignore[import-untyped]
import pytest
import timm
import torch
from catalogue.sentences import check_said, contents
from PIL import Image
from safetensors.torch import save_file
from torch import nn

from pauc_lightning.cli import main as pauc
from pauc_lightning.data import ImageFolderLT, TabularLT
from pauc_lightning.errors import InputError
from pauc_lightning.features import extract as extraction
from pauc_lightning.features.network import FeatureNetwork
from pauc_lightning.features.table import read_recipe

NETWORK = "mobilenetv3_small_050"
N_FEATURES = 1024
COUNTS = {"train/cat": 14, "test/cat": 6, "train/dog": 21, "test/dog": 9}


def write_folder(root: Path, counts: dict[str, int]) -> Path:
    """Images of noise of several sizes; the same in every run."""
    for k, (folder, n) in enumerate(counts.items()):
        random = np.random.default_rng(k)
        for i in range(n):
            path = root / folder / f"{i:03}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            pixels = random.integers(0, 256, (20 + i % 3, 20, 3), dtype=np.uint8)
            Image.fromarray(pixels).save(path)
    return root


def random_network(n_classes: int) -> nn.Module:
    torch.manual_seed(0)
    network: nn.Module = timm.create_model(NETWORK, num_classes=n_classes).eval()
    with torch.no_grad():
        for module in network.modules():
            if isinstance(module, nn.BatchNorm2d):
                assert module.running_mean is not None
                assert module.running_var is not None
                module.running_mean.normal_(0, 0.1)
                module.running_var.uniform_(0.5, 2)
                module.weight.uniform_(0.5, 1.5)
                module.bias.normal_(0, 0.1)
    return network


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Weights with a classifier of 1000 classes, as they are published."""
    path = tmp_path_factory.mktemp("weights") / "weights.safetensors"
    save_file(random_network(1000).state_dict(), path)
    return path


@pytest.fixture
def images(tmp_path: Path) -> Path:
    return write_folder(tmp_path / "images", COUNTS)


@pytest.fixture(autouse=True)
def _in_an_empty_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setattr(sys, "argv", ["pauc"])


def features(images: Path, weights: Path, *more: str) -> None:
    chosen = ["--image_size=32", "--device=cpu", *more]
    pauc(["features", f"--images={images}", f"--network={NETWORK}", f"--weights={weights}", *chosen])


def test_the_table_is_what_the_network_computes(images: Path, weights: Path) -> None:
    """Against PIL and timm, one image at a time."""
    features(images, weights, "--mean", "0.5", "--std", "0.2", "0.25", "0.3", "--interpolation=bicubic")
    table = pandas.read_parquet("features.parquet")
    assert list(table.columns) == ["file", "label", *(f"f{i:04d}" for i in range(N_FEATURES))]
    assert (table.iloc[:, 2:].dtypes == np.float32).all()
    expected = sorted(path.relative_to(images).as_posix() for path in images.rglob("*.png"))
    assert sorted(table.file) == expected
    network = random_network(1000)
    network.reset_classifier(0)  # type: ignore[operator]
    for _, row in table.iloc[::7].iterrows():
        assert row.label == row.file.split("/")[1]
        image = Image.open(images / row.file).convert("RGB")
        side = min(image.size)  # the longer side is cut equally
        top = (image.height - side) / 2
        image = image.resize((32, 32), Image.Resampling.BICUBIC, box=(0, top, side, top + side))
        pixels = np.asarray(image, dtype=np.float64) / 255
        input = ((pixels - 0.5) / [0.2, 0.25, 0.3]).transpose(2, 0, 1)[None]
        with torch.no_grad():
            output = network(torch.from_numpy(input).float())[0].numpy()
        np.testing.assert_allclose(row.iloc[2:].to_numpy(np.float32), output, rtol=1e-3, atol=1e-4)


def test_size_scaling_and_constants_are_the_networks_own(images: Path, weights: Path) -> None:
    pauc(["features", "--images", str(images), "--network", NETWORK, "--weights", str(weights)])
    recipe = read_recipe(Path("features.parquet"))
    own = timm.get_pretrained_cfg(NETWORK)
    assert own is not None
    assert (recipe.image_size, recipe.interpolation) == (own.input_size[1], own.interpolation)
    assert (recipe.mean, recipe.std) == (own.mean, own.std)


def test_the_batch_size_and_the_number_of_threads_do_not_matter(images: Path, weights: Path) -> None:
    features(images, weights, "--output=one.parquet")
    n_threads = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        features(images, weights, "--output=other.parquet", "--batch_size=7")
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(n_threads)
    one, other = (pandas.read_parquet(f"{name}.parquet").iloc[:, 2:].to_numpy() for name in ("one", "other"))
    np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


def test_a_seed_gives_the_parts_that_it_gives_for_the_images(images: Path, weights: Path) -> None:
    features(images, weights)
    table = TabularLT(
        "features.parquet",
        "label",
        ["cat"],
        id_column="file",
        imbalance_ratio=0.5,
        seed=3,
        predict_part="val",
    )
    folder = ImageFolderLT(
        root=str(images), positive_classes=["cat"], imbalance_ratio=0.5, seed=3, cache_dir=None
    )
    assert table.source.class_names == folder.source.class_names
    for part in ("train", "val", "test"):
        np.testing.assert_array_equal(getattr(table.split, part), getattr(folder.split, part))
    position = np.arange(len(table.split.val))
    assert table.prediction_columns(position)["file"] == [
        folder.source.sample_names[i] for i in folder.split.val
    ]


def test_numbers_as_classes_keep_their_order(tmp_path: Path, weights: Path) -> None:
    folder = write_folder(tmp_path / "numbers", {"10": 2, "2": 2, "1": 2})
    features(folder, weights)
    table = pandas.read_parquet("features.parquet")
    assert table.label.tolist() == [1, 1, 2, 2, 10, 10]


def test_new_images_are_scored_by_a_scorer_of_features(
    weights: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    features(write_folder(tmp_path / "images", {"cat": 30, "dog": 40}), weights)
    said = capsys.readouterr().out
    command = next(line for line in said.splitlines() if line.startswith("Next:")).split()[2:]
    assert "[cat]" in "".join(command)
    pauc(
        [word.strip("'") for word in command]
        + ["--trainer.max_epochs=1", "--model.warmup_epochs=0", "--trainer.accelerator=cpu"]
        + ["--trainer.enable_progress_bar=false", "--figures.every_n_epochs=0"]
    )
    new = write_folder(tmp_path / "new", {".": 3, "deeper": 2})
    pauc(
        ["features", "--images", str(new), "--like=features.parquet", "--unlabelled", "--output=new.parquet"]
    )
    assert "pauc predict" in capsys.readouterr().out
    assert "label" not in pandas.read_parquet("new.parquet").columns
    assert read_recipe(Path("new.parquet")) == read_recipe(Path("features.parquet"))
    pauc(["predict", "runs/TabularLT-UPAUCI/version_0", "--input=new.parquet", "--output=scores.csv"])
    scores = pandas.read_csv("scores.csv")
    assert scores.file.tolist() == ["000.png", "001.png", "002.png", "deeper/000.png", "deeper/001.png"]
    assert scores.score.between(0, 1).all()


def test_a_stopped_command_goes_on_where_it_was(
    images: Path, weights: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    features(images, weights, "--output=whole.parquet")
    monkeypatch.setattr(extraction, "PART", 8)
    seen: list[int] = []
    stop_at = [20]
    compute = FeatureNetwork.forward

    def counted(self: FeatureNetwork, images: torch.Tensor) -> torch.Tensor:
        if len(images) == 4:  # not the example
            if sum(seen) >= stop_at[0]:
                raise KeyboardInterrupt
            seen.append(len(images))
        return compute(self, images)

    monkeypatch.setattr(FeatureNetwork, "forward", counted)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with pytest.raises(SystemExit) as stopped:
            features(images, weights, "--batch_size=4")
        assert stopped.value.code == 130
        assert not Path("features.parquet").exists()
        assert "type the same command again" in capsys.readouterr().err
        stop_at[0], seen[:] = 1000, []
        features(images, weights, "--batch_size=4")
    finally:
        torch.set_num_threads(threads)
    assert sum(seen) == 32  # of 50 images, without the two parts of 8 that were done and the last two images
    assert not Path("features.parquet.parts").exists()
    pandas.testing.assert_frame_equal(
        pandas.read_parquet("features.parquet"), pandas.read_parquet("whole.parquet"), rtol=1e-4, atol=1e-5
    )


def test_parts_of_another_job_are_not_used(
    images: Path, weights: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    features(images, weights, "--output=right.parquet", "--mean=0.1")
    monkeypatch.setattr("pauc_lightning.features.table.write_table", _fail)
    with pytest.raises(RuntimeError, match="power failure"):
        features(images, weights)
    assert Path("features.parquet.parts").is_dir()
    monkeypatch.undo()
    monkeypatch.chdir(images.parent / "work")
    features(images, weights, "--mean=0.1")
    pandas.testing.assert_frame_equal(
        pandas.read_parquet("features.parquet"), pandas.read_parquet("right.parquet")
    )


def _fail(*_: object) -> None:
    raise RuntimeError("power failure")


def refused(capsys: pytest.CaptureFixture[str], arguments: list[str], *words: str) -> None:
    before = contents(Path.cwd())
    capsys.readouterr()
    with pytest.raises(SystemExit) as stopped:
        pauc(["features", *arguments])
    assert stopped.value.code == 2
    check_said(capsys.readouterr().err, words)
    assert contents(Path.cwd()) == before


def test_mistakes_are_explained(
    images: Path, weights: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("there.parquet").write_bytes(b"precious")
    Path("other.safetensors").write_bytes(weights.read_bytes()[:5000])
    save_file(timm.create_model("resnet10t").state_dict(), "resnet.safetensors")
    torch.save({"weights": object()}, "objects.pth")
    write_folder(tmp_path / "one", {"cat": 2})
    given = [f"--images={images}", f"--network={NETWORK}", f"--weights={weights}"]
    for arguments, words in (
        (["--network=resnet18"], ("needs --images",)),
        ([f"--images={images}"], ("--network", "--like")),
        (["--images=nowhere", *given[1:]], ("`images=nowhere` does not exist",)),
        ([f"--images={tmp_path / 'one'}", *given[1:]], ("`images=", "at least two classes")),
        ([f"--images={tmp_path / 'work'}", *given[1:], "--unlabelled"], ("`images=", "has no images")),
        ([*given, "--network=mobilenetv3_smal_050"], ("`network=", "mobilenetv3_small_050")),
        ([*given, "--weights=nowhere.pth"], ("`weights=nowhere.pth` does not exist",)),
        ([*given, "--weights=other.safetensors"], ("`weights=other.safetensors` cannot be read", "again")),
        ([*given, "--weights=resnet.safetensors"], ("does not fit", "has shape", "more differences")),
        ([*given, "--weights=objects.pth"], ("`weights=objects.pth`", "executed", ".safetensors")),
        ([*given, "--output=table.csv"], ("`output=table.csv`", ".parquet")),
        ([*given, "--output=there.parquet"], ("`output=there.parquet` exists", "--overwrite")),
        ([*given, "--mean", "0.5", "0.5"], ("`mean` takes one number or three", "got 2")),
        ([*given, "--std=0"], ("`std` must be", "above 0")),
        ([*given, "--image_size=0"], ("`image_size` must be",)),
        ([*given, "--batch_size=0"], ("`batch_size` must be",)),
        ([*given, "--device=gpu"], ("`device=gpu` cannot be used", "auto")),
        ([*given, "--like=there.parquet"], ("`--network` and `--like`",)),
        ([given[0], "--like=there.parquet"], ("`like=there.parquet` cannot be read",)),
        ([given[0], "--like=nowhere.parquet"], ("`like=nowhere.parquet` cannot be read",)),
        ([*given, "--imge_size=3"], ("Did you mean `--image_size`?",)),
    ):
        refused(capsys, arguments, *words)
    save_file(timm.create_model("vit_tiny_patch16_224").state_dict(), "vit.safetensors")
    refused(
        capsys,
        [given[0], "--network=vit_tiny_patch16_224", "--weights=vit.safetensors", "--image_size=32"],
        *("`network=vit_tiny_patch16_224`", "`image_size=32`", "leave out"),
    )


def test_other_weights_than_those_of_the_table_are_refused(
    images: Path, weights: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    features(images, weights)
    torch.manual_seed(1)
    save_file(timm.create_model(NETWORK).state_dict(), "others.safetensors")
    arguments = [f"--images={images}", "--like=features.parquet", "--output=new.parquet"]
    refused(capsys, [*arguments, "--weights=others.safetensors"], "others.safetensors", "contents differ")
    pandas.DataFrame({"f0000": [1.0]}).to_parquet("mine.parquet")
    refused(capsys, [arguments[0], "--like=mine.parquet", "--output=new.parquet"], "does not say")


def test_an_image_that_cannot_be_read_is_named_and_the_rest_is_kept(
    images: Path, weights: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (images / "test/dog/000.png").write_bytes(b"no image")
    with pytest.raises(SystemExit):
        features(images, weights)
    check_said(capsys.readouterr().err.replace("\r", "\n"), ["test/dog/000.png", "Replace or remove"])
    assert not Path("features.parquet").exists()


def test_features_that_are_not_numbers_are_refused(images: Path) -> None:
    state = random_network(1000).state_dict()
    state["conv_stem.weight"].fill_(torch.nan)
    save_file(state, "nan.safetensors")
    from pauc_lightning.features.command import main

    with pytest.raises(InputError, match="not a number: check its weights"):
        main(["--images", str(images), "--network", NETWORK, "--weights=nan.safetensors", "--image_size=32"])


def test_without_pyarrow_it_does_not_start(
    images: Path, weights: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(SystemExit):
        features(images, weights)
    check_said(capsys.readouterr().err, ["pyarrow", "pip install 'pauc-lightning[tabular]'"])
