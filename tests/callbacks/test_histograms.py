"""Histograms count the scores of each class of one evaluation."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from lightning.pytorch import Trainer
from lightning.pytorch.loggers import CSVLogger, Logger, TensorBoardLogger
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from pauc_lightning.callbacks import ScoreHistograms
from pauc_lightning.errors import InputError
from pauc_lightning.methods import CE

SCORES = [0.0, 0.1, 0.24, 0.26, 0.5, 0.9, 0.99]
LABELS = [0, 0, 0, 1, 1, 1, 1]


def evaluate(folder: Path, logger: Logger, callback: ScoreHistograms) -> None:
    """A test whose scores are known."""
    logits = torch.tensor(SCORES).double().clamp(1e-12).logit().float()[:, None]
    data = DataLoader(TensorDataset(logits, torch.tensor(LABELS)), batch_size=3)
    trainer = Trainer(
        accelerator="cpu",
        default_root_dir=folder,
        logger=logger,
        callbacks=[callback],
        enable_progress_bar=False,
    )
    trainer.test(CE(backbone=nn.Flatten(0), max_fpr=0.5, regions=[]), data, verbose=False)


def test_every_score_is_counted_in_the_bin_of_its_class(tmp_path: Path) -> None:
    evaluate(tmp_path, TensorBoardLogger(tmp_path, name="", version=""), ScoreHistograms(bins=4))
    board = EventAccumulator(str(tmp_path)).Reload()
    for name, counts in (("negatives", [3, 0, 0, 0]), ("positives", [0, 1, 1, 2])):
        (event,) = board.Histograms(f"scores/test_{name}")
        assert list(event.histogram_value.bucket_limit) == [0.25, 0.5, 0.75, 1.0]
        assert list(event.histogram_value.bucket) == counts
        assert event.histogram_value.num == sum(counts)
    values = board.Histograms("scores/test_positives")[0].histogram_value
    assert (values.min, values.max) == pytest.approx((0.26, 0.99), abs=1e-6)
    assert values.sum == pytest.approx(0.26 + 0.5 + 0.9 + 0.99, abs=1e-6)
    assert values.sum_squares == pytest.approx(0.26**2 + 0.5**2 + 0.9**2 + 0.99**2, abs=1e-6)


def test_nothing_is_collected_without_a_logger_that_shows_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise AssertionError("collected")

    monkeypatch.setattr(ScoreHistograms, "on_scores", fail)
    evaluate(tmp_path, CSVLogger(tmp_path), ScoreHistograms())
    with pytest.raises(AssertionError, match="collected"):
        evaluate(tmp_path, TensorBoardLogger(tmp_path), ScoreHistograms())


def test_bad_numbers_are_refused() -> None:
    with pytest.raises(InputError, match=r"`every_n_epochs` must not be negative, got -1"):
        ScoreHistograms(every_n_epochs=-1)
    with pytest.raises(InputError, match=r"`bins` must be from 1 to 512"):
        ScoreHistograms(bins=1000)
