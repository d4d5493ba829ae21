"""MB: selection within the batch, against hand-computed values and brute force."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from pauc_lightning.objectives.mb import MBLoss


def test_golden_one_way() -> None:
    # positives .5, 1; of the negatives 0, .5, .25, 0 a quarter is kept: .5. Gaps 0 and .5, losses 1 and .25.
    scores = torch.tensor([0.5, 0.0, 1.0, 0.5, 0.25, 0.0], requires_grad=True)
    loss = MBLoss(max_fpr=0.25)(scores, torch.tensor([1, 0, 1, 0, 0, 0]))
    loss.backward()
    assert loss.item() == 0.625
    # d/ds (1 − s)² = −2 and −1, each over two pairs
    assert scores.grad is not None
    assert scores.grad.tolist() == [-1.0, 0.0, -0.5, 1.5, 0.0, 0.0]


def test_golden_two_way() -> None:
    # also only the lower half of the positives: the pair (.5, .5) alone
    scores = torch.tensor([0.5, 0.0, 1.0, 0.5, 0.25, 0.0], requires_grad=True)
    loss = MBLoss(max_fpr=0.25, min_tpr=0.5)(scores, torch.tensor([1, 0, 1, 0, 0, 0]))
    loss.backward()
    assert loss.item() == 1.0
    assert scores.grad is not None
    assert scores.grad.tolist() == [-2.0, 0.0, 0.0, 2.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("max_fpr", "min_tpr", "min_fpr"), [(0.3, 0, 0), (0.5, 0, 0.2), (0.3, 0.4, 0), (1, 0, 0)]
)
def test_against_sorting(max_fpr: float, min_tpr: float, min_fpr: float) -> None:
    rng = np.random.default_rng(0)
    pos, neg = rng.random(11), rng.random(23)
    n_pos = int(np.floor(11 * (1 - min_tpr) + 1e-9))
    first, last = int(np.floor(23 * min_fpr + 1e-9)), int(np.floor(23 * max_fpr + 1e-9))
    kept_pos, kept_neg = np.sort(pos)[:n_pos], np.sort(neg)[::-1][first:last]
    expected = np.mean([(1 - p + n) ** 2 for p in kept_pos for n in kept_neg])
    logistic = np.mean([np.log1p(np.exp(n - p)) for p in kept_pos for n in kept_neg])
    scores, target = torch.tensor(np.r_[pos, neg]), torch.tensor([1] * 11 + [0] * 23)
    assert MBLoss(max_fpr, min_tpr, min_fpr=min_fpr)(scores, target).item() == pytest.approx(
        expected, rel=1e-12
    )
    assert MBLoss(max_fpr, min_tpr, min_fpr=min_fpr, surrogate="logistic")(
        scores, target
    ).item() == pytest.approx(logistic, rel=1e-12)


def test_at_least_one_of_each_is_kept() -> None:
    # ⌊.01·2⌋ = 0 of both classes: the lowest positive .25 and the highest negative .75 remain
    scores, target = torch.tensor([0.25, 0.5, 0.75, 0.0]), torch.tensor([1, 1, 0, 0])
    assert MBLoss(max_fpr=0.01, min_tpr=0.99)(scores, target).item() == 2.25
    # a band whose ends fall on the same count keeps the last negative before it
    assert MBLoss(max_fpr=0.6, min_fpr=0.5)(scores, target).item() == 1.5**2 / 2 + 1.25**2 / 2
