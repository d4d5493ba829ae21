from __future__ import annotations

import math
import re
import warnings
from fractions import Fraction
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score
from torch import Tensor

from pauc_lightning import InputError
from pauc_lightning.metrics.functional import (
    binary_partial_auc,
    convert_partial_auc,
    partial_auc_from_counts,
)
from pauc_lightning.metrics.functional.partial_auc import Ties

DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]


def examples(number: int) -> settings:
    return settings(max_examples=number, deadline=None, derandomize=True)


def brute_force(
    scores: list[float],
    labels: list[int],
    max_fpr: Fraction = Fraction(1),
    min_tpr: Fraction = Fraction(0),
    min_fpr: Fraction = Fraction(0),
    ties: Ties = "roc",
) -> Fraction | None:
    """The value by its definition, in rational arithmetic; None if the region selects nobody."""
    positives = sorted(s for s, y in zip(scores, labels, strict=True) if y == 1)
    negatives = sorted((s for s, y in zip(scores, labels, strict=True) if y == 0), reverse=True)
    kept = positives[: math.floor(len(positives) * (1 - min_tpr))]
    hard = negatives[math.floor(len(negatives) * min_fpr) : math.floor(len(negatives) * max_fpr)]
    if not kept or not hard:
        return None
    if ties == "roc":
        first = math.floor(len(negatives) * min_fpr)
        area = curve_area(positives, negatives, first, first + len(hard), len(positives) - len(kept))
        return area / (len(kept) * len(hard))
    credit, pairs = Fraction(0), 0
    for p in kept:
        for n in hard:
            pairs += 1
            if p > n:
                credit += 1
            elif p == n:
                credit += 1 if ties == "win" else Fraction(1, 2)
    return credit / pairs


def curve_area(
    positives: list[float], negatives: list[float], left: int, right: int, bottom: int
) -> Fraction:
    """The area under the ROC curve in counts, right of ``left``, left of ``right``, above ``bottom``.

    Strip by strip, one negative wide: within a strip the curve is a straight line, as jumps and corners are at
    whole numbers of negatives.
    """
    corners = [(0, 0)]
    for score in sorted({*positives, *negatives}, reverse=True):
        corners.append((sum(n >= score for n in negatives), sum(p >= score for p in positives)))
    area = Fraction(0)
    for x in range(left, right):
        (x0, y0), (x1, y1) = next((low, high) for low, high in pairwise(corners) if low[0] <= x < high[0])
        start, end = (y0 + Fraction((y1 - y0) * (at - x0), x1 - x0) - bottom for at in (x, x + 1))
        if start >= 0:
            area += (start + end) / 2
        elif end > 0:  # a triangle, as wide as the line is above the bottom
            area += end * (end / (end - start)) / 2
    return area


class Case(NamedTuple):
    scores: list[float]
    labels: list[int]
    max_fpr: Fraction
    min_tpr: Fraction
    min_fpr: Fraction

    @property
    def region(self) -> tuple[float, float, float]:
        return float(self.max_fpr), float(self.min_tpr), float(self.min_fpr)


_RATES = sorted({Fraction(i, n) for n in range(1, 13) for i in range(n + 1)})
_BANDS = [(low, high) for low in _RATES for high in _RATES if low < high]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Few distinct scores, so that ties within and across the classes and at the region's edge abound."""
    # One byte per sample: its lowest bit is the label, the rest the score. Multiples of 1/8 are exact in every
    # dtype, so that there is one truth for all of them; -0.0 equals 0.0.
    n_levels = draw(st.integers(1, 9))
    levels = [-0.0, *((i - 4) / 8 for i in range(n_levels - 1))]
    samples = bytes([draw(st.integers(0, 15)) * 2, 1]) + draw(st.binary(max_size=26))
    scores = [levels[(byte >> 1) % n_levels] for byte in samples]
    low, high = draw(st.sampled_from(_BANDS))
    min_tpr = draw(st.sampled_from(_RATES[:-1]))
    one_way, from_zero = draw(st.booleans()), draw(st.booleans())
    return Case(
        scores,
        [byte & 1 for byte in samples],
        max_fpr=high,
        min_tpr=Fraction(0) if one_way else min_tpr,
        min_fpr=Fraction(0) if from_zero else low,
    )


