"""The region's risk for any surrogate: brute force over pairs, the minimum over the threshold, gradients, ranks."""

from __future__ import annotations

import copy
import itertools
from typing import Any

import numpy as np
import pytest
import torch
from ddp import run_on_ranks
from torch import Tensor, nn

from pauc_lightning.errors import InputError
from pauc_lightning.objectives import HardCELoss, MBLoss, PartialAUCLoss, SOPALoss
from pauc_lightning.objectives.pairwise import weighted_row_means
from pauc_lightning.objectives.sopa import weigh_above
from pauc_lightning.objectives.surrogate import SURROGATES, AnySurrogateName
from pauc_lightning.region import Region

NAMES: list[AnySurrogateName] = [*SURROGATES]
REGIONS = [
    Region(),
    Region(max_fpr=0.25),
    Region(max_fpr=0.5, min_tpr=0.5),
    Region(max_fpr=0.75, min_fpr=0.25),
    Region(max_fpr=0.75, min_fpr=0.5, min_tpr=0.75),
    Region(max_fpr=1.0, min_fpr=0.25, min_tpr=0.25),
]


def build(region: Region, surrogate: AnySurrogateName = "logistic", **settings: Any) -> PartialAUCLoss:
    loss = PartialAUCLoss(
        region.max_fpr, region.min_tpr, min_fpr=region.min_fpr, surrogate=surrogate, **settings
    )
    return loss.double()


def batch(
    surrogate: AnySurrogateName, n_pos: int = 12, n_neg: int = 16, seed: int = 0, ties: bool = False
) -> tuple[Tensor, Tensor]:
    """Overlapping classes; with ``ties`` few different scores. In [0, 1] for the squared loss."""
    generator = torch.Generator().manual_seed(seed)
    target = torch.cat([torch.ones(n_pos), torch.zeros(n_neg)])
    target = target[torch.randperm(n_pos + n_neg, generator=generator)]
    scores = torch.randn(n_pos + n_neg, generator=generator, dtype=torch.float64) + 0.5 * target
    scores = scores.round() if ties else scores
    return scores.sigmoid() if surrogate == "squared" else scores, target


def brute_force(scores: Tensor, target: Tensor, region: Region, surrogate: AnySurrogateName) -> float:
    """The mean over the region's pairs, one by one; the last instance counts in part if a bound is no whole number."""

    def weights(n: int, start: float, end: float) -> list[float]:
        return [max(0.0, min(i + 1, end * n) - max(i, start * n)) for i in range(n)]

    f_pos = sorted(scores[target == 1].tolist())
    f_neg = sorted(scores[target == 0].tolist(), reverse=True)
    w_pos = weights(len(f_pos), 0, region.alpha)
    w_neg = weights(len(f_neg), region.min_fpr, region.max_fpr)
    total = 0.0
    for (f, w), (g, v) in itertools.product(zip(f_pos, w_pos, strict=True), zip(f_neg, w_neg, strict=True)):
        s = f - g
        total += (
            w
            * v
            * {
                "squared": (1 - s) ** 2,
                "squared_hinge": max(0.0, 1 - s) ** 2,
                "hinge": max(0.0, 1 - s),
                "logistic": float(np.log1p(np.exp(-s))),
                "exponential": float(np.exp(-s)),
                "sigmoid": float(1 / (1 + np.exp(s))),
            }[surrogate]
        )
    risk = total / sum(w_pos) / sum(w_neg)
    return float(np.log(risk)) if surrogate == "exponential" else risk


# ---------------------------------------------------------------------------------------- the risk


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("region", REGIONS, ids=lambda region: region.name)
@pytest.mark.parametrize("name", NAMES)
def test_at_the_quantiles_it_is_the_risk_of_the_regions_pairs(
    name: AnySurrogateName, region: Region, ties: bool
) -> None:
    """At thresholds set from the batch, and in eval() mode without any."""
    loss = build(region, name)
    scores, target = batch(name, ties=ties)
    expected = brute_force(scores, target, region, name)
    assert copy.deepcopy(loss).eval()(scores, target).item() == pytest.approx(expected, abs=1e-10)
    loss.initialize_(scores, target)
    assert loss(scores, target).item() == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize("name", NAMES)
def test_bounds_that_are_no_whole_number_of_instances(name: AnySurrogateName) -> None:
    """In train() mode the last instance counts in part; in eval() mode the whole instances count, as in the metric."""
    for region in (Region(max_fpr=0.3), Region(max_fpr=0.33, min_tpr=0.4), Region(max_fpr=0.03)):
        loss = build(region, name)
        scores, target = batch(name, n_pos=7, n_neg=11)
        loss.initialize_(scores, target)
        expected = brute_force(scores, target, region, name)
        assert loss(scores, target).item() == pytest.approx(expected, abs=1e-10)
        if name in ("squared", "logistic"):
            own = MBLoss(region.max_fpr, region.min_tpr, surrogate=name)(scores, target)
            assert loss.eval()(scores, target).item() == pytest.approx(own.item(), abs=1e-12)


