from __future__ import annotations

import copy
import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from lightning.pytorch import Callback, LightningDataModule
from lightning.pytorch.loggers import CSVLogger
from lightning.pytorch.plugins.precision import MixedPrecision
from methods.training import TWICE, digits, fit, small_net, trainer
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

from pauc_lightning import InputError, Region
from pauc_lightning.data import DigitsLT
from pauc_lightning.data.sample import Sample
from pauc_lightning.methods import CE, PAUCI, UPAUCI, PartialAUCModule
from pauc_lightning.methods.minimax import MinimaxMethod
from pauc_lightning.metrics.functional import binary_partial_auc


def test_cross_entropy_is_plain_sgd(tmp_path: Path) -> None:
    module = CE(backbone=small_net(), learning_rate=0.1, momentum=0.9, weight_decay=1e-3)
    fit(module, tmp_path, max_epochs=2, limit_val_batches=0)

    net = small_net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-3)
    data = digits()
    dataset, sampler = data.dataset("train"), data.batch_sampler()
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for members in sampler:
            batch = dataset.__getitems__(members)
            loss = nn.functional.binary_cross_entropy_with_logits(
                net(data.eval_transform(batch.input)).squeeze(1), batch.target.float()
            )
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    for ours, plain in zip(module.backbone.parameters(), net.parameters(), strict=True):
        torch.testing.assert_close(ours, plain, rtol=1e-5, atol=1e-7)
    assert not torch.equal(net.get_parameter("1.weight"), small_net().get_parameter("1.weight"))