def by_level(case: Case, coarseness: int) -> tuple[Tensor, Tensor, Tensor]:
    """The bin of each sample, and the positives and negatives per bin; coarser bins merge neighbours."""
    _, levels = np.unique(case.scores, return_inverse=True)
    bins, labels = torch.from_numpy(levels) // coarseness, torch.tensor(case.labels)
    pos_counts, neg_counts = (torch.bincount(bins[labels == c], minlength=16) for c in (1, 0))
    return bins, pos_counts, neg_counts


@examples(2500)
@given(
    case=cases(),
    ties=st.sampled_from(["roc", "half", "win"]),
    dtype=st.sampled_from([torch.float16, torch.bfloat16, torch.float32, torch.float64]),
    label_dtype=st.sampled_from([torch.bool, torch.uint8, torch.int32, torch.int64, torch.float32]),
)
def test_equals_brute_force(case: Case, ties: Ties, dtype: torch.dtype, label_dtype: torch.dtype) -> None:
    expected = brute_force(*case, ties=ties)
    preds, target = torch.tensor(case.scores, dtype=dtype), torch.tensor(case.labels, dtype=label_dtype)
    if expected is None:
        with pytest.raises(InputError, match="keeps 0 of"):
            binary_partial_auc(preds, target, *case.region, ties)
        return
    value = binary_partial_auc(preds, target, *case.region, ties)
    assert value.dtype == torch.float64
    assert value.item() == float(expected)  # integers divided once: no rounding to forgive
    size = (case.max_fpr - case.min_fpr) * (1 - case.min_tpr)
    area = binary_partial_auc(preds, target, *case.region, ties, scale="area")
    assert area.item() == pytest.approx(float(expected * size), rel=1e-14)


@examples(500)  # scikit-learn takes milliseconds
@given(case=cases(), fraction=st.floats(0.001, 1.0))
def test_mcclish_equals_scikit_learn(case: Case, fraction: float) -> None:
    preds, target = torch.tensor(case.scores), torch.tensor(case.labels)
    for max_fpr in (fraction, float(case.max_fpr)):
        value = binary_partial_auc(preds, target, max_fpr=max_fpr, scale="mcclish")
        assert value.item() == pytest.approx(roc_auc_score(target, preds, max_fpr=max_fpr), abs=1e-12)


@examples(1000)
@given(case=cases(), ties=st.sampled_from(["roc", "half", "win"]), coarseness=st.integers(1, 4))
def test_counts_bracket_the_exact_value_and_equal_it_without_loss(
    case: Case, ties: Ties, coarseness: int
) -> None:
    expected = brute_force(*case, ties=ties)
    if expected is None:
        return
    _, pos_counts, neg_counts = by_level(case, coarseness=1)
    value, lower, upper = partial_auc_from_counts(pos_counts, neg_counts, *case.region, ties)
    assert value.item() == float(expected)
    _, pos_counts, neg_counts = by_level(case, coarseness)
    value, lower, upper = partial_auc_from_counts(pos_counts, neg_counts, *case.region, ties)
    assert lower <= float(expected) <= upper
    assert lower <= value <= upper


