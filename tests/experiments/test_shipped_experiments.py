"""The experiments of "When does it help?" run as shipped, on small tables in the format of the real ones."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import pytest
import yaml
from PIL import Image

from pauc_lightning.cli import main
from pauc_lightning.config_files import find_config
from pauc_lightning.data import CIFAR10LT, CIFAR100LT

TABLES = ("mammography", "htru2")
METHODS = Path(__file__).parents[2] / "configs/method"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def write_table(path: Path, classes: list[str] | None = None, n: int = 600) -> None:
    rng = np.random.default_rng(0)
    codes = (rng.random(n) < 0.2).astype(int) if classes is None else np.arange(n) % len(classes)
    inputs = rng.normal(size=(n, 4)) + codes[:, None]
    table = pd.DataFrame(inputs.astype("float32"), columns=[f"f{i}" for i in range(4)])
    table["label"] = codes if classes is None else np.array(classes)[codes]
    if classes is not None:
        table["file"] = [f"{i}.jpg" for i in range(n)]
    path.parent.mkdir(exist_ok=True)
    table.to_parquet(path)


TUNED = ("--seeds", "0", "1", "--warmup_epochs", "1", "--epochs", "2", "--tuned", "2", "--regions", "0.3")
ONE_SEED = ("--seeds", "0", *TUNED[3:])
PLAIN = ("--seeds", "0", "--warmup_epochs", "2", "--epochs", "2", "--regions", "0.3")


def run(experiment: str, *options: str, short: tuple[str, ...] = TUNED) -> list[dict[str, str]]:
    """Run an experiment briefly; return the rows of the test part."""
    main(["compare", "-c", experiment, *options, *short])
    with Path(f"runs/{experiment}/table.csv").open() as file:
        return [row for row in csv.DictReader(file) if row["quantity"] == "test_pauc"]


def test_eight_tables(capsys: pytest.CaptureFixture[str]) -> None:
    for name in TABLES:
        write_table(Path(f"tables/{name}.parquet"))
    rows = run(
        "eight_tables", "--data_sets", *TABLES, "--backbones", "linear", "--methods", "ce", "partial_auc"
    )
    assert {(row["data"], row["method"]) for row in rows} == {
        (name, method) for name in TABLES for method in ("ce", "partial_auc")
    }
    assert all(0 < float(row["mean"]) <= 1 and not row["failed_seeds"] for row in rows)
    summary = Path("runs/eight_tables/summary.md").read_text()
    assert "| mammography, linear |" in summary
    assert summary.strip() in capsys.readouterr().out
    assert Path("runs/eight_tables/gains.png").read_bytes().startswith(b"\x89PNG")


def test_frozen_features() -> None:
    write_table(Path("features/cifar10.parquet"), ["bird", "cat", "dog"])
    rows = run(
        "frozen_features",
        "--data_sets",
        "cats",
        "--methods",
        "ce",
        "--data.imbalance_ratio",
        "0.5",
        short=ONE_SEED,
    )
    assert [row["method"] for row in rows] == ["ce"]
    assert 0 < float(rows[0]["mean"]) <= 1


def test_every_method_on_features() -> None:
    """Two data sets, and all methods as they are given there: a misspelled class or option would be refused."""
    write_table(Path("features/cifar10.parquet"), ["automobile", "bird", "cat", "dog"])
    experiment = yaml.safe_load(find_config("experiment/all_methods_features").read_text())["compare"]
    rows = run(
        *("all_methods_features", "--data_sets", "birds", "automobiles", "--data.imbalance_ratio", "0.5"),
        short=("--seeds", "0", "--warmup_epochs", "1", "--epochs", "2", "--tuned", "1"),
    )
    methods = {path.name.removesuffix(".search.yaml") for path in METHODS.glob("*.search.yaml")}
    assert set(experiment["methods"]) == methods - {
        "ce_cosine",
        "upauci_ascent",
    }  # which are ce and upauci, too
    assert {(row["data"], row["method"]) for row in rows} == {
        (data, method) for data in ("birds", "automobiles") for method in experiment["methods"]
    }
    assert all(0 <= float(row["mean"]) <= 1 and not row["failed_seeds"] for row in rows)
    assert "gain | birds | automobiles | mean" in Path("runs/all_methods_features/summary.md").read_text()
    run_configs = list(Path("runs/all_methods_features").rglob("version_*/config.yaml"))
    assert len(run_configs) > 2 * len(experiment["methods"])
    assert all("models.LinearScorer" in path.read_text() for path in run_configs)


# The ids of some classes in the original files, which number them in the order of their names.
NAMES = {
    CIFAR10LT: {1: "automobile", 2: "bird", 3: "cat"},
    CIFAR100LT: {
        **{6: "bee", 7: "beetle", 14: "butterfly", 18: "caterpillar", 24: "cockroach"},
        **{0: "apple", 51: "mushroom", 53: "orange", 57: "pear", 83: "sweet_pepper"},
        **{15: "camel", 19: "cattle", 21: "chimpanzee", 32: "flatfish", 38: "kangaroo"},
    },
}


@pytest.mark.parametrize(
    ("experiment", "option"),
    [("all_methods_features", "data.positive_values"), ("small_network", "data.positive_classes")],
)
def test_the_classes_are_those_of_the_papers_subsets(experiment: str, option: str) -> None:
    data = yaml.safe_load(find_config(f"experiment/{experiment}").read_text())["compare"]["data"]
    named = {tuple(one[option]) for one in data.values() if option in one}
    subsets = [(data, subset) for data in (CIFAR10LT, CIFAR100LT) for subset in data.subsets]
    assert named == {tuple(NAMES[data][i] for i in subset.positives) for data, subset in subsets}


def test_every_method_on_tables() -> None:
    """The same as :file:`eight_tables.yaml`, with all methods; its table has a row for each method."""
    write_table(Path("tables/mammography.parquet"))
    rows = run(
        *("all_methods_tables", "--data_sets", "mammography", "--backbones", "linear"),
        short=("--seeds", "0", "--warmup_epochs", "1", "--epochs", "2", "--tuned", "1"),
    )
    tables, features = (
        yaml.safe_load(find_config(f"experiment/all_methods_{name}").read_text())["compare"]
        for name in ("tables", "features")
    )
    assert [row["method"] for row in rows] == tables["methods"] == features["methods"]
    assert all(0 <= float(row["mean"]) <= 1 and not row["failed_seeds"] for row in rows)
    eight = yaml.safe_load(find_config("experiment/eight_tables").read_text())["compare"]
    assert tables["data"] == eight["data"]


def test_rare_positives() -> None:
    """One positive for 200 negatives; one of the two cross-entropies starts at its initial weights."""
    write_table(Path("tables/celeba.parquet"), n=10_000)
    rows = run(
        *("rare_positives", "--data_sets", "celeba", "--backbones", "linear"),
        *("--methods", "ce", "ce_early", "partial_auc", "--trainer.limit_train_batches", "4"),
        short=("--seeds", "0", "--warmup_epochs", "2", "--epochs", "2", "--tuned", "1"),
    )
    assert [row["method"] for row in rows] == ["ce", "ce_early", "partial_auc"]
    assert all(0 <= float(row["mean"]) <= 1 and not row["failed_seeds"] for row in rows)
    configs = {
        path: yaml.safe_load(path.read_text()) for path in Path("runs").rglob("*-seed0/version_*/config.yaml")
    }
    assert {one["data"]["init_args"]["imbalance_ratio"] for one in configs.values()} == {0.005}
    at_start = {
        path.parts[-3].split("-")[0]
        for path, one in configs.items()
        if one["model"]["init_args"]["init_weights"] is None
    }
    assert at_start == {"warmup", "ce_early"}
    rare, eight = (
        yaml.safe_load(find_config(f"experiment/{name}").read_text())
        for name in ("rare_positives", "eight_tables")
    )
    assert rare["compare"]["data"].items() <= eight["compare"]["data"].items()
    for key in ("warmup", "warmup_epochs", "epochs", "tuned"):
        assert rare["compare"][key] == eight["compare"][key]


def test_either_start() -> None:
    """Each method from both starts; of the two, the one that validates better is compared."""
    write_table(Path("tables/mammography.parquet"))
    write_table(Path("tables/htru2.parquet"))
    rows = run(
        *("either_start", "--data_sets", *TABLES, "--backbones", "linear"),
        *("--methods", "ce_late", "ce_early", "partial_auc_late", "partial_auc_early"),
        short=("--seeds", "0", "--warmup_epochs", "2", "--epochs", "2", "--tuned", "1"),
    )
    of = {(row["data"], row["method"]): row for row in rows}
    assert len(of) == len(rows) == 2 * 6
    for name in TABLES:
        for method in ("ce", "partial_auc"):
            chosen = of[name, method]["chosen"]
            assert chosen in (f"{method}_late", f"{method}_early")
            assert of[name, method]["seed_0"] == of[name, chosen]["seed_0"] != ""
            assert of[name, method]["baseline"] == "ce"
    assert "| data | ce | partial_auc |" in Path("runs/either_start/summary.md").read_text()
    either, eight = (
        yaml.safe_load(find_config(f"experiment/{name}").read_text())
        for name in ("either_start", "eight_tables")
    )
    assert either["compare"]["data"] == eight["compare"]["data"]
    for key in ("warmup", "warmup_epochs", "epochs", "tuned"):
        assert either["compare"][key] == eight["compare"][key]


def write_images(root: str = "cifar10", names: tuple[str, ...] = ("airplane", "bird", "cat")) -> None:
    rng = np.random.default_rng(0)
    for part, n in (("train", 40), ("test", 8)):
        for name in names:
            folder = Path(f"{root}/{part}/{name}")
            folder.mkdir(parents=True)
            for i in range(n):
                Image.fromarray(rng.integers(0, 256, (32, 32, 3), dtype=np.uint8)).save(folder / f"{i}.jpg")


def test_small_network() -> None:
    write_images()
    rows = run(
        *("small_network", "--data_sets", "birds", "cats", "--methods", "ce", "partial_auc"),
        *("--data.imbalance_ratio", "0.8", "--data.batch_size", "16", "--model.backbone.width", "4"),
        short=ONE_SEED,
    )
    assert {(row["data"], row["method"]) for row in rows} == {
        (data, method) for data in ("birds", "cats") for method in ("ce", "partial_auc")
    }
    assert all(0 <= float(row["mean"]) <= 1 and not row["failed_seeds"] for row in rows)
    assert (
        "SmallCNN"
        in next(Path("runs/small_network/birds").glob("ce-*-seed0/version_0/config.yaml")).read_text()
    )
    assert "| its gap |" in Path("runs/small_network/summary.md").read_text()


def test_small_network_on_the_other_images() -> None:
    """CIFAR-100 is in another folder, and Fashion-MNIST is another class of data with other settings."""
    write_images("cifar100", ("apple", "bee", "beetle", "butterfly", "caterpillar", "cockroach", "wolf"))
    rng = np.random.default_rng(0)
    raw = Path("data/FashionMNIST/raw")
    raw.mkdir(parents=True)
    for part, n in (("train", 200), ("t10k", 40)):
        images = rng.integers(0, 256, (n, 28, 28), dtype=np.uint8)
        labels = (np.arange(n) % 10).astype(np.uint8)
        for kind, array in (("images-idx3", images), ("labels-idx1", labels)):
            header = bytes([0, 0, 8, array.ndim]) + np.array(array.shape, ">u4").tobytes()
            (raw / f"{part}-{kind}-ubyte").write_bytes(header + array.tobytes())
    rows = run(
        *("small_network", "--data_sets", "insects", "pullovers", "--methods", "ce"),
        *("--data.imbalance_ratio", "0.8", "--data.batch_size", "16", "--model.backbone.width", "4"),
        short=ONE_SEED,
    )
    assert [row["data"] for row in rows] == ["insects", "pullovers"]
    settings = {
        data: yaml.safe_load(
            next(Path(f"runs/small_network/{data}").glob("ce-*-seed0/version_0/config.yaml")).read_text()
        )["data"]
        for data in ("insects", "pullovers")
    }
    assert settings["insects"]["init_args"]["root"] == "cifar100"
    assert settings["pullovers"]["class_path"].endswith("FashionMNISTLT")


@pytest.mark.parametrize("name", ["upauci", "partial_auc"])
def test_every_ablation_trains(name: str) -> None:
    write_table(Path("tables/mammography.parquet"))
    rows = run(f"ablations_{name}", "--data_sets", "mammography", short=PLAIN)
    settings = yaml.safe_load(find_config(f"experiment/ablations_{name}").read_text())["compare"]
    assert [row["method"] for row in rows] == list(settings["methods"])
    assert all(0 < float(row["mean"]) <= 1 and not row["failed_seeds"] for row in rows)


@pytest.mark.parametrize(
    ("name", "small"),
    [
        ("ablations_network", ("--model.backbone.width", "4")),
        ("cifar10_resnet18", ("--data_sets", "birds", "--methods", "ce", "upauci")),
    ],
)
def test_every_variant_of_a_network_trains(name: str, small: tuple[str, ...]) -> None:
    write_images()
    rows = run(name, "--data.imbalance_ratio", "0.8", "--data.batch_size", "16", *small, short=PLAIN)
    settings = yaml.safe_load(find_config(f"experiment/{name}").read_text())["compare"]
    methods = ("ce", "upauci") if "--methods" in small else settings["methods"]
    assert {row["method"] for row in rows} == set(methods)
    assert all(0 <= float(row["mean"]) <= 1 and not row["failed_seeds"] for row in rows)


def test_natural_batches() -> None:
    write_table(Path("tables/mammography.parquet"))
    rows = run("natural_batches", "--data_sets", "mammography", "--epochs", "2", short=PLAIN[:2] + PLAIN[6:])
    assert [row["method"].partition("_")[0] for row in rows] == ["ce", "ce", "partial", "partial"]
    of = {
        row["method"]: Path("runs/natural_batches/mammography/linear") / f"{row['method']}-opauc_fpr0.3-seed0"
        for row in rows
    }
    settings = {
        method: yaml.safe_load((folder / "version_0/config.yaml").read_text())["data"]["init_args"]
        for method, folder in of.items()
    }
    assert {method: one["positive_fraction"] for method, one in settings.items()} == {
        "ce_balanced": 0.5,
        "ce_natural": None,
        "partial_auc_balanced": 0.5,
        "partial_auc_natural": None,
    }


def test_the_ablations_have_the_same_data() -> None:
    of = [
        yaml.safe_load(find_config(f"experiment/ablations_{n}").read_text())
        for n in ("upauci", "partial_auc")
    ]
    for one in of:
        del one["compare"]["methods"], one["compare"]["baseline"]
    assert of[0] == of[1]
