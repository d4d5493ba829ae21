"""SOPA: hand-computed steps, an independent two-way derivation, LibAUC, and the exact risk as the limit."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from pauc_lightning.objectives.sopa import SOPALoss

ALPHA, BETA = 0.4, 0.3  # of the two-way tests


def random_batches(n_batches: int, n_train: int) -> list[tuple[Tensor, Tensor, Tensor]]:
    """Batches of distinct samples, the first half of the training set being positive."""
    generator = torch.Generator().manual_seed(1)
    batches = []
    for _ in range(n_batches):
        index = torch.randperm(n_train, generator=generator)[: n_train // 2]
        batches.append((torch.rand(len(index), generator=generator), (index < n_train // 2).long(), index))
    return batches


def test_golden_one_way_steps() -> None:
    """ℓ = [[.25, 1], [0, .25]] for positives .5, 1 (samples 3, 1) and negatives 0, .5; β = .5, η = .1."""
    objective = SOPALoss(train_size=5, max_fpr=0.5, threshold_lr=0.1)
    target, index = torch.tensor([1, 1, 0, 0]), torch.tensor([3, 1, 0, 2])
    expected = [
        # s before    p                    loss
        # 0, 0        [1, 1], [0, 1]       1.5/4/.5
        (0.75, [-1.5, -0.5, 0.5, 1.5], [0.0, 0.0, 0.0, 0.1, 0.0]),
        (0.75, [-1.5, -0.5, 0.5, 1.5], [0.0, 0.0, 0.0, 0.2, 0.0]),
        (0.75, [-1.5, -0.5, 0.5, 1.5], [0.0, 0.0, 0.0, 0.3, 0.0]),
        # .3, 0       [0, 1], [0, 1]       1.25/4/.5; exactly half of each row: the thresholds rest
        (0.625, [-1.0, -0.5, 0.0, 1.5], [0.0, 0.0, 0.0, 0.3, 0.0]),
    ]
    for loss_value, gradient, s in expected:
        scores = torch.tensor([0.5, 1.0, 0.0, 0.5], requires_grad=True)
        loss = objective(scores, target, index)
        loss.backward()
        assert scores.grad is not None
        assert loss.item() == pytest.approx(loss_value)
        assert scores.grad.tolist() == pytest.approx(gradient)
        assert objective.s.tolist() == pytest.approx(s)


def test_a_duplicated_index_makes_two_steps_from_the_same_state() -> None:
    objective = SOPALoss(train_size=2, max_fpr=0.5, threshold_lr=0.1)
    objective.s[1] = 0.5
    # sample 1 twice, with scores .5 and 1: p = [0, 1] and [0, 0] at s = .5, so steps 0 and −.1
    objective(torch.tensor([0.5, 1.0, 0.0, 0.5]), torch.tensor([1, 1, 0, 0]), torch.tensor([1, 1, 0, 0]))
    assert objective.s.tolist() == pytest.approx([0.0, 0.4])


def test_the_limit_is_the_exact_risk() -> None:
    """For fixed scores the thresholds settle where the loss is the mean over the top ⌊βn₋⌋ losses."""
    rng = np.random.default_rng(3)
    pos, neg = rng.random(4), rng.random(10)
    expected = np.mean([np.sort((1 - p + neg) ** 2)[-3:].mean() for p in pos])
    objective = SOPALoss(train_size=14, max_fpr=0.3, threshold_lr=0.002)
    scores, target = torch.tensor(np.r_[pos, neg]), torch.tensor([1] * 4 + [0] * 10)
    for _ in range(1500):
        loss = objective(scores, target, torch.arange(14))
    assert loss.item() == pytest.approx(expected, rel=1e-6)
    assert objective.eval()(scores, target).item() == pytest.approx(expected, rel=1e-6)


def two_way_in_numpy(
    batches: list[tuple[Tensor, Tensor, Tensor]], n_train: int, outer: float
) -> tuple[list[float], list[np.ndarray], np.ndarray, np.ndarray, float]:
    """The formulas of the docstring with plain loops; η = .1, η_s = .2, η_y = .05."""
    alpha, beta, s, y = ALPHA, BETA, np.zeros(n_train), np.ones(n_train)
    losses, gradients = [], []
    for scores, target, index in batches:
        pos, neg = np.flatnonzero(target.numpy()), np.flatnonzero(1 - target.numpy())
        f, old_s = scores.numpy().astype(float), s.copy()
        table = np.array([[(1 - f[i] + f[j]) ** 2 for j in neg] for i in pos])
        p = np.array([row > old_s[index[i]] for row, i in zip(table, pos, strict=True)], dtype=float)
        for row, i in zip(table, pos, strict=True):
            g = old_s[index[i]] + np.maximum(row - old_s[index[i]], 0).mean() / beta
            y[index[i]] += 0.05 * (g - outer) / alpha
        y = np.clip(y, 0, 1)
        rows_y = np.array([y[index[i]] for i in pos])
        losses.append(float((rows_y[:, None] * p * table).mean() / (alpha * beta)))
        gradient = np.zeros(len(f))
        for a, i in enumerate(pos):
            for b, j in enumerate(neg):
                slope = -2 * (1 - f[i] + f[j]) * rows_y[a] * p[a, b] / (alpha * beta * p.size)
                gradient[i] += slope
                gradient[j] -= slope
        gradients.append(gradient)
        for a, i in enumerate(pos):
            s[index[i]] -= 0.1 * rows_y[a] / alpha * (1 - p[a].mean() / beta)
        outer -= 0.2 * (1 - rows_y.mean() / alpha)
    return losses, gradients, s, y, outer


def test_two_way_steps_against_numpy() -> None:
    batches = random_batches(6, n_train=24)
    index = batches[2][2]
    index[:2] = index[batches[2][1] == 1][0]  # a duplicate, whichever label the two had before
    batches[2][1][:2] = 1
    objective = SOPALoss(
        BETA, 1 - ALPHA, train_size=24, threshold_lr=0.1, outer_threshold_lr=0.2, dual_lr=0.05
    ).double()
    objective.s_outer.fill_(4.0)  # so that the dual weights leave 1
    losses, gradients, s, y, outer = two_way_in_numpy(batches, 24, outer=4.0)
    assert ((y > 0) & (y < 1)).sum() >= 5
    for (scores, target, index), loss_value, gradient in zip(batches, losses, gradients, strict=True):
        scores = scores.double().requires_grad_()
        loss = objective(scores, target, index)
        loss.backward()
        assert scores.grad is not None
        assert loss.item() == pytest.approx(loss_value, rel=1e-9)
        np.testing.assert_allclose(scores.grad.numpy(), gradient, atol=1e-12)
    np.testing.assert_allclose(objective.s.numpy(), s, atol=1e-12)
    np.testing.assert_allclose(objective.y.numpy(), y, atol=1e-12)
    assert objective.s_outer.item() == pytest.approx(outer, rel=1e-9)


def test_agrees_with_libauc_one_way() -> None:
    """The same loss, gradient and thresholds; only without duplicates, which LibAUC drops."""
    losses = pytest.importorskip("libauc.losses.auc")
    theirs = losses.pAUC_CVaR_Loss(24, pos_len=12, beta=0.5, eta=0.1, surr_loss="squared", device="cpu")
    ours = SOPALoss(max_fpr=0.5, train_size=24, threshold_lr=0.1)
    for scores, target, index in random_batches(6, n_train=24):
        f, h = scores.clone().requires_grad_(), scores.clone().requires_grad_()
        loss, reference = ours(f, target, index), theirs(h[:, None], target, index)
        loss.backward()
        reference.backward()
        torch.testing.assert_close(loss, reference)
        torch.testing.assert_close(f.grad, h.grad)
        torch.testing.assert_close(ours.s, theirs.u_pos[:, 0])


def test_agrees_with_libauc_two_way() -> None:
    losses = pytest.importorskip("libauc.losses.auc")
    theirs = losses.tpAUC_CVaR_loss(
        24, threshold=1.0, alpha=0.05, beta_0=0.1, beta_1=0.2, theta_0=ALPHA, theta_1=BETA,
        surr_loss="squared", device="cpu",
    )  # fmt: skip
    ours = SOPALoss(BETA, 1 - ALPHA, train_size=24, threshold_lr=0.1, outer_threshold_lr=0.2, dual_lr=0.05)
    ours.s_outer.fill_(4.0)
    theirs.s2.fill_(4.0)
    for scores, target, index in random_batches(6, n_train=24):
        f, h = scores.clone().requires_grad_(), scores.clone().requires_grad_()
        loss, reference = ours(f, target, index), theirs(h[:, None], target, index)
        loss.backward()
        reference.backward()
        torch.testing.assert_close(loss, reference)
        torch.testing.assert_close(f.grad, h.grad)
        torch.testing.assert_close(ours.s, theirs.s1[:, 0])
        torch.testing.assert_close(ours.y, theirs.dual_var[:, 0])
        torch.testing.assert_close(ours.s_outer, theirs.s2[0, 0])
