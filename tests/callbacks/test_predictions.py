"""Predictions are joined with the user's own files, for every part, by one process and by two."""

from __future__ import annotations

import csv
import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import pytest
import torch
from ddp import run_on_ranks
from lightning.pytorch import LightningDataModule, Trainer
from PIL import Image
from torch.utils.data import DataLoader, Dataset, TensorDataset

from pauc_lightning.callbacks import PredictionWriter
from pauc_lightning.data import ImageFolderLT, TabularLT
from pauc_lightning.errors import InputError
from pauc_lightning.methods import CE
from pauc_lightning.models import LinearScorer

N = 150
PARTS = ("train", "val", "test")


def patients() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    return pd.DataFrame(
        {
            "patient": [f"{i:04d}" for i in rng.permutation(N)],
            "age": rng.normal(50, 9, N),
            "city": rng.choice(["Rome", "Oslo", "Bonn"], N),
            "outcome": rng.choice(["died", "lived"], N, p=[0.3, 0.7]),
        }
    )


def table(path: Path, **kwargs: Any) -> TabularLT:
    return TabularLT(
        **{
            "path": str(path),
            "label": "outcome",
            "positive_values": ["died"],
            "id_column": "patient",
            "eval_batch_size": 16,
            **kwargs,
        }
    )


def predict(data: LightningDataModule, folder: Path, file: str = "scores.csv", **kwargs: Any) -> Path:
    torch.manual_seed(0)
    model = CE(backbone=LinearScorer(), input_shape=data.input_shape, train_size=10, prior=0.3)  # type: ignore[attr-defined]
    trainer = Trainer(
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        use_distributed_sampler=False,
        default_root_dir=folder,
        callbacks=[PredictionWriter(str(folder / file))],
        **kwargs,
    )
    trainer.predict(model, datamodule=data)
    return folder / file


def predict_on_rank(rank: int, path: str, folder: str) -> None:
    os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE="2", TORCHELASTIC_RUN_ID="test")
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29500", GROUP_RANK="0", LOCAL_WORLD_SIZE="2")
    for part in PARTS:
        data = table(Path(path), predict_part=part)
        predict(data, Path(folder), f"{part}.csv", devices=2, strategy="ddp")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "patients.csv"
    patients().to_csv(path, index=False)
    return path


def test_rows_belong_to_the_file_whatever_the_part_and_the_number_of_processes(
    path: Path, tmp_path: Path
) -> None:
    run_on_ranks(predict_on_rank, 2, str(path), str(tmp_path / "two"))
    rows = []
    for part in PARTS:
        one = predict(table(path, predict_part=part), tmp_path / "one", f"{part}.csv")
        ours = pd.read_csv(one, dtype={"patient": str})
        theirs = pd.read_csv(tmp_path / "two" / f"{part}.csv", dtype={"patient": str})
        assert list(ours.columns) == ["index", "patient", "label", "score"]
        assert ours["index"].is_monotonic_increasing
        pd.testing.assert_frame_equal(ours.drop(columns="score"), theirs.drop(columns="score"))
        np.testing.assert_allclose(ours["score"], theirs["score"], rtol=1e-6)
        frame = patients().iloc[ours["index"]]
        assert frame["patient"].tolist() == ours["patient"].tolist()
        assert (frame["outcome"] == "died").astype(int).tolist() == ours["label"].tolist()
        rows += ours["index"].tolist()
    assert sorted(rows) == list(range(N))  # every row of the file is in one part


def test_parquet_holds_the_same_as_csv(path: Path, tmp_path: Path) -> None:
    written = predict(table(path), tmp_path)
    as_text = pd.read_csv(written, dtype={"patient": str}, float_precision="round_trip")
    binary = pd.read_parquet(predict(table(path), tmp_path, "scores.parquet"))
    pd.testing.assert_frame_equal(as_text, binary, check_dtype=False)
    assert (as_text["score"] == binary["score"]).all()
    assert not list(tmp_path.glob("*partial*"))


def test_images_are_named_by_their_files(tmp_path: Path) -> None:
    for i, name in enumerate(["cat", "dog"]):
        (tmp_path / "photos" / name).mkdir(parents=True)
        for j in range(20):
            Image.new("RGB", (8, 8), (i * 90, j * 9, 5)).save(tmp_path / "photos" / name / f"{j}.png")
    data = ImageFolderLT(str(tmp_path / "photos"), ["cat"], image_size=8, cache_dir=None)
    with predict(data, tmp_path).open() as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["index", "file", "label", "score"]
    assert [row["label"] for row in rows] == [str(int(row["file"].startswith("cat/"))) for row in rows]
    names = sorted(str(p.relative_to(tmp_path / "photos")) for p in (tmp_path / "photos").rglob("*.png"))
    assert [names[int(row["index"])] for row in rows] == [row["file"] for row in rows]


class Own(LightningDataModule):
    """A data module that knows nothing of this project."""

    input_shape = (3,)

    def __init__(self, with_index: bool) -> None:
        super().__init__()
        rng = torch.Generator().manual_seed(0)
        columns = [torch.randn(9, 3, generator=rng), torch.arange(9) % 2, torch.arange(9).flip(0)]
        self.data: Dataset[Any] = TensorDataset(*columns[: 3 if with_index else 2])

    def predict_dataloader(self) -> DataLoader[Any]:
        return DataLoader(self.data, batch_size=4)


def test_own_data_modules_keep_their_own_index(tmp_path: Path) -> None:
    plain = pd.read_csv(predict(Own(with_index=False), tmp_path, "plain.csv"))
    given = pd.read_csv(predict(Own(with_index=True), tmp_path, "given.csv"))
    assert list(plain.columns) == ["index", "label", "score"]
    assert plain["index"].tolist() == given["index"].tolist() == list(range(9))
    assert plain["score"].tolist() == given["score"].tolist()[::-1]


def test_nothing_is_overwritten_unasked_and_no_work_is_lost(path: Path, tmp_path: Path) -> None:
    existing = predict(table(path), tmp_path)
    before = existing.read_bytes()
    existing.write_text("mine")
    with pytest.raises(InputError, match=r"scores\.csv` exists: choose another name, or overwrite"):
        predict(table(path), tmp_path)
    assert existing.read_text() == "mine"
    writer = PredictionWriter(str(existing), overwrite=True)
    data = table(path)
    torch.manual_seed(0)
    model = CE(backbone=LinearScorer(), input_shape=data.input_shape, train_size=10, prior=0.3)
    trainer = Trainer(
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        callbacks=[writer],
    )
    trainer.predict(model, datamodule=data)
    assert existing.read_bytes() == before
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(InputError, match="is a folder"):
        predict(table(path), tmp_path, "folder.csv")
    with pytest.raises(InputError, match=r"scores\.csv is not a folder"):
        predict(table(path), tmp_path, "scores.csv/below.csv")
    with pytest.raises(InputError, match=r"must end in \.csv or \.parquet"):
        PredictionWriter("scores.xlsx")