@examples(300)
@given(case=cases(), coarseness=st.integers(1, 4))
def test_mcclish_from_counts_brackets_scikit_learn(case: Case, coarseness: int) -> None:
    bins, pos_counts, neg_counts = by_level(case, coarseness)
    max_fpr = float(case.max_fpr)
    value, lower, upper = partial_auc_from_counts(pos_counts, neg_counts, max_fpr, scale="mcclish")
    assert value.item() == pytest.approx(roc_auc_score(case.labels, bins, max_fpr=max_fpr), abs=1e-12)
    exact = roc_auc_score(case.labels, case.scores, max_fpr=max_fpr)
    assert lower.item() - 1e-12 <= exact <= upper.item() + 1e-12


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64])
@pytest.mark.parametrize("positives", [0.02, 0.5, 0.98])
def test_equals_a_table_of_pairs_on_continuous_scores(
    device: str, dtype: torch.dtype, positives: float
) -> None:
    generator = torch.Generator().manual_seed(3)
    target = (torch.rand(4000, generator=generator) < positives).long()
    preds = (torch.randn(4000, generator=generator) + target).to(dtype)
    pos = np.sort(preds[target == 1].double().numpy())
    neg = np.sort(preds[target == 0].double().numpy())[::-1]
    first, last, kept = int(0.05 * len(neg) + 1e-9), int(0.4 * len(neg) + 1e-9), int(0.6 * len(pos) + 1e-9)
    difference = pos[:kept, None] - neg[None, first:last]
    expected = (difference > 0).mean() + 0.5 * (difference == 0).mean()
    value = binary_partial_auc(preds.to(device), target.to(device), max_fpr=0.4, min_tpr=0.4, min_fpr=0.05)
    assert value.device.type == device
    assert value.item() == pytest.approx(expected, abs=1e-13)
    # scikit-learn ranks halves in float32 as well, so both see the same ties
    reference = roc_auc_score(target, preds.float(), max_fpr=0.1)
    mcclish = binary_partial_auc(preds.to(device), target.to(device), max_fpr=0.1, scale="mcclish")
    assert mcclish.item() == pytest.approx(reference, abs=1e-12)


def test_ten_million_samples_lose_nothing() -> None:
    # The lowest positive ties with the highest negative; each of the other 25e12 - 1 pairs is a win.
    n = 5_000_000
    preds = torch.cat([torch.arange(n), torch.arange(n) + n - 1]).double()
    target = torch.arange(2 * n) >= n
    assert binary_partial_auc(preds, target).item() == 1 - 0.5 / n**2
    assert binary_partial_auc(preds, target, ties="win").item() == 1.0
    assert binary_partial_auc(preds, target, max_fpr=1 / n, min_tpr=1 - 1 / n).item() == 0.5


@pytest.mark.parametrize("scale", ["ratio", "mcclish"])
def test_leaves_its_input_alone_whatever_its_layout(scale: Any) -> None:
    generator = torch.Generator().manual_seed(5)
    wide = torch.randn(40, 60, generator=generator)
    labels = torch.rand(40, 60, generator=generator) < 0.3
    expected = binary_partial_auc(wide.t().reshape(-1), labels.t().reshape(-1), max_fpr=0.3, scale=scale)
    before = wide.clone()
    strided = wide.t().requires_grad_()
    value = binary_partial_auc(strided, labels.t(), max_fpr=0.3, scale=scale)
    assert value == expected
    assert not value.requires_grad
    torch.testing.assert_close(wide, before, rtol=0, atol=0)
    assert binary_partial_auc(wide[:, ::7], labels[:, ::7]) == binary_partial_auc(
        wide[:, ::7].clone(), labels[:, ::7].clone()
    )


def test_scores_are_compared_as_they_are() -> None:
    # Through a float32 sigmoid both positives would tie with the negative at 40.
    preds = torch.tensor([50.0, 45.0, 40.0, -90.0])
    assert binary_partial_auc(preds, torch.tensor([1, 1, 0, 0])).item() == 1.0


