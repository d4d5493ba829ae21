"""The scores that an objective starts from: which samples, in which state, and what is shown meanwhile."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from lightning.pytorch import LightningDataModule
from lightning.pytorch.callbacks import Callback, RichProgressBar, TQDMProgressBar
from methods.training import digits, fit, small_net
from torch import Tensor
from torch.utils.data import DataLoader, TensorDataset

from pauc_lightning.data import DigitsLT
from pauc_lightning.methods import CE, PAUCI, UPAUCI


class Watched(PAUCI):
    """Writes down what it starts from; the network is not trained."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(backbone=small_net(), warmup_epochs=0, descent_lr=0.0, weight_decay=0.0, **settings)
        self.started: list[tuple[Tensor, Tensor, Tensor]] = []

    def initialize_objective(self, scores: Tensor, target: Tensor, index: Tensor) -> None:
        super().initialize_objective(scores, target, index)
        self.started.append((scores, target, index))


def start(folder: Path, data: LightningDataModule, **settings: Any) -> tuple[Tensor, Tensor, Tensor]:
    module = Watched()
    fit(module, folder, data, **{"max_epochs": 1, "limit_val_batches": 0, "callbacks": [], **settings})
    assert module.backbone.training
    (started,) = module.started
    return started


@pytest.mark.parametrize(
    ("limits", "n_pos", "n_neg"),
    [({}, 104, 536), ({"limit_train_batches": 3}, 32, 161), ({"limit_train_batches": 0.1}, 11, 54)],
    ids=["all", "three-batches", "a-tenth"],
)
def test_as_large_a_share_of_each_class_is_scored_as_an_epoch_trains_on(
    limits: dict[str, Any], n_pos: int, n_neg: int, tmp_path: Path
) -> None:
    data = digits()
    labels = data.dataset("train").targets
    assert (int(labels.sum()), int((labels == 0).sum()), len(data.batch_sampler())) == (104, 536, 10)
    scores, target, index = start(tmp_path, data, **limits)
    assert (int(target.sum()), int((target == 0).sum())) == (n_pos, n_neg)
    assert index.tolist() == sorted(set(index.tolist()))
    sample = data.dataset("train").__getitems__(index.tolist())
    assert torch.equal(sample.target, target)
    with torch.no_grad():
        expected = CE(backbone=small_net()).eval()(data.eval_transform(sample.input)).sigmoid()
    torch.testing.assert_close(scores, expected)


def test_the_share_of_a_class_is_not_empty_and_is_chosen_by_the_seed() -> None:
    def chosen(seed: int, share: float, place: tuple[int, int] = (1, 0)) -> tuple[list[int], int]:
        class Placed(DigitsLT):
            _place = place

        batches = list(Placed(seed=seed, eval_batch_size=50).scoring_dataloader(share))
        index = [number for batch in batches for number in batch.index.tolist()]  # type: ignore[union-attr]
        return index, sum(int(batch.target.sum()) for batch in batches)

    assert len(chosen(0, 1e-9)[0]) == 2
    assert chosen(0, 1e-9)[1] == 1
    assert chosen(0, 0.5) == chosen(0, 0.5)
    assert chosen(0, 0.5) != chosen(1, 0.5)
    whole, *parts = (chosen(0, 0.5, place)[0] for place in ((1, 0), (2, 0), (2, 1)))
    assert sorted(parts[0] + parts[1]) == whole
    assert abs(len(parts[0]) - len(parts[1])) <= 1


class Own(LightningDataModule):
    """A user's data module without a loader for scoring, which augments when it trains."""

    def __init__(self, target: Tensor, with_index: bool = True) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(0)
        self.input = torch.randn(len(target), 1, 8, 8, generator=generator)
        numbers = [torch.arange(len(target)) + 100] if with_index else []
        self.columns = (self.input, target, *numbers)

    def train_dataloader(self) -> DataLoader[Any]:
        return DataLoader(TensorDataset(*self.columns), batch_size=16, shuffle=True)

    def on_after_batch_transfer(self, batch: Any, dataloader_idx: int) -> Any:
        assert self.trainer is not None
        input, *rest = batch
        return (input + 1 if self.trainer.training else input, *rest)


def test_without_a_loader_for_scoring_the_training_set_is_read_in_order(tmp_path: Path) -> None:
    target = (torch.arange(64) % 4 == 0).long()
    for with_index in (True, False):
        data = Own(target, with_index)
        scores, labels, index = start(tmp_path, data)
        assert torch.equal(labels, target)
        assert index.tolist() == [number + 100 * with_index for number in range(64)]
        with torch.no_grad():
            expected = CE(backbone=small_net()).eval()(data.input).sigmoid()
        torch.testing.assert_close(scores, expected)  # not augmented

    _, labels, index = start(tmp_path, Own(target, with_index=False), limit_train_batches=2)
    assert len(index) == 32
    assert torch.equal(labels, target[index])
    assert not np.array_equal(index, np.arange(32))


def test_a_share_with_one_class_keeps_the_default_start(tmp_path: Path) -> None:
    module = Watched()
    target = (torch.arange(64) == 0).long()
    fit(module, tmp_path, Own(target), max_epochs=1, limit_train_batches=1, limit_val_batches=0)
    assert module.started == []
    assert bool(module.objective_initialized)


def test_no_pass_is_made_for_a_start_that_is_not_in_closed_form(tmp_path: Path) -> None:
    class Refusing(DigitsLT):
        def scoring_dataloader(self, share: float = 1.0) -> Any:
            raise AssertionError("nobody needs these scores")

    module = UPAUCI(backbone=small_net(), warmup_epochs=0, closed_form_start=False)
    fit(module, tmp_path, Refusing(), max_steps=1, limit_val_batches=0, callbacks=[])
    assert module.start_ranking is None


class Spied(DigitsLT):
    """Looks at the progress bar whenever a batch is asked for."""

    def __init__(self) -> None:
        super().__init__(batch_size=64, eval_batch_size=200)
        self.seen: list[list[tuple[str, float | None, float]]] = []

    def scoring_dataloader(self, share: float = 1.0) -> Any:
        loader = super().scoring_dataloader(share)
        data = self

        class Loader:
            def __len__(self) -> int:
                return len(loader)

            def __iter__(self) -> Any:
                for batch in loader:
                    data.look()
                    yield batch

        return Loader()

    def look(self) -> None:
        assert self.trainer is not None
        bar = self.trainer.progress_bar_callback
        display = bar.progress if isinstance(bar, RichProgressBar) else None
        tasks = display.tasks if display is not None else ()
        self.seen.append([(task.description, task.total, task.completed) for task in tasks])


@pytest.mark.parametrize("bar", [RichProgressBar, TQDMProgressBar, None])
def test_progress_is_shown_as_the_trainers_bar_shows_it(
    bar: type[Callback] | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = Spied()
    bars = {"callbacks": [bar()], "enable_progress_bar": True} if bar else {"callbacks": []}
    fit(Watched(), tmp_path, data, max_steps=2, limit_val_batches=0, **bars)
    printed = capsys.readouterr()
    name = "Scoring the training set"
    assert len(data.seen) == 4  # 640 samples in batches of 200
    if bar is RichProgressBar:
        ours = [[task for task in tasks if task[0] == name] for tasks in data.seen]
        assert ours == [[(name, 4, done)] for done in range(4)]
        data.look()
        assert name not in str(data.seen[-1])
    assert (f"{name}:" in printed.err) == (bar is TQDMProgressBar)
    if bar is None:
        assert "%" not in printed.err + printed.out