class Noise(nn.Module):
    """Drops units, and remembers which."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[Tensor] = []

    def forward(self, input: Tensor) -> Tensor:
        mask = nn.functional.dropout(torch.ones_like(input), 0.5, self.training)
        if self.training:
            self.seen.append(mask)
        return input * mask


def test_both_evaluations_see_the_same_noise_and_steps_see_different_noise(tmp_path: Path) -> None:
    noise = Noise()
    module = PAUCI(backbone=small_net(noise=noise), warmup_epochs=0, descent_lr=0.5, **TWICE)
    fit(module, tmp_path, max_steps=3, limit_val_batches=0)
    assert len(noise.seen) == 6
    for step in range(3):
        assert torch.equal(noise.seen[2 * step], noise.seen[2 * step + 1])
    size = min(len(mask) for mask in noise.seen)
    assert not torch.equal(noise.seen[0][:size], noise.seen[2][:size])
    assert not torch.equal(noise.seen[2][:size], noise.seen[4][:size])


@pytest.mark.parametrize("settings", [{}, TWICE], ids=["once", "twice"])
def test_batch_norm_statistics_once_per_step(settings: dict[str, Any], tmp_path: Path) -> None:
    norm = nn.BatchNorm1d(16)
    module = PAUCI(backbone=small_net(norm=norm), warmup_epochs=1, **settings)
    fit(module, tmp_path, max_epochs=2, limit_val_batches=0)
    assert norm.num_batches_tracked is not None
    assert int(norm.num_batches_tracked) == module.trainer.global_step
    assert norm.track_running_stats
    assert float(norm.running_mean.abs().sum()) > 0  # type: ignore[union-attr]


def test_global_step_counts_batches_through_the_warm_up(tmp_path: Path) -> None:
    module = UPAUCI(backbone=small_net(), warmup_epochs=1)
    data = digits()
    fit(module, tmp_path, data, max_epochs=3, limit_val_batches=0)
    assert module.trainer.global_step == 3 * len(data.batch_sampler())


def test_variables_start_at_the_optimum_of_the_warm_up_scores(tmp_path: Path) -> None:
    starts: list[dict[str, float]] = []

    class Watched(UPAUCI):
        def initialize_objective(self, scores: Tensor, target: Tensor, index: Tensor) -> None:
            super().initialize_objective(scores, target, index)
            starts.append({name: float(value) for name, value in self.objective.variables().items()})
            assert sorted(index.tolist()) == list(range(len(scores)))

    module = Watched(
        backbone=small_net(), warmup_epochs=2, max_fpr=0.3, min_tpr=0.5, omega=0.0, schedule="constant"
    )
    data = digits()
    fit(module, tmp_path, data, max_epochs=3, limit_val_batches=0)
    assert len(starts) == 1

    warmed = CE(backbone=small_net())  # which is what the warm-up trains
    warmed.gradient_clip_norm = module.gradient_clip_norm
    fit(warmed, tmp_path / "warm", data, max_epochs=2, limit_val_batches=0)
    train = data.dataset("train").__getitems__(range(data.train_size))
    with torch.no_grad():
        scores = warmed(data.eval_transform(train.input)).sigmoid().double().numpy()
    labels = train.target.numpy()
    positives, negatives = np.sort(scores[labels == 1]), np.sort(scores[labels == 0])[::-1]
    hard_positives = positives[: int(len(positives) * 0.5)]
    hard_negatives = negatives[: int(np.floor(len(negatives) * 0.3 + 1e-9))]
    a, b = hard_positives.mean(), hard_negatives.mean()
    assert starts[0]["a"] == pytest.approx(a, abs=1e-5)
    assert starts[0]["b"] == pytest.approx(b, abs=1e-5)
    assert starts[0]["gamma"] == pytest.approx(b - a, abs=1e-5)
    last_negative = hard_negatives[-1]
    threshold = (last_negative - b) ** 2 + 2 * (1 + b - a) * last_negative
    assert starts[0]["s_neg"] == pytest.approx(threshold, abs=1e-5)


def test_the_closed_form_start_scores_images_as_they_are(tmp_path: Path) -> None:
    sizes: list[int] = []

    class Augmented(DigitsLT):
        def train_transform(self, input: Tensor) -> Tensor:
            sizes.append(len(input))
            return self.eval_transform(input) + 0.1

    data = Augmented(batch_size=64)
    module = PAUCI(backbone=small_net(), warmup_epochs=1)
    fit(module, tmp_path, data, max_epochs=2, limit_val_batches=0)
    assert len(sizes) == module.trainer.global_step  # training batches only, not those of the scoring pass
    assert max(sizes) <= 64


@pytest.mark.parametrize(("settings", "evaluations"), [({}, 3), (TWICE, 6)], ids=["once", "twice"])
def test_gradient_clipping_bounds_what_the_optimizer_sees(
    settings: dict[str, Any], evaluations: int, tmp_path: Path
) -> None:
    norms: list[float] = []

    class Watched(PAUCI):
        def on_before_optimizer_step(self, optimizer: torch.optim.Optimizer) -> None:
            super().on_before_optimizer_step(optimizer)
            grads = [p.grad for p in self.backbone.parameters() if p.grad is not None]
            norms.append(float(torch.cat([g.flatten() for g in grads]).norm()))

    free_module = Watched(backbone=small_net(), warmup_epochs=0, gradient_clip_norm=None, **settings)
    fit(free_module, tmp_path, max_steps=3, limit_val_batches=0)
    free = norms.copy()
    norms.clear()
    limit = min(free) / 2
    module = Watched(backbone=small_net(), warmup_epochs=0, gradient_clip_norm=limit, **settings)
    fit(module, tmp_path, max_steps=3, limit_val_batches=0)
    assert len(norms) == evaluations
    assert norms == pytest.approx([limit] * evaluations, rel=1e-3)

    one_step = trainer(tmp_path, max_steps=1, limit_val_batches=0)
    one_step.fit(
        PAUCI(backbone=small_net(), warmup_epochs=0, gradient_clip_norm=limit, **settings),
        datamodule=digits(),
    )
    logged = float(one_step.callback_metrics["train/gradient_norm"])
    assert logged == pytest.approx(
        free[0], rel=1e-4
    )  # before clipping; the first move is weight decay's alone


def test_cosine_takes_the_step_sizes_of_each_phase_to_zero(tmp_path: Path) -> None:
    seen: dict[str, list[list[float]]] = {"SGD": [], "ASGDA": []}

    class Watched(UPAUCI):
        def on_before_optimizer_step(self, optimizer: torch.optim.Optimizer) -> None:
            seen[type(optimizer).__name__].append([group["lr"] for group in optimizer.param_groups])

    module = Watched(
        backbone=small_net(),
        warmup_epochs=1,
        learning_rate=0.1,
        descent_lr=0.4,
        variable_lr=0.8,
        schedule="cosine",
    )
    fit(module, tmp_path, max_epochs=3, limit_train_batches=4, limit_val_batches=0)
    assert np.array(seen["SGD"]) == pytest.approx(
        0.1 * np.array([[1], [0.853553], [0.5], [0.146447]]), abs=1e-6
    )
    share = np.array([1, 0.961940, 0.853553, 0.691342, 0.5, 0.308658, 0.146447, 0.038060])
    full = np.array([0.4, 0.8, 0.05])  # the network, a, b and s', and γ at a sixteenth
    assert np.array(seen["ASGDA"]) == pytest.approx(np.outer(share, full), abs=1e-6)


def test_cosine_needs_an_end(tmp_path: Path) -> None:
    module = CE(backbone=small_net(), schedule="cosine")
    with pytest.raises(InputError, match="when training ends"):
        fit(module, tmp_path, max_epochs=-1, limit_val_batches=0)
    fit(module, tmp_path, max_epochs=-1, max_steps=2, limit_val_batches=0)
    assert module.optimizers().param_groups[0]["lr"] == pytest.approx(0.005)  # type: ignore[union-attr]
    with pytest.raises(InputError, match=r"`schedule` must be one of .* got 'linear'"):
        CE(backbone=small_net(), schedule="linear")


@pytest.mark.parametrize("method", [CE, PAUCI, UPAUCI])
def test_bfloat16_trains(method: type[PartialAUCModule], tmp_path: Path) -> None:
    module = method(backbone=small_net(), warmup_epochs=1, learning_rate=0.05)
    fit(module, tmp_path, max_epochs=3, precision="bf16-mixed")
    before, after = small_net().get_parameter("1.weight"), module.backbone.get_parameter("1.weight")
    assert torch.isfinite(after).all()
    assert not torch.equal(before, after)


def test_both_evaluations_cast_the_weights_of_the_moment(tmp_path: Path) -> None:
    """Autocast may remember the casts of a region; Lightning before 2.5.5 makes the whole training step one."""
    norms: list[float] = []

    class Watched(PAUCI):
        def on_before_optimizer_step(self, optimizer: torch.optim.Optimizer) -> None:
            norms.append(float(torch.cat([p.grad.flatten() for p in self.backbone.parameters()]).norm()))  # type: ignore[union-attr]

    module = Watched(backbone=small_net(), warmup_epochs=0, variable_lr=0.0, ascent_lr=0.0, **TWICE)
    with torch.autocast("cpu", torch.bfloat16, cache_enabled=True):
        fit(module, tmp_path, max_steps=3, limit_val_batches=0)
    assert norms[2] != norms[3]  # only the weights have moved in between
    assert norms[4] != norms[5]


@pytest.mark.parametrize("settings", [{}, TWICE], ids=["once", "twice"])
def test_float16_with_a_scaler_follows_float32_and_skips_overflow(
    settings: dict[str, Any], tmp_path: Path
) -> None:
    reference = PAUCI(backbone=small_net(), warmup_epochs=0, descent_lr=0.5, **settings)
    fit(reference, tmp_path, max_steps=5, limit_val_batches=0)  # later, rounding decides which units are on
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**40, growth_interval=10**6)
    module = PAUCI(backbone=small_net(), warmup_epochs=0, descent_lr=0.5, **settings)
    plugin = MixedPrecision("16-mixed", "cpu", scaler)
    fit(module, tmp_path, max_steps=40, limit_val_batches=0, plugins=[plugin])
    assert scaler.get_scale() < 2.0**40  # the first scales overflow half precision; those steps are skipped
    asgda = module.optimizers().optimizer  # type: ignore[union-attr]
    assert 0 < asgda.param_groups[0]["t"] < 40
    for p in module.parameters():
        assert torch.isfinite(p).all()

    fine = PAUCI(backbone=small_net(), warmup_epochs=0, descent_lr=0.5, **settings)
    plugin = MixedPrecision("16-mixed", "cpu", torch.amp.GradScaler("cpu", init_scale=2.0**6))
    fit(fine, tmp_path, max_steps=5, limit_val_batches=0, plugins=[plugin])
    start = small_net().get_parameter("1.weight")
    moved = (reference.backbone.get_parameter("1.weight") - start).norm()
    apart = (reference.backbone.get_parameter("1.weight") - fine.backbone.get_parameter("1.weight")).norm()
    assert float(moved) > 0
    assert float(apart) < 0.02 * float(moved)


def test_validation_reports_what_the_function_says(tmp_path: Path) -> None:
    module = CE(backbone=small_net(), max_fpr=0.2, min_tpr=0.5, regions=[Region(max_fpr=0.4)])
    data = digits(eval_batch_size=37)
    fit(module, tmp_path, data, max_epochs=2)
    part = data.dataset("val").__getitems__(range(len(data.split.val)))
    with torch.no_grad():
        scores = module(data.eval_transform(part.input)).double()
    logged = dict(module.trainer.callback_metrics)
    module.load_backbone(str(tmp_path / "last.ckpt"))  # regions are objects, yet the checkpoint loads
    assert set(logged) >= {"val/auc", "val/pauc", "val/tpauc_fpr0.2_tpr0.5", "val/opauc_fpr0.4"}
    for name, bounds in (("val/pauc", (0.2, 0.5)), ("val/auc", (1.0, 0.0)), ("val/opauc_fpr0.4", (0.4, 0.0))):
        expected = binary_partial_auc(scores, part.target, *bounds)
        assert float(logged[name]) == pytest.approx(float(expected), abs=1e-6)


class TupleData(LightningDataModule):
    """A user's data module: no indices, no prior, plain tuples."""

    def __init__(self, *columns: Tensor) -> None:
        super().__init__()
        self.columns = columns

    def train_dataloader(self) -> DataLoader[Any]:
        return DataLoader(TensorDataset(*self.columns), batch_size=16)

    val_dataloader = train_dataloader


