"""The metric's value, its three kinds of results, and what it refuses."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from pauc_lightning.errors import InputError
from pauc_lightning.metrics.functional import binary_partial_auc
from pauc_lightning.trees import partial_auc_metric


def test_the_value_is_the_exact_partial_auc() -> None:
    random = np.random.default_rng(0)
    y = (random.random(500) < 0.2).astype(int)
    scores = (random.normal(size=500) + y).round(1)  # with ties
    for region in ((0.1, 0.0, 0.0), (0.3, 0.5, 0.0), (0.3, 0.0, 0.1), (1.0, 0.0, 0.0)):
        max_fpr, min_tpr, min_fpr = region
        metric = partial_auc_metric(max_fpr, min_tpr, min_fpr=min_fpr)
        assert metric(y, scores) == float(binary_partial_auc(scores, y, *region))


def test_names_begin_so_that_xgboost_maximises_them() -> None:
    names = [partial_auc_metric(*region).__name__ for region in ((), (0.05,), (0.3, 0.7))]
    assert names == ["auc", "auc_fpr0.05", "auc_fpr0.3_tpr0.7"]


def test_lightgbm_gets_a_name_and_a_direction() -> None:
    """Its classes pass four arguments, the last two of which may be None."""
    metric = partial_auc_metric(0.5)
    assert metric([1, 0, 1, 0], [0.9, 0.8, 0.7, 0.1], None, None) == ("auc_fpr0.5", 0.5, True)


def test_it_can_be_pickled() -> None:
    metric = pickle.loads(pickle.dumps(partial_auc_metric(0.5)))
    assert metric.__name__ == "auc_fpr0.5"
    assert metric([1, 0, 1, 0], [0.9, 0.8, 0.7, 0.1]) == 0.5
    assert "FPR ≤ 0.5" in repr(metric)


def test_mistakes() -> None:
    metric = partial_auc_metric(0.5)
    with pytest.raises(InputError, match="got rows with weights: leave them out of the evaluation set"):
        metric([1, 0, 0], [0.1, 0.2, 0.3], [1.0, 2.0, 1.0])
    with pytest.raises(InputError, match="got 2 groups"):
        metric([1, 0, 0], [0.1, 0.2, 0.3], None, [1, 2])
    with pytest.raises(InputError, match="0 positives"):
        metric([0, 0], [0.1, 0.2])
    with pytest.raises(InputError, match="max_fpr"):
        partial_auc_metric(-1)
