"""Figures show the scores of one evaluation: all of them, and no others."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from lightning.pytorch import Callback, Trainer
from matplotlib.figure import Figure
from sklearn.metrics import roc_auc_score
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

from pauc_lightning import plotting
from pauc_lightning.callbacks import EvaluationFigures
from pauc_lightning.errors import InputError
from pauc_lightning.methods import CE
from pauc_lightning.plotting.roc import plot_roc

N_VALIDATED = 50


class Counting(nn.Module):
    """A logit of the input plus the number of training batches seen, so that scores tell when they were made."""

    seen: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(1))
        self.register_buffer("seen", torch.tensor(0))

    def forward(self, input: Tensor) -> Tensor:
        """One logit per row."""
        self.seen += int(self.training)
        return input[:, 0] + self.seen + 0 * self.weight


class Stop(Callback):
    """Breaks off the validation and the test at their second batch, once."""

    def __init__(self) -> None:
        self.is_armed = True

    def on_validation_batch_start(self, *_: object) -> None:
        """Break off."""
        self._stop(int(str(_[3])))

    def on_test_batch_start(self, *_: object) -> None:
        """Break off."""
        self._stop(int(str(_[3])))

    def _stop(self, batch_idx: int) -> None:
        if self.is_armed and batch_idx == 1:
            self.is_armed = False
            raise RuntimeError("stopped")


def loader(n: int, shift: float = 0.0, batch_size: int = 10) -> DataLoader[tuple[Tensor, ...]]:
    """Inputs 0, 0.01, 0.02, ... plus a shift, of alternating labels."""
    input = 0.01 * torch.arange(n)[:, None] + shift
    return DataLoader(TensorDataset(input, torch.arange(n) % 2, torch.arange(n)), batch_size)


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Tensor, Tensor]]:
    """Scores and labels of every ROC curve that is drawn."""
    seen: list[tuple[Tensor, Tensor]] = []

    def note(scores: Tensor, target: Tensor, *arguments: object, **kwargs: object) -> Figure:
        seen.append((scores, target))
        return plot_roc(scores, target, *arguments, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr(plotting, "plot_roc", note)
    return seen


def trainer(folder: Path, *callbacks: Callback, max_epochs: int = 1, **kwargs: object) -> Trainer:
    return Trainer(
        max_epochs=max_epochs,
        accelerator="cpu",
        default_root_dir=folder,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        callbacks=list(callbacks),
        **kwargs,  # type: ignore[arg-type]
    )


def logits(scores: Tensor) -> list[float]:
    return [round(float(value), 4) for value in scores.logit()]


def test_each_figure_shows_its_own_epoch_and_nothing_else(
    tmp_path: Path, drawn: list[tuple[Tensor, Tensor]]
) -> None:
    """Due after epochs 2 and 4; the sanity check and the other epochs leave nothing."""
    steps = trainer(tmp_path, EvaluationFigures(every_n_epochs=2), max_epochs=5, num_sanity_val_steps=2)
    steps.fit(CE(backbone=Counting()), loader(60, batch_size=20), loader(N_VALIDATED))
    assert len(drawn) == 2
    for (scores, target), epoch in zip(drawn, (2, 4), strict=True):
        assert logits(scores) == [round(0.01 * i + 3 * epoch, 4) for i in range(N_VALIDATED)]
        assert target.tolist() == [i % 2 for i in range(N_VALIDATED)]
    assert {path.name for path in (tmp_path / "figures").iterdir()} == {"val_roc.png", "val_scores.png"}


@pytest.mark.parametrize("every_n_epochs", [0, 3])
def test_no_figure_that_is_not_due(
    every_n_epochs: int, tmp_path: Path, drawn: list[tuple[Tensor, Tensor]]
) -> None:
    steps = trainer(tmp_path, EvaluationFigures(every_n_epochs), max_epochs=2, num_sanity_val_steps=2)
    steps.fit(CE(backbone=Counting()), loader(20), loader(N_VALIDATED))
    assert drawn == []
    steps.test(steps.lightning_module, loader(30), verbose=False)
    ((scores, _),) = drawn
    assert len(scores) == 30


@pytest.mark.parametrize("command", ["validate", "test"])
def test_a_pass_that_was_broken_off_leaves_nothing(
    command: str, tmp_path: Path, drawn: list[tuple[Tensor, Tensor]]
) -> None:
    steps = trainer(tmp_path, EvaluationFigures(), Stop())
    module = CE(backbone=Counting())
    with pytest.raises(RuntimeError, match="stopped"):
        getattr(steps, command)(module, loader(N_VALIDATED, shift=3.0), verbose=False)
    module = CE(backbone=Counting())  # whose metrics have seen nothing either
    getattr(steps, command)(module, loader(N_VALIDATED), verbose=False)
    ((scores, target),) = drawn
    assert logits(scores) == [round(0.01 * i, 4) for i in range(N_VALIDATED)]
    part = {"validate": "val", "test": "test"}[command]
    metrics = steps.callback_metrics
    assert float(metrics[f"{part}/auc"]) == pytest.approx(roc_auc_score(target, scores), abs=1e-6)


def test_a_negative_interval_is_refused() -> None:
    with pytest.raises(InputError, match=r"`every_n_epochs` must not be negative, got -3: write 0"):
        EvaluationFigures(every_n_epochs=-3)


def test_no_figure_after_an_evaluation_if_not_wanted(
    tmp_path: Path, drawn: list[tuple[Tensor, Tensor]]
) -> None:
    steps = trainer(tmp_path, EvaluationFigures(1, after_evaluation=False), max_epochs=2)
    steps.fit(CE(backbone=Counting()), loader(20), loader(N_VALIDATED))
    assert len(drawn) == 2
    steps.test(steps.lightning_module, loader(30), verbose=False)
    steps.validate(steps.lightning_module, loader(30), verbose=False)
    assert len(drawn) == 2