@pytest.mark.parametrize("region", [Region(max_fpr=0.25), Region(max_fpr=0.5, min_tpr=0.5)])
@pytest.mark.parametrize("name", NAMES)
def test_no_other_threshold_is_better(name: AnySurrogateName, region: Region) -> None:
    """R(t), by its formula in numpy, at the tracked thresholds and on a grid; the loss is R(t) at each of them.

    With a bounded surrogate and too low a threshold the outer mean is over other positives than the hardest ones, so
    there the two-way loss may differ from the formula; it is never below the region's risk.
    """
    loss = build(region, name)
    scores, target = batch(name)
    loss.initialize_(scores, target)
    z, w = scores[target == 1].numpy(), scores[target == 0].numpy()
    ell = SURROGATES[name].value

    def inner(p: np.ndarray, t: float) -> np.ndarray:
        table = ell(torch.from_numpy(p)[:, None] - torch.from_numpy(w)).numpy()
        at_t = ell(torch.from_numpy(p) - t).numpy()
        result: np.ndarray = at_t + np.maximum(0, table - at_t[:, None]).mean(1) / region.max_fpr
        return result

    def formula(t: float, u: float) -> float:
        if not region.is_two_way:
            return float(inner(z, t).mean())
        outer = inner(np.array([u]), t)[0]
        return float(outer + np.maximum(0, inner(z, t) - outer).mean() / region.alpha)

    best = brute_force(scores, target, region, name)
    best = float(np.exp(best)) if name == "exponential" else best
    at_max_fpr, at_min_tpr = loss.selection.at_max_fpr, loss.selection.at_min_tpr
    assert at_max_fpr is not None
    u0 = 0.0 if at_min_tpr is None else at_min_tpr.value.item()
    assert formula(at_max_fpr.value.item(), u0) == pytest.approx(best, abs=1e-10)
    grid = np.linspace(min(z.min(), w.min()), max(z.max(), w.max()), 41 if not region.is_two_way else 13)
    smallest = np.inf
    for t, u in itertools.product(grid, grid if region.is_two_way else [0.0]):
        value = formula(t, u)
        assert value >= best - 1e-12
        smallest = min(smallest, value)
        at_max_fpr.value.fill_(t)
        if at_min_tpr is not None:
            at_min_tpr.value.fill_(u)
        got = copy.deepcopy(loss)(scores, target).item()
        got = float(np.exp(got)) if name == "exponential" else got
        if not (name == "sigmoid" and region.is_two_way):
            assert got == pytest.approx(value, abs=1e-10)
    assert smallest < best * 1.1


def test_the_thresholds_of_sopa_are_losses_at_the_shared_one() -> None:
    """With s_i = ℓ(z_i − t), SOPA selects the same pairs, and its minimum over each s_i is ours over t."""
    scores, target = batch("logistic")
    loss = build(Region(max_fpr=0.25))
    loss.initialize_(scores, target)
    assert loss.selection.at_max_fpr is not None
    sopa = SOPALoss(0.25, train_size=28, surrogate="logistic").double()
    ell = SURROGATES["logistic"].value
    s = ell(scores - loss.selection.at_max_fpr.value)
    sopa.s.copy_(s)
    f_ours, f_theirs = scores.clone().requires_grad_(), scores.clone().requires_grad_()
    ours, theirs = loss(f_ours, target), sopa(f_theirs, target, torch.arange(28))
    assert ours.item() == pytest.approx(theirs.item(), abs=1e-12)
    torch.testing.assert_close(torch.autograd.grad(ours, f_ours), torch.autograd.grad(theirs, f_theirs))
    _, selected = weighted_row_means(
        scores[target == 1], scores[target == 0], SURROGATES["logistic"], weigh_above(s[target == 1])
    )
    assert selected.tolist() == [0.25] * 12
    torch.testing.assert_close(sopa.s, s)  # it does not want to move


# ---------------------------------------------------------------------------------------- the gradient


@pytest.mark.parametrize("region", REGIONS, ids=lambda region: region.name)
@pytest.mark.parametrize("name", NAMES)
def test_gradient(name: AnySurrogateName, region: Region) -> None:
    """At thresholds of another batch, so that the remainders count."""
    loss = build(region, name)
    loss.initialize_(*batch(name, seed=1))
    scores, target = batch(name)

    def value(f: Tensor) -> Tensor:
        result: Tensor = copy.deepcopy(loss)(f, target)
        return result

    assert torch.autograd.gradcheck(value, scores.requires_grad_())
    assert torch.autograd.gradcheck(copy.deepcopy(loss).eval(), (scores, target))


