"""Gradient and Hessian against autograd of the torch loss, against differences, and against sums over pairs."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose
from pairs_by_force import CURVATURES, risk

from pauc_lightning.errors import InputError
from pauc_lightning.objectives import CELoss, PartialAUCLoss
from pauc_lightning.trees import partial_auc_objective
from pauc_lightning.trees.objective import HESSIAN_FLOOR
from pauc_lightning.trees.pair_derivatives import TreeSurrogate

SURROGATES = ["logistic", "squared_hinge"]
REGIONS = [(0.1, 0.0), (0.3, 0.5), (1.0, 0.0)]


def sample(n_pos: int = 20, n_neg: int = 100) -> tuple[np.ndarray, np.ndarray]:
    """Labels and margins, without ties."""
    random = np.random.default_rng(3)
    y = random.permutation(np.repeat([1, 0], [n_pos, n_neg]))
    return y, random.normal(size=n_pos + n_neg) + y


@pytest.mark.parametrize("surrogate", SURROGATES)
@pytest.mark.parametrize(("max_fpr", "min_tpr"), REGIONS)
def test_the_gradient_is_that_of_the_torch_loss(
    surrogate: TreeSurrogate, max_fpr: float, min_tpr: float
) -> None:
    """Times the number of positives inside; evaluation mode takes the batch's own thresholds, as boosting does."""
    y, z = sample()
    logits = torch.tensor(z, requires_grad=True)
    loss = PartialAUCLoss(max_fpr, min_tpr, surrogate=surrogate).eval()
    (loss(logits, torch.tensor(y)) * 20 * (1 - min_tpr)).backward()
    assert logits.grad is not None
    gradient, _ = partial_auc_objective(max_fpr, min_tpr, surrogate=surrogate, ce_weight=0)(y, z)
    assert np.abs(gradient).max() > 0.1
    assert_allclose(gradient, logits.grad.numpy(), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("surrogate", SURROGATES)
def test_the_gradient_of_a_band_is_that_of_the_torch_loss(surrogate: TreeSurrogate) -> None:
    y, z = sample()
    logits = torch.tensor(z, requires_grad=True)
    loss = PartialAUCLoss(0.4, min_fpr=0.1, surrogate=surrogate).eval()
    (loss(logits, torch.tensor(y)) * 20).backward()
    assert logits.grad is not None
    gradient, _ = partial_auc_objective(0.4, min_fpr=0.1, surrogate=surrogate, ce_weight=0)(y, z)
    assert_allclose(gradient, logits.grad.numpy(), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("surrogate", SURROGATES)
@pytest.mark.parametrize(("max_fpr", "min_tpr"), [(0.1, 0.0), (0.037, 0.0), (0.333, 0.21), (0.004, 0.97)])
@pytest.mark.parametrize("has_weights", [False, True])
def test_the_gradient_is_the_slope_of_the_risk(
    surrogate: TreeSurrogate, max_fpr: float, min_tpr: float, has_weights: bool
) -> None:
    """By central differences of a sum over pairs, also where a threshold cuts a row in two."""
    y, z = sample()
    weights = np.random.default_rng(5).uniform(0.5, 2, len(y)) if has_weights else None
    gradient, _ = partial_auc_objective(max_fpr, min_tpr, surrogate=surrogate, ce_weight=0)(y, z, weights)
    slopes = np.empty_like(z)
    for i in range(len(z)):
        step = np.zeros_like(z)
        step[i] = 1e-6
        high, low = (risk(z + s, y == 1, surrogate, max_fpr, min_tpr, weights) for s in (step, -step))
        slopes[i] = (high - low) / 2e-6
    assert_allclose(gradient, slopes, atol=1e-6)


@pytest.mark.parametrize("surrogate", SURROGATES)
@pytest.mark.parametrize(("max_fpr", "min_tpr"), REGIONS)
def test_the_hessian_is_the_exact_diagonal(surrogate: TreeSurrogate, max_fpr: float, min_tpr: float) -> None:
    y, z = sample()
    _, hessian = partial_auc_objective(max_fpr, min_tpr, surrogate=surrogate, ce_weight=0)(y, z)
    expected = np.zeros_like(z)
    pos, neg = np.flatnonzero(y == 1), np.flatnonzero(y == 0)
    inside_pos = pos[np.argsort(z[pos])][: round(20 * (1 - min_tpr))]
    inside_neg = neg[np.argsort(-z[neg])][: round(100 * max_fpr)]
    for i in inside_pos:
        for j in inside_neg:
            curvature = float(CURVATURES[surrogate](z[i] - z[j])) / len(inside_neg)
            expected[i] += curvature
            expected[j] += curvature
    assert_allclose(hessian, np.maximum(expected, HESSIAN_FLOOR), rtol=1e-9)


@pytest.mark.parametrize("surrogate", SURROGATES)
def test_the_hessian_is_the_slope_of_the_gradient(surrogate: TreeSurrogate) -> None:
    y, z = sample()
    objective = partial_auc_objective(0.1, 0.5, surrogate=surrogate, ce_weight=0)
    _, hessian = objective(y, z)
    slopes = np.empty_like(z)
    for i in range(len(z)):
        step = np.zeros_like(z)
        step[i] = 1e-6
        slopes[i] = (objective(y, z + step)[0][i] - objective(y, z - step)[0][i]) / 2e-6
    assert_allclose(hessian, np.maximum(slopes, HESSIAN_FLOOR), atol=1e-5)


def test_the_log_loss_is_mixed_in() -> None:
    y, z = sample()
    logits = torch.tensor(z, requires_grad=True)
    (CELoss()(logits, torch.tensor(y)) * len(y)).backward()
    assert logits.grad is not None
    pairs, _ = partial_auc_objective(0.1, ce_weight=0)(y, z)
    mixed, hessian = partial_auc_objective(0.1, ce_weight=0.25)(y, z)
    assert_allclose(mixed, 0.75 * pairs + 0.25 * logits.grad.numpy(), atol=1e-12)
    p = 1 / (1 + np.exp(-z))
    outside = pairs == 0
    assert_allclose(hessian[outside], 0.25 * (p * (1 - p))[outside])


def test_a_constant_score_starts_with_the_whole_auc() -> None:
    """Before the first tree no row is preferred, and the gradients of both classes balance."""
    y, _ = sample()
    gradient, hessian = partial_auc_objective(0.05, ce_weight=0)(y, np.full(120, 0.5))
    assert_allclose(gradient, np.where(y == 1, -0.5, 0.5 * 20 / 100))
    assert_allclose(hessian, np.where(y == 1, 0.25, 0.25 * 20 / 100))


@pytest.mark.parametrize("surrogate", SURROGATES)
def test_a_weight_of_two_is_a_row_twice(surrogate: TreeSurrogate) -> None:
    y, z = sample()
    weights = np.random.default_rng(7).integers(0, 3, len(y)).astype(float)
    objective = partial_auc_objective(0.2, 0.3, surrogate=surrogate, ce_weight=0)
    gradient, hessian = objective(y, z, weights)
    rows = np.repeat(np.arange(len(y)), weights.astype(int))
    repeated = objective(y[rows], z[rows])
    summed = np.bincount(rows, weights=repeated[0], minlength=len(y))
    assert_allclose(gradient, summed, atol=1e-12)
    inside = hessian > 1e-3
    assert_allclose(hessian[inside], np.bincount(rows, repeated[1], len(y))[inside])
    assert (gradient[weights == 0] == 0).all()


def test_a_shift_of_all_margins_changes_nothing() -> None:
    y, z = sample()
    objective = partial_auc_objective(0.1, ce_weight=0)
    assert_allclose(objective(y, z + 100)[0], objective(y, z)[0], atol=1e-10)


def test_it_can_be_pickled_and_printed() -> None:
    y, z = sample()
    objective = partial_auc_objective(0.1, 0.5, surrogate="squared_hinge", ce_weight=0.1)
    copy = pickle.loads(pickle.dumps(objective))
    assert repr(copy) == repr(objective)
    assert "squared_hinge" in repr(copy)
    assert_allclose(copy(y, z), objective(y, z))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"max_fpr": 0}, "max_fpr"),
        ({"max_fpr": 5}, "for 30 % write"),
        (
            {"max_fpr": 0.1, "surrogate": "hinge"},
            "`surrogate` must be one of logistic, squared_hinge, got 'hinge'",
        ),
        ({"max_fpr": 0.1, "ce_weight": 1}, "`ce_weight` must be a finite number in"),
        ({"max_fpr": 0.1, "ce_weight": "0.1"}, "`ce_weight`"),
        ({"max_fpr": 0.1, "min_tpr": 1}, "`min_tpr` must be smaller than 1"),
    ],
)
def test_wrong_arguments(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        partial_auc_objective(**arguments)


@pytest.mark.parametrize(
    ("labels", "margins", "weights", "message"),
    [
        ([1, 2], [0.0, 1.0], None, "the labels must be 0 or 1, got 2"),
        ([1, -1], [0.0, 1.0], None, "the labels must be 0 or 1, got -1"),
        (["a", "b"], [0.0, 1.0], None, "the labels must be 0 or 1, got a"),
        ([1, np.nan], [0.0, 1.0], None, "the labels must be 0 or 1, got nan"),
        ([1, 1], [0.0, 1.0], None, "got 2 positives and 0 negatives"),
        ([0, 0], [0.0, 1.0], None, "got 0 positives and 2 negatives"),
        ([], [], None, "got 0 positives and 0 negatives"),
        (None, [0.0, 1.0], None, "no labels"),
        ([1, 0, 0], [0.0, 1.0], None, r"shape \(3,\) for 2 predictions"),
        ([1, 0], [np.nan, 1.0], None, "must be finite, got 1 NaN"),
        ([1, 0], [[0.0, 1.0], [0.0, 1.0]], None, r"predictions of shape \(2, 2\): it is for two classes"),
        ([1, 0], [0.0, 1.0], [1.0], r"the weights .* shape \(1,\) for 2 rows"),
        ([1, 0], [0.0, 1.0], [1.0, -1.0], "not negative, got -1.0"),
        ([1, 0], [0.0, 1.0], [np.inf, 1.0], "got inf"),
        ([1, 0], [0.0, 1.0], [0.0, 1.0], "weights of all positives are 0"),
    ],
)
def test_wrong_data(labels: Any, margins: Any, weights: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        partial_auc_objective(0.1, ce_weight=0)(labels, margins, weights)


def test_a_column_of_predictions_is_a_vector() -> None:
    y, z = sample()
    objective = partial_auc_objective(0.1, ce_weight=0)
    assert_allclose(objective(y, z[:, None])[0], objective(y, z)[0])