def test_the_options_on_a_case_worked_by_hand() -> None:
    # Descending: + = - (tie at 4), then -, +, -, -: first positive 4 pairs: tie + 3 wins, second: 2 wins. The region's
    # edges cut no tie here.
    preds = torch.tensor([4.0, 4.0, 3.0, 2.0, 1.0, 0.0])
    target = torch.tensor([1, 0, 0, 1, 0, 0])
    assert binary_partial_auc(preds, target).item() == 5.5 / 8
    assert binary_partial_auc(preds, target, ties="win").item() == 6 / 8
    assert binary_partial_auc(preds, target, max_fpr=0.5).item() == 1.5 / 4
    assert binary_partial_auc(preds, target, max_fpr=0.75, min_tpr=0.5).item() == 1 / 3
    assert binary_partial_auc(preds, target, max_fpr=0.75, min_fpr=0.25).item() == 3 / 4
    assert binary_partial_auc(preds, target, max_fpr=0.5, scale="area").item() == 1.5 / 8


def test_counts_are_floors_of_the_decimal_fraction() -> None:
    # 1 - 0.9 of 10 negatives is one negative although the float product is 0.999...
    preds = torch.tensor([0.5] + [0.9 - 0.1 * i for i in range(10)])
    target = torch.tensor([1] + [0] * 10)
    assert binary_partial_auc(preds, target, max_fpr=1 - 0.9).item() == 0.0
    assert binary_partial_auc(preds, target, max_fpr=0.19).item() == 0.0


def test_conversion_reaches_scikit_learn_where_it_is_exact() -> None:
    generator = torch.Generator().manual_seed(1)
    target = torch.tensor([1] * 37 + [0] * 200)
    preds = torch.randn(237, generator=generator) + target  # 0.15 of 200 is whole, and there are no ties
    ratio = float(binary_partial_auc(preds, target, max_fpr=0.15))
    mcclish = roc_auc_score(target, preds, max_fpr=0.15)
    assert convert_partial_auc(ratio, "ratio", "mcclish", max_fpr=0.15) == pytest.approx(mcclish, abs=1e-12)
    assert convert_partial_auc(mcclish, "mcclish", "ratio", max_fpr=0.15) == pytest.approx(ratio, abs=1e-12)
    assert convert_partial_auc(0.5, "ratio", "area", 0.4, 0.5, 0.2) == pytest.approx(0.5 * 0.2 * 0.5)
    assert convert_partial_auc(0.05, "area", "ratio", 0.4, 0.5, 0.2) == pytest.approx(0.5)
    with pytest.raises(InputError, match="one-way"):
        convert_partial_auc(0.5, "ratio", "mcclish", max_fpr=0.3, min_tpr=0.7)