@pytest.mark.parametrize("name", ["logistic", "squared", "squared_hinge"])
@pytest.mark.parametrize("region", [Region(max_fpr=0.1), Region(max_fpr=0.2, min_tpr=0.6)])
def test_batches_are_unbiased_at_fixed_thresholds(name: AnySurrogateName, region: Region) -> None:
    """The mean loss and gradient of many small batches are those of all data; the batch's own region is biased."""
    scores, target = batch(name, n_pos=300, n_neg=1000)
    loss = build(region, name)
    loss.initialize_(scores, target)
    f = scores.clone().requires_grad_()
    whole = copy.deepcopy(loss)(f, target)
    (gradient,) = torch.autograd.grad(whole, f)
    pos, neg = (target == 1).nonzero()[:, 0], (target == 0).nonzero()[:, 0]
    generator = torch.Generator().manual_seed(0)
    total, own, values = torch.zeros_like(scores), [], []
    state = copy.deepcopy(loss.state_dict())
    for _ in range(800):
        rows = torch.cat(
            [
                pos[torch.randint(len(pos), (4,), generator=generator)],
                neg[torch.randint(len(neg), (8,), generator=generator)],
            ]
        )
        loss.load_state_dict(state)
        g = scores[rows].requires_grad_()
        value = loss(g, target[rows])
        values.append(value.item())
        total.index_add_(0, rows, torch.autograd.grad(value, g)[0] / 800)
        own.append(
            MBLoss(region.max_fpr, region.min_tpr, surrogate="logistic")(scores[rows], target[rows]).item()
        )
    error = np.std(values) / np.sqrt(800)
    assert abs(np.mean(values) - whole.item()) < 4 * error
    direction = (
        scores - scores.mean()
    )  # one number for the whole gradient: its slope along the scores themselves
    assert float(total @ direction) == pytest.approx(float(gradient @ direction), rel=0.15)
    if name == "logistic" and not region.is_two_way:  # two-way, the errors of both selections nearly cancel
        assert abs(np.mean(own) - whole.item()) > 4 * np.std(own) / np.sqrt(800)


# ---------------------------------------------------------------------------------------- any batch


LOSSES: list[tuple[str, dict[str, Any]]] = [
    *[("PartialAUCLoss", {"max_fpr": 0.3, "surrogate": name}) for name in NAMES if name != "squared"],
    *[
        ("PartialAUCLoss", {"max_fpr": 0.5, "min_tpr": 0.5, "surrogate": name})
        for name in NAMES
        if name != "squared"
    ],
    *[
        ("PartialAUCLoss", {"max_fpr": 0.5, "min_fpr": 0.2, "surrogate": name})
        for name in NAMES
        if name != "squared"
    ],
    ("HardCELoss", {"max_fpr": 0.3}),
    ("HardCELoss", {"max_fpr": 0.5, "min_tpr": 0.5, "min_fpr": 0.2}),
]


def make(name: str, settings: dict[str, Any]) -> PartialAUCLoss | HardCELoss:
    loss: PartialAUCLoss | HardCELoss = {"PartialAUCLoss": PartialAUCLoss, "HardCELoss": HardCELoss}[name](
        **settings
    )
    return loss


