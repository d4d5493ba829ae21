"""SOPA-S and SOTA-s: against the formulas with plain exponentials, against LibAUC, and beyond overflow."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import pytest
import torch
from torch import Tensor

from pauc_lightning.errors import InputError
from pauc_lightning.objectives.sopa_s import SOPASLoss

Batch = tuple[Tensor, Tensor, Tensor]
TRAIN_SIZE = 24


def random_batches(n_batches: int) -> list[Batch]:
    """Batches of distinct samples, the first half of the training set being positive."""
    generator = torch.Generator().manual_seed(2)
    batches = []
    for _ in range(n_batches):
        index = torch.randperm(TRAIN_SIZE, generator=generator)[: TRAIN_SIZE // 2]
        scores = torch.rand(len(index), generator=generator, dtype=torch.float64)
        batches.append((scores, (index < TRAIN_SIZE // 2).long(), index))
    return batches


def test_golden_first_and_second_visit() -> None:
    """One positive, ℓ = [.25, 1] then [1, 1]; λ = 1/2, β₀ = 1/4."""
    objective = SOPASLoss(train_size=2, lambda_=0.5, u_rate=0.25).double()
    target, index = torch.tensor([1, 0, 0]), torch.tensor([1, 0, 0])
    scores = torch.tensor([0.5, 0.0, 0.5], dtype=torch.float64, requires_grad=True)
    loss = objective(scores, target, index)
    loss.backward()
    u = (math.exp(0.5) + math.exp(2)) / 2
    p = math.exp(0.5) / u, math.exp(2) / u
    assert objective.log_u.tolist() == pytest.approx([-math.inf, math.log(u)])
    assert loss.item() == pytest.approx((p[0] * 0.25 + p[1]) / 2)
    assert scores.grad is not None
    # ℓ' = 2(s − 1) is −1 at s = .5 and −2 at s = 0
    assert scores.grad.tolist() == pytest.approx([-(p[0] + 2 * p[1]) / 2, p[0] / 2, p[1]])

    loss = objective(torch.tensor([0.5, 0.5, 0.5], dtype=torch.float64), target, index)
    u = 0.75 * u + 0.25 * math.exp(2)
    assert objective.log_u[1].item() == pytest.approx(math.log(u))
    assert loss.item() == pytest.approx(math.exp(2) / u)


def test_golden_duplicated_index() -> None:
    """Sample 0 twice with ℓ = .25 and 1: two steps of rate 1/4 towards the mean exponential."""
    objective = SOPASLoss(train_size=2, lambda_=0.5, u_rate=0.25).double()
    objective.log_u[0] = math.log(2.0)
    scores, target = torch.tensor([0.5, 0.0, 0.0], dtype=torch.float64), torch.tensor([1, 1, 0])
    loss = objective(scores, target, torch.tensor([0, 0, 1]))
    mean = (math.exp(0.5) + math.exp(2)) / 2
    u = 0.75 * (0.75 * 2.0 + 0.25 * mean) + 0.25 * mean
    assert objective.log_u.tolist() == pytest.approx([math.log(u), -math.inf])
    assert loss.item() == pytest.approx((math.exp(0.5) * 0.25 + math.exp(2)) / u / 2)


def two_way_in_numpy(
    batches: list[Batch], lam: float, tau: float, u_rate: float, w_rate: float
) -> tuple[list[float], list[npt.NDArray[np.float64]], npt.NDArray[np.float64], float]:
    """SOTA-s with plain exponentials and loops, first visits starting u_i and w at what they see."""
    u, w = np.full(TRAIN_SIZE, np.nan), np.nan
    losses, gradients = [], []
    for scores, target, index in batches:
        f, pos, neg = scores.numpy(), np.flatnonzero(target.numpy()), np.flatnonzero(1 - target.numpy())
        for i in pos:
            mean = np.mean([np.exp((1 - f[i] + f[j]) ** 2 / lam) for j in neg])
            k = index[i]
            u[k] = mean if np.isnan(u[k]) else (1 - u_rate) * u[k] + u_rate * mean
        power = np.mean([u[index[i]] ** (lam / tau) for i in pos])
        w = power if np.isnan(w) else (1 - w_rate) * w + w_rate * power
        loss, gradient = 0.0, np.zeros(len(f))
        for i in pos:
            for j in neg:
                gap = 1 - f[i] + f[j]
                p = u[index[i]] ** (lam / tau - 1) * np.exp(gap**2 / lam) / w / (len(pos) * len(neg))
                loss += p * gap**2
                gradient[i] -= 2 * p * gap
                gradient[j] += 2 * p * gap
        losses.append(loss)
        gradients.append(gradient)
    return losses, gradients, u, float(w)


@pytest.mark.parametrize(("lam", "tau"), [(0.7, 1.3), (2.0, 0.5)])
def test_two_way_steps_against_numpy(lam: float, tau: float) -> None:
    batches = random_batches(5)
    objective = SOPASLoss(
        min_tpr=0.5, train_size=TRAIN_SIZE, lambda_=lam, tau=tau, u_rate=0.6, w_rate=0.8
    ).double()
    losses, gradients, u, w = two_way_in_numpy(batches, lam, tau, 0.6, 0.8)
    for (scores, target, index), loss_value, gradient in zip(batches, losses, gradients, strict=True):
        scores.requires_grad_()
        loss = objective(scores, target, index)
        loss.backward()
        assert scores.grad is not None
        assert loss.item() == pytest.approx(loss_value, rel=1e-9)
        np.testing.assert_allclose(scores.grad.numpy(), gradient, rtol=1e-9)
    visited = ~np.isnan(u)
    np.testing.assert_allclose(objective.log_u.exp().numpy()[visited], u[visited], rtol=1e-9)
    assert torch.isneginf(objective.log_u[~torch.tensor(visited)]).all()
    assert objective.log_w.exp().item() == pytest.approx(w, rel=1e-9)


@pytest.mark.parametrize("two_way", [False, True])
def test_agrees_with_libauc(two_way: bool) -> None:
    """Its averages start at 0 instead of the first value; given ours as a start, every step agrees."""
    losses = pytest.importorskip("libauc.losses.auc")
    ours = SOPASLoss(
        min_tpr=0.5 * two_way, train_size=TRAIN_SIZE, lambda_=0.5, tau=0.8, u_rate=0.6, w_rate=0.7
    )
    if two_way:
        theirs = losses.tpAUC_KL_Loss(
            TRAIN_SIZE, tau=0.8, Lambda=0.5, gammas=(0.6, 0.7), surr_loss="squared", device="cpu"
        )
    else:
        theirs = losses.pAUC_DRO_Loss(TRAIN_SIZE, gamma=0.6, Lambda=0.5, surr_loss="squared", device="cpu")
    for scores, target, index in random_batches(6):
        f, h = scores.float().requires_grad_(), scores.float().requires_grad_()
        first_visit = index[torch.isneginf(ours.log_u[index]) & (target == 1)]
        was_started = two_way and bool(ours.log_w.isfinite())
        loss = ours(f, target, index)
        theirs.u_pos[first_visit, 0] = ours.log_u[first_visit].exp()
        if two_way and not was_started:
            theirs.w = ours.log_w.exp()
        reference = theirs(h[:, None], target, index)
        loss.backward()
        reference.backward()
        torch.testing.assert_close(loss, reference)
        torch.testing.assert_close(f.grad, h.grad)
        visited = ours.log_u.isfinite()
        torch.testing.assert_close(ours.log_u[visited].exp(), theirs.u_pos[visited, 0], rtol=1e-5, atol=0)


@pytest.mark.parametrize("two_way", [False, True])
@pytest.mark.parametrize("lam", [0.1, 1e-3])
def test_huge_losses_leave_everything_finite(two_way: bool, lam: float) -> None:
    """ℓ/λ up to 2·10⁷ (raw logits) and a recovery from it: the weights stay what they are by definition."""
    objective = SOPASLoss(min_tpr=0.5 * two_way, train_size=4, lambda_=lam, surrogate="logistic")
    target, index = torch.tensor([1, 1, 0, 0]), torch.arange(4)
    for factor in (1e4, 1.0, 1e4):
        scores = (factor * torch.tensor([-1.0, 1.0, 1.0, -1.0])).requires_grad_()
        loss = objective(scores, target, index)
        loss.backward()
        assert scores.grad is not None
        assert torch.isfinite(loss)
        assert torch.isfinite(scores.grad).all()
    assert torch.isfinite(objective.log_u[:2]).all()


def test_eval_uses_the_batch_s_own_averages() -> None:
    """u_i and w of the batch: the weights are softmaxes over the negatives and over the positives."""
    scores, target, _ = random_batches(1)[0]
    table = (1 - scores[target == 1][:, None] + scores[target == 0]).square()
    risk = (torch.softmax(table / 0.5, dim=1) * table).sum(dim=1)
    outer = torch.softmax(0.5 / 0.8 * (table / 0.5).exp().mean(dim=1).log(), dim=0)
    one_way = SOPASLoss(train_size=1, lambda_=0.5).eval()(scores, target)
    two_way = SOPASLoss(min_tpr=0.5, train_size=1, lambda_=0.5, tau=0.8).eval()(scores, target)
    torch.testing.assert_close(one_way, risk.mean())
    torch.testing.assert_close(two_way, (outer * risk).sum())


def test_rate_one_forgets_and_bad_settings_are_named() -> None:
    objective = SOPASLoss(train_size=1, u_rate=1.0)
    for score in (0.0, 1.0):
        objective(torch.tensor([score, 0.0]), torch.tensor([1, 0]), torch.tensor([0, 0]))
    assert objective.log_u.item() == pytest.approx(0.0)
    with pytest.raises(InputError, match="`lambda_` must be a finite number above 0, got 0"):
        SOPASLoss(train_size=1, lambda_=0)
    with pytest.raises(InputError, match=r"`w_rate` must be a finite number in \(0, 1\], got 1.5"):
        SOPASLoss(train_size=1, w_rate=1.5)