PREDS, TARGET = torch.tensor([0.1, 0.4, 0.35, 0.8]), torch.tensor([0, 0, 1, 1])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"max_fpr": 1.5}, "`max_fpr` is a rate in"),
        ({"max_fpr": 0.0}, "`min_fpr` must be smaller than `max_fpr`"),
        ({"min_fpr": 0.5, "max_fpr": 0.5}, "`min_fpr` must be smaller than `max_fpr`"),
        ({"min_tpr": -0.1}, "`min_tpr` is a rate in"),
        ({"min_tpr": 1.0}, "`min_tpr` must be smaller than 1"),
        ({"max_fpr": math.nan}, "`max_fpr` is a rate in"),
        ({"ties": "lose"}, r"`ties` must be one of .*, got 'lose'"),
        ({"scale": "percent"}, r"`scale` must be one of .*, got 'percent'"),
        ({"scale": "mcclish", "min_tpr": 0.5}, r'`scale="mcclish"` .* min_tpr=0.5'),
        ({"scale": "mcclish", "min_fpr": 0.5}, r'`scale="mcclish"` .* min_fpr=0.5'),
        ({"scale": "mcclish", "ties": "win"}, r'`scale="mcclish"` .* ties=\'win\''),
        ({"preds": PREDS[:, None]}, r"same shape, got \(4, 1\) and \(4,\)"),
        ({"preds": TARGET, "target": PREDS}, r"`preds` must be scores of a dtype .* got torch.int64"),
        ({"target": TARGET.to(torch.complex64)}, "`target` must be 0 or 1, got dtype torch.complex64"),
        ({"target": TARGET + 1}, r"`target` must be 0 or 1, got 2 \(2 of 4"),
        ({"target": TARGET * 2 - 1}, r"`target` must be 0 or 1, got -1 \(2 of 4"),
        ({"target": TARGET * 0.5}, r"`target` must be 0 or 1, got 0.5 \(2 of 4"),
        ({"target": TARGET * math.nan}, r"`target` must be 0 or 1, got nan"),
        ({"preds": PREDS / PREDS.new_tensor([1, 0, 1, 1])}, r"`preds` must be finite, got inf \(1 of 4"),
        ({"preds": -PREDS / PREDS.new_tensor([1, 1, 1, 0])}, r"`preds` must be finite, got -inf \(1 of 4"),
        ({"preds": (PREDS * math.nan).half()}, r"`preds` must be finite, got nan \(4 of 4"),
        ({"target": TARGET * 0}, "both classes, got no positive among 4 labels"),
        ({"target": TARGET >= 0}, "both classes, got no negative among 4 labels"),
        ({"preds": PREDS[:0], "target": TARGET[:0]}, "both classes, got no positive among 0 labels"),
    ],
)
def test_errors_name_the_argument_and_the_value(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        binary_partial_auc(**{"preds": PREDS, "target": TARGET, **arguments})


@pytest.mark.parametrize("n", [3, 7, 11, 997])
def test_an_empty_region_names_a_fraction_that_works(n: int) -> None:
    preds, target = torch.arange(2.0 * n), torch.arange(2 * n) % 2
    too_small = 0.5 / n
    with pytest.raises(InputError, match=f"`max_fpr`={too_small}.* keeps 0 of {n} negatives") as error:
        binary_partial_auc(preds, target, max_fpr=too_small)
    suggestion = float(re.findall(r"write ([\d.]+)\.$", str(error.value))[0])
    assert suggestion == pytest.approx(1 / n, rel=1e-2)
    binary_partial_auc(preds, target, max_fpr=suggestion)
    with pytest.raises(InputError, match=f"keeps 0 of {n} negatives") as error:
        binary_partial_auc(preds, target, max_fpr=1.75 / n, min_fpr=1.25 / n)
    suggestion = float(re.findall(r"write ([\d.]+)\.$", str(error.value))[0])
    assert suggestion == pytest.approx(2 / n, rel=1e-2)
    binary_partial_auc(preds, target, max_fpr=suggestion, min_fpr=1.25 / n)
    with pytest.raises(InputError, match=f"keeps 0 of {n} positives") as error:
        binary_partial_auc(preds, target, min_tpr=1 - too_small)
    suggestion = float(re.findall(r"write ([\d.]+)\.$", str(error.value))[0])
    assert suggestion == pytest.approx(1 - 1 / n, rel=1e-2)
    binary_partial_auc(preds, target, min_tpr=suggestion)


def test_checks_of_the_values_can_be_skipped() -> None:
    preds = torch.tensor([math.inf, 0.0, -math.inf])
    target = torch.tensor([1, 0, 0])
    with pytest.raises(InputError, match="finite"):
        binary_partial_auc(preds, target)
    assert binary_partial_auc(preds, target, validate_args=False).item() == 1.0


def test_counts_must_share_their_bins() -> None:
    with pytest.raises(InputError, match=r"`pos_counts` and `neg_counts` .* got shapes \(3,\) and \(2,\)"):
        partial_auc_from_counts(torch.tensor([0, 1, 2]), torch.tensor([2, 1]))


def test_no_warnings_from_ordinary_use() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        binary_partial_auc(PREDS, TARGET, max_fpr=0.5, min_tpr=0.5)
