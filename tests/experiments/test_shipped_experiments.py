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

TABLES = ("mammography", "htru2")


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


def test_small_network() -> None:
    rng = np.random.default_rng(0)
    for part, n in (("train", 40), ("test", 8)):
        for name in ("airplane", "bird", "cat"):
            folder = Path(f"cifar10/{part}/{name}")
            folder.mkdir(parents=True)
            for i in range(n):
                Image.fromarray(rng.integers(0, 256, (32, 32, 3), dtype=np.uint8)).save(folder / f"{i}.jpg")
    rows = run(
        *("small_network", "--methods", "ce", "partial_auc", "--data.imbalance_ratio", "0.8"),
        *("--data.batch_size", "16", "--model.backbone.width", "4"),
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


@pytest.mark.parametrize("name", ["upauci", "partial_auc"])
def test_every_ablation_trains(name: str) -> None:
    write_table(Path("tables/mammography.parquet"))
    rows = run(f"ablations_{name}", "--data_sets", "mammography", short=PLAIN)
    settings = yaml.safe_load(find_config(f"experiment/ablations_{name}").read_text())["compare"]
    assert [row["method"] for row in rows] == list(settings["methods"])
    assert all(0 < float(row["mean"]) <= 1 and not row["failed_seeds"] for row in rows)


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
