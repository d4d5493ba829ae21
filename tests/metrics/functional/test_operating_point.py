"""Thresholds against a scan, scikit-learn and simulated guarantees."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.metrics import precision_score, recall_score

from pauc_lightning.errors import InputError
from pauc_lightning.metrics.functional import operating_point, threshold_for_fpr, tpr_at_fpr


@pytest.mark.parametrize("max_fpr", [0.0, 0.04, 0.3, 1.0])
@pytest.mark.parametrize("decimals", [0, 1, 6])
def test_no_threshold_within_the_budget_finds_more(max_fpr: float, decimals: int) -> None:
    rng = np.random.default_rng(decimals)
    labels = rng.random(200) < 0.3
    scores = (rng.normal(size=200) + labels).round(decimals)
    point = tpr_at_fpr(scores, labels, max_fpr)
    every = [(np.mean(scores[~labels] >= t), np.mean(scores[labels] >= t)) for t in [*scores, np.inf]]
    assert point.tpr == max(tpr for fpr, tpr in every if fpr <= max_fpr)
    assert point.fpr <= max_fpr
    if point.tpr > 0:
        called = scores >= point.threshold
        assert point.tpr == pytest.approx(recall_score(labels, called))
        assert point.precision == pytest.approx(precision_score(labels, called))
    assert operating_point(scores, labels, point.threshold) == pytest.approx(point, nan_ok=True)


def test_a_budget_that_no_threshold_meets_calls_nothing_positive() -> None:
    point = tpr_at_fpr([0.5, 0.5, 0.4], [1, 0, 0], max_fpr=0.0)
    assert (point.threshold, point.fpr, point.tpr) == (math.inf, 0.0, 0.0)
    assert math.isnan(point.precision)


@pytest.mark.parametrize(
    ("n", "max_fpr", "confidence"), [(500, 0.01, 0.95), (1000, 0.05, 0.9), (300, 0.1, 0.5)]
)
def test_the_guarantee_holds_and_is_not_wasteful(n: int, max_fpr: float, confidence: float) -> None:
    rng = np.random.default_rng(0)
    kept, means = 0, 0.0
    for _ in range(4000):
        rate = norm.sf(threshold_for_fpr(rng.normal(size=n), max_fpr, confidence=confidence))
        kept += rate <= max_fpr
        means += rate / 4000
    error = math.sqrt(confidence * (1 - confidence) / 4000)
    assert kept / 4000 >= confidence - 3 * error
    assert means > max_fpr / 3


def test_a_tie_at_the_threshold_does_not_break_the_guarantee() -> None:
    scores = np.repeat([0.1, 0.9], [970, 30])
    assert threshold_for_fpr(scores, max_fpr=0.02) > 0.9
    assert threshold_for_fpr(scores, max_fpr=0.1) == np.nextafter(0.1, 1)


def test_too_few_negatives_name_the_number_needed() -> None:
    with pytest.raises(InputError, match=r"298 scores are too few to keep max_fpr=0.01 .* at least 299"):
        threshold_for_fpr(np.arange(298.0), 0.01)
    assert threshold_for_fpr(np.arange(299.0), 0.01) > 298


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: tpr_at_fpr([0.1, 0.2], [0, 1], 1.5), "`max_fpr`"),
        (lambda: tpr_at_fpr([0.1, 0.2], [0, 0], 0.5), "got no positive among 2"),
        (lambda: tpr_at_fpr([0.1, float("nan")], [0, 1], 0.5), "`preds` must be finite"),
        (lambda: threshold_for_fpr([0.1] * 100, 0.0), "`max_fpr`"),
        (lambda: threshold_for_fpr([0.1] * 100, 0.1, confidence=1.0), "`confidence`"),
    ],
)
def test_mistakes_get_a_sentence(call, sentence) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(InputError, match=sentence):
        call()