def pixels(n: int = 64) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    return torch.randn(n, 1, 8, 8, generator=generator), (torch.arange(n) % 4 == 0).long()


@pytest.mark.parametrize("method", [CE, PAUCI, UPAUCI])
def test_users_own_batches_without_indices(method: type[PartialAUCModule], tmp_path: Path) -> None:
    module = method(backbone=small_net(), warmup_epochs=1)
    fit(module, tmp_path, TupleData(*pixels()), max_epochs=3)
    assert torch.isfinite(module.trainer.callback_metrics["val/pauc"])


def test_only_stored_weights_ask_for_indices(tmp_path: Path) -> None:
    module = UPAUCI(backbone=small_net(), warmup_epochs=0, weights="ascent", train_size=64)
    with pytest.raises(InputError, match=r"return \(input, label, index\)"):
        fit(module, tmp_path, TupleData(*pixels()), max_epochs=1)


def test_wrong_labels_are_named(tmp_path: Path) -> None:
    inputs, labels = pixels()
    with pytest.raises(
        InputError, match=r"labels 0 \(negative\) and 1 \(positive\), got values such as \[-1.0\]"
    ):
        fit(CE(backbone=small_net()), tmp_path, TupleData(inputs, labels * 2 - 1), max_epochs=1)

    late = labels.clone()
    late[-1] = 2  # not in the first batch
    with pytest.raises(InputError, match=r"got values such as \[2.0\]"):
        fit(CE(backbone=small_net()), tmp_path, TupleData(inputs, late), max_epochs=1, limit_val_batches=0)
    with pytest.raises(InputError, match=r"one label per input, got labels of shape \(16, 1\)"):
        fit(CE(backbone=small_net()), tmp_path, TupleData(inputs, labels[:, None]), max_epochs=1)