@pytest.mark.parametrize(("name", "settings"), LOSSES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_logits_of_any_size_give_finite_numbers(
    name: str, settings: dict[str, Any], dtype: torch.dtype
) -> None:
    loss = make(name, settings)
    extremes = torch.tensor([-1e4, -88.0, -17.0, 0.0, 0.5, 17.0, 88.0, 1e4])
    target = torch.cat([torch.ones(8), torch.zeros(8)])
    for mode in (True, True, True, False):
        loss.train(mode)
        logits = torch.cat([extremes, extremes]).to(dtype).requires_grad_()
        value = loss(logits, target)
        value.backward()
        assert value.isfinite()
        assert logits.grad is not None
        assert logits.grad.isfinite().all()
        assert logits.grad.any()
    assert all(state.isfinite().all() for state in loss.state_dict().values())


@pytest.mark.parametrize(("name", "settings"), LOSSES)
def test_batches_of_one_class(name: str, settings: dict[str, Any]) -> None:
    """Loss and gradient are 0, also as the first batch; the thresholds of the class move, the other's do not."""
    loss = make(name, settings)
    for seed, label in enumerate((0, 1, 0, 1)):
        before = copy.deepcopy(loss.state_dict())
        logits = torch.randn(9, generator=torch.Generator().manual_seed(seed)).requires_grad_()
        value = loss(logits, torch.full((9,), label))
        value.backward()
        assert value.item() == 0
        assert logits.grad is not None
        assert not logits.grad.any()
        for key, state in loss.state_dict().items():
            assert bool(state != before[key]) == (("tpr" in key) == (label == 1)), key
    empty = torch.empty(0, requires_grad=True)
    loss(empty, torch.empty(0)).backward()


@pytest.mark.parametrize(("name", "settings"), LOSSES)
def test_a_visit_in_train_mode_only(name: str, settings: dict[str, Any]) -> None:
    loss = make(name, settings)
    scores, target = batch("logistic")
    loss(scores.float(), target)
    before = copy.deepcopy(loss.state_dict())
    assert loss.eval()(scores.float(), target).isfinite()
    torch.testing.assert_close(loss.state_dict(), before, rtol=0, atol=0)
    with torch.no_grad():
        loss.train()(scores.float() + 1, target)
    assert all(value != before[key] for key, value in loss.state_dict().items())
    before = copy.deepcopy(loss.state_dict())
    scores[3] = torch.nan
    with pytest.raises(InputError, match="`scores` must be finite"):
        loss(scores.float(), target)
    torch.testing.assert_close(loss.state_dict(), before, rtol=0, atol=0)


@pytest.mark.parametrize(("name", "settings"), LOSSES)
def test_the_state_is_saved_and_restored(name: str, settings: dict[str, Any]) -> None:
    first, second = make(name, settings), make(name, settings)
    for seed in range(6):
        scores, target = (x.float() for x in batch("logistic", seed=seed))
        value = first(scores, target)
        if seed >= 3:
            assert second(scores, target).item() == value.item()
        if seed == 2:
            second.load_state_dict(copy.deepcopy(first.state_dict()))
    assert first.state_dict().keys() == second.state_dict().keys()
    assert all(torch.equal(value, second.state_dict()[key]) for key, value in first.state_dict().items())
    bounds = [bound in settings and 0 < settings[bound] < 1 for bound in ("max_fpr", "min_fpr", "min_tpr")]
    assert len(first.state_dict()) == 2 * sum(bounds)
    assert not [*first.parameters()]


def test_settings_that_do_not_fit() -> None:
    with pytest.raises(InputError, match=r"needs scores in \[0, 1\], got score='logit'.*squared_hinge"):
        PartialAUCLoss(0.1, surrogate="squared", score="logit")
    with pytest.raises(InputError, match="`score` must be one of logit, sigmoid, got 'probability'"):
        PartialAUCLoss(0.1, score="probability")  # type: ignore[arg-type]
    with pytest.raises(
        InputError, match="`surrogate` must be one of squared, squared_hinge, hinge, logistic"
    ):
        PartialAUCLoss(0.1, surrogate="cubic")  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"`scores` must be in \[0, 1\]"):
        PartialAUCLoss(0.1, score="sigmoid")(torch.tensor([2.0, 0.0]), torch.tensor([1, 0]))
    assert [PartialAUCLoss(0.1, surrogate=name).takes for name in ("squared", "hinge")] == [
        "scores",
        "logits",
    ]
    assert PartialAUCLoss(0.1, score="sigmoid").takes == "scores"


# ---------------------------------------------------------------------------------------- ranks


def train_on_shards(rank: int, world_size: int) -> list[dict[str, Tensor]]:
    """Twelve steps of a linear model for each loss; ranks have 3/4 and 1/4 of each batch, some with one class only."""
    results = []
    for name, settings in LOSSES:
        torch.manual_seed(0)
        net = nn.Linear(3, 1).double()
        loss = make(name, settings).double()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for seed in range(12):
            generator = torch.Generator().manual_seed(seed)
            x = torch.randn(24, 3, generator=generator, dtype=torch.float64)
            y = (torch.arange(24) % (2 if seed % 3 else 24) == 0).long()
            shard = slice(None) if world_size == 1 else (slice(0, 18), slice(18, 24))[rank]
            optimizer.zero_grad()
            loss(net(x[shard]).squeeze(1), y[shard]).backward()
            for parameter in net.parameters():
                assert parameter.grad is not None
                if world_size > 1:
                    torch.distributed.all_reduce(parameter.grad)
                    parameter.grad /= world_size
            optimizer.step()
        results.append({**net.state_dict(), **loss.state_dict()})
    return results


def test_two_processes_equal_one() -> None:
    alone = train_on_shards(0, 1)
    first, second = run_on_ranks(train_on_shards, 2, 2)
    for one, left, right in zip(alone, first, second, strict=True):
        torch.testing.assert_close(left, right, rtol=0, atol=0)
        torch.testing.assert_close(left, one, rtol=1e-9, atol=1e-12)
