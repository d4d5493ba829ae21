"""One batch that is not finite stops the run, is named and described, and has changed nothing."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import torch
from ddp import run_on_ranks
from lightning.pytorch import LightningDataModule
from lightning.pytorch.plugins.precision import MixedPrecision
from methods.training import TWICE, methods_besides, small_net, trainer
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

from pauc_lightning import methods
from pauc_lightning.data.sample import Sample
from pauc_lightning.errors import InputError, NonFiniteError
from pauc_lightning.methods import CE, PAUCI, PartialAUCModule, nonfinite

BATCH, BAD_STEP = 16, 2
N = BATCH * 4
MINIMAX = {"closed_form_start": False, "min_tpr": 0.5, "schedule": "constant"}
SETTINGS: dict[str, tuple[str, dict[str, Any]]] = {
    "ce": ("CE", {}),
    "pauci": ("PAUCI", MINIMAX),
    "pauci-twice": ("PAUCI", {**MINIMAX, **TWICE}),
    "upauci-ascent": ("UPAUCI", {**MINIMAX, "weights": "ascent"}),
    "upauci-ascent-twice": ("UPAUCI", {**MINIMAX, "weights": "ascent", **TWICE}),
    "auc-m": ("AUCM", {"closed_form_start": False}),
    "sopa": ("SOPA", {}),
    "sopa-two-way": ("SOPA", {"min_tpr": 0.5}),
    "sopa-s": ("SOPAS", {}),
    "sota-s": ("SOPAS", {"min_tpr": 0.5}),
    "agd-sbcd": ("AGDSBCD", {"first_loop": 2}),
}
SETTINGS |= {name: (name, {}) for name in methods_besides(method for method, _ in SETTINGS.values())}


class Rows(LightningDataModule):
    """Images in a fixed order, labels and indices; the pixels named in ``bad`` are set to a value."""

    def __init__(self, bad: dict[int, float], seed: int = 0, with_index: bool = True) -> None:
        super().__init__()
        inputs = torch.randn(N, 1, 8, 8, generator=torch.Generator().manual_seed(seed))
        for row, value in bad.items():
            inputs[row, 0, 3, 3] = value
        target = (torch.arange(N) % 4 == 0).long()
        index = (torch.arange(N) * 5 + 3) % N  # not the position in the loader
        self.columns = (inputs, target, index) if with_index else (inputs, target)

    def train_dataloader(self) -> DataLoader[tuple[Tensor, ...]]:
        return DataLoader(TensorDataset(*self.columns), batch_size=BATCH)


BAD = {BAD_STEP * BATCH + 5: float("nan"), BAD_STEP * BATCH + 9: float("inf")}
BAD_NAMES = ", ".join(str((row * 5 + 3) % N) for row in BAD)


def build(name: str, **layers: nn.Module) -> PartialAUCModule:
    method, arguments = SETTINGS[name]
    net = small_net(0, norm=nn.BatchNorm1d(16), dropout=nn.Dropout(0.2), **layers)
    module: PartialAUCModule = getattr(methods, method)(
        backbone=net,
        warmup_epochs=0,
        train_size=N,
        **{"learning_rate": 0.1, "schedule": "constant", **arguments},
    )
    return module


def run(module: PartialAUCModule, folder: Path, data: Rows, max_steps: int, **settings: Any) -> None:
    quiet = {"callbacks": [], "enable_checkpointing": False, **settings}
    trainer(folder, max_steps=max_steps, **quiet).fit(module, datamodule=data)


def state(module: PartialAUCModule) -> list[Any]:
    """Weights, statistics, per-sample state and the optimizers' state; ASGDA's options are in it, too."""
    return [module.state_dict(), [optimizer.state_dict() for optimizer in module.trainer.optimizers]]


@pytest.mark.parametrize("name", SETTINGS)
def test_nothing_is_poisoned(name: str, tmp_path: Path) -> None:
    """After the stop everything is, to the bit, as after the steps before it."""
    expected = build(name)
    run(expected, tmp_path, Rows({}), max_steps=BAD_STEP)
    module = build(name)
    with pytest.raises(
        NonFiniteError,
        match=rf"at step {BAD_STEP} \(epoch 0\): .* for the batch of samples .*\.\.\. \(16 in all\); the inputs of "
        rf"samples {BAD_NAMES} are not finite. The step was not taken, .* repair or remove these samples; .*_rank0.pt",
    ):
        run(module, tmp_path, Rows(BAD), max_steps=4)
    torch.testing.assert_close(state(module), state(expected), rtol=0, atol=0)
    assert all(p.grad is None or not p.grad.any() for p in module.parameters())

    (path,) = tmp_path.glob("nonfinite_*")
    snapshot = torch.load(path, weights_only=True)
    rows = range(BAD_STEP * BATCH, (BAD_STEP + 1) * BATCH)
    assert (snapshot["step"], snapshot["epoch"], snapshot["rank"]) == (BAD_STEP, 0, 0)
    assert snapshot["index"].tolist() == [(row * 5 + 3) % N for row in rows]
    assert snapshot["target"].tolist() == [int(row % 4 == 0) for row in rows]
    assert snapshot["scores"].shape == (BATCH,)
    assert not snapshot["scores"].isfinite().all()
    assert snapshot["input"]["n_not_finite"].nonzero()[:, 0].tolist() == [5, 9]
    assert snapshot["input"]["max"][0] == Rows({}).columns[0][rows[0]].max()
    torch.testing.assert_close(snapshot["state_dict"], expected.state_dict(), rtol=0, atol=0)


class BadGradient(nn.Module):
    """The identity, whose gradient is NaN from one call on."""

    def __init__(self, from_call: int) -> None:
        super().__init__()
        self.from_call = from_call
        self.calls = 0

    def forward(self, input: Tensor) -> Tensor:
        self.calls += self.training and torch.is_grad_enabled()  # not where a step is only tried
        return input * 1 if self.calls < self.from_call else _NaNBackward.apply(input)


class _NaNBackward(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, input: Tensor) -> Tensor:
        return input.clone()

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Tensor:
        return grads[0] * torch.nan


@pytest.mark.parametrize("name", ["ce", "pauci", "pauci-twice", "agd-sbcd"])
def test_a_gradient_that_is_not_finite_changes_no_weight(name: str, tmp_path: Path) -> None:
    twice = 2 if name == "pauci-twice" else 1
    expected = build(name)
    run(expected, tmp_path, Rows({}), max_steps=BAD_STEP)
    module = build(
        name, bad=BadGradient(from_call=(BAD_STEP + 1) * twice)
    )  # the last evaluation of that step
    with pytest.raises(
        NonFiniteError, match=r"the gradient is not finite for the batch of .*: lower the step sizes"
    ):
        run(module, tmp_path, Rows({}), max_steps=4)
    ours, theirs = (
        [[p.detach() for p in m.parameters()], list(m.backbone.buffers()), state(m)[1]]
        for m in (module, expected)
    )
    torch.testing.assert_close(ours, theirs, rtol=0, atol=0)


@pytest.mark.parametrize("settings", [{}, TWICE], ids=["once", "twice"])
def test_with_a_gradient_scaler_overflow_is_legal_but_a_nan_is_not(
    settings: dict[str, Any], tmp_path: Path
) -> None:
    def scaled(data: Rows, max_steps: int) -> PartialAUCModule:
        scaler = torch.amp.GradScaler("cpu", init_scale=2.0**40, growth_interval=10**6)
        module = PAUCI(
            backbone=small_net(), warmup_epochs=0, closed_form_start=False, schedule="constant", **settings
        )
        plugin = MixedPrecision("16-mixed", "cpu", scaler=scaler)
        try:
            run(module, tmp_path, data, max_steps, plugins=[plugin], max_epochs=20)
        except NonFiniteError as error:
            assert "are not finite" in str(error)  # noqa: PT017
            stopped.append(scaler.get_scale())
        return module

    stopped: list[float] = []
    healthy = scaled(Rows({}), 40)
    assert stopped == []  # 2^40 overflows, and the scaler has found its way down
    before = healthy.backbone.get_parameter("1.weight").detach()
    assert not torch.equal(before, small_net().get_parameter("1.weight"))
    module = scaled(Rows({0: float("nan")}), 40)
    assert len(stopped) == 1
    torch.testing.assert_close(module.backbone.state_dict(), small_net().state_dict(), rtol=0, atol=0)


def test_batches_without_indices_are_numbered(tmp_path: Path) -> None:
    module = CE(backbone=small_net())
    with pytest.raises(
        NonFiniteError, match=r"samples 0, 1, .*\(numbered within the batch\); the inputs of samples 5, 9"
    ):
        run(module, tmp_path, Rows(BAD, with_index=False), max_steps=4)


def test_a_snapshot_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    module = CE(backbone=small_net())
    with pytest.raises(NonFiniteError, match=r"stopped at step 2 .* no snapshot could be written \("):
        run(module, tmp_path / "file", Rows(BAD), max_steps=4)


def test_a_training_set_that_cannot_be_scored_is_named(tmp_path: Path) -> None:
    module = PAUCI(backbone=small_net(), warmup_epochs=0)
    with pytest.raises(
        InputError, match=f"The scores of samples {BAD_NAMES} of the training set are not finite"
    ):
        run(module, tmp_path, Rows(BAD), max_steps=4)


def test_finite_values_whose_sums_overflow_are_legal() -> None:
    """The cheap check is in doubt there, and the exact one decides."""
    huge = torch.full((8,), 3e38)
    sample = Sample(torch.zeros(8, 1), torch.arange(8) % 2, None)
    assert not huge.sum().isfinite()
    nonfinite.check_batch(huge, sample, None)
    assert not huge.norm().isfinite()
    nonfinite.check_evaluation(torch.tensor(1.0), huge, [huge, -huge])
    for bad in (torch.nan, torch.inf, -torch.inf):
        with pytest.raises(nonfinite.NotFinite, match="a score"):
            nonfinite.check_batch(
                torch.tensor([0.0, bad]), sample._replace(target=torch.tensor([0, 1])), None
            )
        with pytest.raises(nonfinite.NotFinite, match="the loss"):
            nonfinite.check_evaluation(torch.tensor(bad), huge, [huge])
        with pytest.raises(nonfinite.NotFinite, match="the gradient"):
            nonfinite.check_evaluation(torch.tensor(1.0), huge, [torch.zeros(2), torch.tensor([0.0, bad])])


@pytest.mark.parametrize("labels", [[0.5, 1.0], [-1.0, 2.0], [0.0, torch.nan]])
def test_labels_other_than_zero_and_one_are_refused_before_the_loss(labels: list[float]) -> None:
    sample = Sample(torch.zeros(2, 1), torch.tensor(labels), None)
    with pytest.raises(InputError, match=r"labels 0 .* and 1"):
        nonfinite.check_batch(torch.zeros(2), sample, None)


ON_RANKS = ("pauci-twice", "upauci-ascent", "sota-s")


def train_on_rank(rank: int, folder: str) -> dict[str, tuple[str, bool]]:
    """The message, and whether the state is that before the step; only rank 1 has a bad batch."""
    os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE="2", TORCHELASTIC_RUN_ID="test")
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29500", GROUP_RANK="0", LOCAL_WORLD_SIZE="2")
    results = {}
    for name in ON_RANKS:
        parallel: dict[str, Any] = {"devices": 2, "strategy": "ddp"}
        expected, module = build(name), build(name)
        run(expected, Path(folder) / name, Rows({}, seed=rank), BAD_STEP, **parallel)
        with pytest.raises(NonFiniteError) as stopped:
            run(module, Path(folder) / name, Rows(BAD if rank == 1 else {}, seed=rank), 4, **parallel)
        is_same = all(
            torch.equal(value, module.state_dict()[key]) for key, value in expected.state_dict().items()
        )
        results[name] = (str(stopped.value), is_same)
    return results


def test_all_processes_stop_together(tmp_path: Path) -> None:
    good, bad = run_on_ranks(train_on_rank, 2, str(tmp_path))
    for name in ON_RANKS:
        assert "is not finite on process 1, whose message names the samples" in good[name][0], name
        assert f"the inputs of samples {BAD_NAMES} are not finite" in bad[name][0], name
        assert good[name][1], name
        assert bad[name][1], name
        assert [path.name for path in (tmp_path / name).iterdir()] == [f"nonfinite_step{BAD_STEP}_rank1.pt"]


class Validated(Rows):
    """The same rows as validation and test parts, two batches of them."""

    def val_dataloader(self) -> DataLoader[tuple[Tensor, ...]]:
        return DataLoader(TensorDataset(*self.columns), batch_size=N // 2)

    test_dataloader = val_dataloader


@pytest.mark.parametrize(
    ("part", "with_index", "named"),
    [
        ("validation", True, f"of samples {BAD_NAMES} of"),
        ("test", True, f"of samples {BAD_NAMES} of"),
        ("validation", False, r"of samples 5, 9 \(numbered within the batch\) of"),
    ],
)
def test_evaluated_samples_without_a_finite_score_are_named(
    part: str, with_index: bool, named: str, tmp_path: Path
) -> None:
    run = trainer(tmp_path, callbacks=[])
    evaluate = run.validate if part == "validation" else run.test
    data = Validated(BAD, with_index=with_index)
    with pytest.raises(
        NonFiniteError,
        match=rf"The scores {named} the {part} part are not finite.*; the inputs of samples .* are not finite: repair",
    ):
        evaluate(build("ce"), datamodule=data, verbose=False)

    broken = build("ce")
    torch.nn.init.constant_(broken.backbone.get_parameter("5.bias"), float("nan"))
    with pytest.raises(
        NonFiniteError, match=r"of samples .*\(32 in all\).* cannot be ranked: lower the step sizes"
    ):
        evaluate(broken, datamodule=Validated({}), verbose=False)