def test_wrong_batches_are_named(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"The input of a batch must be a tensor, got list: .* one loader, not several"
    ):
        Sample.from_batch([list(pixels()), list(pixels())])  # what a list of two loaders yields
    with pytest.raises(InputError, match="A batch must be"):
        fit(CE(backbone=small_net()), tmp_path, TupleData(*pixels(), *pixels()), max_epochs=1)


def test_backbone_starts_from_a_checkpoint(tmp_path: Path) -> None:
    first = CE(backbone=small_net())
    fit(first, tmp_path, max_epochs=1, limit_val_batches=0)
    path = tmp_path / "last.ckpt"
    second = UPAUCI(backbone=small_net(seed=1), init_weights=str(path), warmup_epochs=0, descent_lr=0.0)
    fit(second, tmp_path / "second", max_steps=2, limit_val_batches=0)
    for ours, theirs in zip(second.backbone.parameters(), first.backbone.parameters(), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize("how", ["the same module", "a loaded module"])
def test_testing_does_not_load_the_initial_weights_again(how: str, tmp_path: Path) -> None:
    fit(CE(backbone=small_net()), tmp_path / "warm", max_epochs=1)
    module = CE(backbone=small_net(1), learning_rate=0.1, init_weights=str(tmp_path / "warm" / "last.ckpt"))
    fit(module, tmp_path / "run", max_epochs=2)
    trained = copy.deepcopy(module.backbone.state_dict())
    if how == "a loaded module":
        module = CE.load_from_checkpoint(tmp_path / "run" / "last.ckpt", backbone=small_net(2))
        assert module.init_weights is not None
    trainer(tmp_path / "test").test(module, digits(), verbose=False)
    torch.testing.assert_close(module.backbone.state_dict(), trained, rtol=0, atol=0)


@pytest.mark.parametrize("norm", [0, -1.0, float("nan")])
def test_clip_norms_that_are_not_positive_are_refused(norm: float) -> None:
    with pytest.raises(
        InputError, match=r"`gradient_clip_norm` must be a finite number above 0, got .*: write null"
    ):
        UPAUCI(backbone=small_net(), gradient_clip_norm=norm)


def test_every_variable_is_logged(tmp_path: Path) -> None:
    module = UPAUCI(backbone=small_net(), warmup_epochs=1, max_fpr=0.3, min_tpr=0.5, constraint="lagrangian")
    fit(module, tmp_path, max_epochs=2, limit_val_batches=0)
    names = {"a", "b", "gamma", "s_neg", "s_pos", "theta_a", "theta_b", "loss", "c_neg_median", "c_pos_mean"}
    assert {f"train/{name}" for name in names} <= set(module.trainer.logged_metrics)


class Losses(Callback):
    """Writes down the loss of every step, as callbacks get it."""

    def __init__(self) -> None:
        self.seen: list[float] = []

    def on_train_batch_end(
        self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        assert outputs["scores"].shape == outputs["target"].shape
        self.seen.append(float(outputs["loss"]))


def test_the_loss_is_logged_when_loggers_write_and_shown_at_the_ends_of_an_epoch(tmp_path: Path) -> None:
    losses, logger = Losses(), CSVLogger(tmp_path)
    module = UPAUCI(backbone=small_net(), warmup_epochs=1)
    settings: dict[str, Any] = {
        "log_every_n_steps": 4,
        "logger": logger,
        "callbacks": [losses],
        "limit_val_batches": 0,
    }
    fit(module, tmp_path, max_epochs=2, enable_checkpointing=False, **settings)
    with open(Path(logger.log_dir) / "metrics.csv", newline="") as file:
        rows = {int(row["step"]): row for row in csv.DictReader(file)}
    assert list(rows) == [3, 7, 11, 15, 19]  # steps are counted from 0
    for step, row in rows.items():
        assert float(row["train/loss"]) == pytest.approx(losses.seen[step], rel=1e-6)
        assert (row["train/gamma"] != "") == (step >= 10)  # the warm-up has ten steps
    assert len(losses.seen) == 20
    assert float(module.trainer.callback_metrics["train/loss"]) == pytest.approx(losses.seen[-1], rel=1e-6)


@pytest.mark.parametrize("method", [PAUCI, UPAUCI])
def test_weight_decay_pulls_on_the_backbone_alone(method: type[MinimaxMethod], tmp_path: Path) -> None:
    """ASGDA's estimators start at 0, so the first move is the decay's: x ← x (1 − η·lr·decay), η = k/m^⅓."""
    module = method(
        backbone=small_net(),
        warmup_epochs=0,
        weight_decay=0.25,
        descent_lr=0.4,
        k=1.0,
        m=8.0,
        closed_form_start=False,
    )
    start = {name: float(value) for name, value in module.objective.variables().items()}
    fit(module, tmp_path, max_steps=1, limit_val_batches=0)
    for ours, initial in zip(module.backbone.parameters(), small_net().parameters(), strict=True):
        torch.testing.assert_close(ours, initial * (1 - 0.5 * 0.4 * 0.25))
    assert {name: float(value) for name, value in module.objective.variables().items()} == start


def test_batch_norm_statistics_are_those_of_the_last_evaluation(tmp_path: Path) -> None:
    """Of the two in a step it is the one at the point where the step ends."""
    means: list[Tensor] = []
    norm = nn.BatchNorm1d(16, momentum=0.5)
    norm.register_forward_pre_hook(lambda _, inputs: means.append(inputs[0].detach().mean(dim=0)))
    module = PAUCI(
        backbone=small_net(norm=norm),
        warmup_epochs=0,
        closed_form_start=False,
        descent_lr=0.5,
        weight_decay=0.1,
        **TWICE,
    )
    fit(module, tmp_path, max_steps=2, limit_val_batches=0)
    scored = means[:-4]  # the pass over the training set before the first step
    assert len(means) == len(scored) + 4
    first, second = (0.25 * means[-4 + i] + 0.5 * means[-2 + i] for i in (0, 1))
    torch.testing.assert_close(norm.running_mean, second)
    assert float((first - second).abs().max()) > 1e-3


def test_dropout_noise_depends_on_the_seed_of_the_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def masks(seed: int) -> list[Tensor]:
        monkeypatch.setenv("PL_GLOBAL_SEED", str(seed))
        noise = Noise()
        fit(CE(backbone=small_net(noise=noise)), tmp_path, max_steps=2, limit_val_batches=0)
        return noise.seen

    first, again, other = masks(1), masks(1), masks(2)
    for step in range(2):
        assert torch.equal(first[step], again[step])
        assert not torch.equal(first[step], other[step])
