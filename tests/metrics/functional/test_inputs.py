"""What callers pass: tensors of every kind, arrays, lists and Series are right, the rest is one clear sentence."""

from __future__ import annotations

import math
import warnings
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import pytest
import torch

from pauc_lightning import InputError
from pauc_lightning.metrics.functional import binary_partial_auc, partial_auc_from_counts

SCORES = [0.9, 0.8, 0.7, 0.6, 0.6, 0.4]
LABELS = [1, 0, 1, 0, 1, 0]
EXPECTED = 1 / 3
"""Of the pairs with the highest negative, 0.8, one of three is a win."""

READ_ONLY = np.array(SCORES)
READ_ONLY.flags.writeable = False
FLIPPED = np.array(SCORES[::-1])[::-1]
SPARSE = torch.tensor(LABELS).to_sparse()


@pytest.mark.parametrize(
    "scores",
    [
        SCORES,
        tuple(SCORES),
        np.array(SCORES),
        np.array(SCORES, dtype=np.float16),
        np.array(SCORES, dtype=">f8"),
        READ_ONLY,
        FLIPPED,
        pd.Series(SCORES),
        pd.Series(SCORES, index=range(9, 3, -1), dtype="Float64"),
        [9, 8, 7, 6, 6, 4],
        [torch.tensor(score, requires_grad=True) for score in SCORES],
        torch.tensor(SCORES, requires_grad=True),
        torch.tensor(SCORES).repeat_interleave(2)[::2],
    ],
    ids=lambda scores: f"{type(scores).__name__}-{getattr(scores, 'dtype', '')}",
)
@pytest.mark.parametrize(
    "labels",
    [
        LABELS,
        [bool(label) for label in LABELS],
        np.array(LABELS, dtype=bool),
        np.array(LABELS, dtype=np.uint64),
        np.array(LABELS, dtype=np.float32),
        pd.Series(LABELS, dtype="Int64"),
        torch.tensor(LABELS, dtype=torch.uint16),
        torch.tensor(LABELS, dtype=torch.float16, requires_grad=True),
    ],
    ids=lambda labels: f"{type(labels).__name__}-{getattr(labels, 'dtype', type(labels[0]).__name__)}",
)
def test_every_kind_of_numbers_gives_the_same_value(scores: Any, labels: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert binary_partial_auc(scores, labels, max_fpr=0.34).item() == EXPECTED


def test_lists_are_compared_in_float64() -> None:
    assert binary_partial_auc([0.5 + 1e-12, 0.5], [1, 0]) == 1
    assert binary_partial_auc(np.array([0.5 + 1e-12, 0.5]), [1, 0]) == 1
    assert binary_partial_auc(torch.tensor([0.5 + 1e-12, 0.5]), [1, 0]) == 0.5  # torch made it float32


def test_arrays_are_left_as_they_are() -> None:
    generator = np.random.default_rng(0)
    scores, labels = generator.normal(size=(8, 50)), generator.integers(0, 2, size=(8, 50))
    before = scores.copy(), labels.copy()
    value = binary_partial_auc(scores, labels, max_fpr=0.3, min_tpr=0.4)
    np.testing.assert_array_equal((scores, labels), before)
    assert value == binary_partial_auc(scores.T, labels.T, max_fpr=0.3, min_tpr=0.4)


@pytest.mark.parametrize(
    ("scores", "labels", "message"),
    [
        ("0.5", [1], "`preds` must be a tensor, an array or a list of numbers, got a str"),
        (None, [1], "`preds` must be a tensor, an array or a list of numbers, got a NoneType"),
        (["a", "b"], [1, 0], "`preds` .* got a list of str .*: give one number per sample"),
        ([0.5, None], [1, 0], "`preds` .* got a list of float .*dtype object"),
        ([1j, 0.5], [1, 0], "`preds` .* got a list of complex .*dtype complex128"),
        ([[0.1, 0.2], [0.3]], [1, 0], "`preds` .* got a list of list that numpy cannot convert"),
        ({"a": 0.5}, [1], "`preds` .* got a dict"),
        ((score for score in SCORES), LABELS, "`preds` .* got a generator"),
        ([torch.tensor([0.1, 0.2]), torch.tensor([0.3])], [1, 0, 1], r"list of Tensor: .*torch.cat\(preds\)"),
        (np.array([9, 8, 7, 6, 6, 4]), LABELS, "`preds` must be scores of a dtype .* got torch.int64"),
        ([True, False], [1, 0], "`preds` must be scores of a dtype .* got torch.bool"),
        ([2**60, 2**60 + 1], [1, 0], "float64 can tell apart, got integers up to 1152921504606846977"),
        (np.ma.masked_greater(np.array(SCORES), 0.8), LABELS, "no masked values, .* 1 of 6 masked"),
        ([0.5, math.nan], [1, 0], r"`preds` must be finite, got nan \(1 of 2"),
        (
            pd.Series([0.5, None], dtype="Float64"),
            [1, 0],
            "`preds` must be finite, got nan|numpy dtype object",
        ),
        ([0.5, math.inf], [1, 0], "`preds` must be finite, got inf"),
        ([], [], "both classes, got no positive among 0 labels"),
        (torch.tensor(0.5), torch.tensor(1), "both classes, got no negative among 1 labels"),
        (0.5, 1, "both classes, got no negative among 1 labels"),
        (SCORES, ["yes", "no"] * 3, "`target` .* got a list of str .*: pass `labels == positive_class`"),
        (
            SCORES,
            pd.Series(["yes", "no"] * 3),
            "`target` .* got a Series .*: pass `labels == positive_class`",
        ),
        (SCORES, [1, 0, 2, 0, 1, 0], r"`target` must be 0 or 1, got 2 \(1 of 6"),
        (SCORES, np.array([1, 0, 2, 0, 1, 0], dtype=np.uint32), r"`target` must be 0 or 1, got 2 \(1 of 6"),
        (SCORES, LABELS[:5], r"same shape, got \(6,\) and \(5,\)"),
        (SCORES, pd.DataFrame({"label": LABELS}), r"same shape, got \(6,\) and \(6, 1\)"),
        (torch.tensor(SCORES), torch.empty(6, device="meta"), "on the same device, got cpu and meta"),
        (torch.empty(6, device="meta"), LABELS, "`preds` must be .* without data"),
        (
            torch.tensor(SCORES),
            SPARSE,
            "`target` must be an ordinary tensor, got one of layout torch.sparse_coo",
        ),
        (torch.tensor(SCORES).to(torch.float8_e4m3fn), LABELS, "`preds` .* got torch.float8_e4m3fn"),
    ],
)
def test_anything_else_is_one_sentence(scores: Any, labels: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        binary_partial_auc(scores, labels)


@pytest.mark.parametrize("device", ["cpu", *(["cuda"] if torch.cuda.is_available() else [])])
def test_arrays_follow_the_tensor_to_its_device(device: str) -> None:
    value = binary_partial_auc(torch.tensor(SCORES, device=device), np.array(LABELS), max_fpr=0.34)
    assert (value.item(), value.device.type) == (EXPECTED, device)
    value = binary_partial_auc(SCORES, torch.tensor(LABELS, device=device), max_fpr=0.34)
    assert (value.item(), value.device.type) == (EXPECTED, device)


def test_long_doubles_are_not_rounded_silently() -> None:
    wide = np.array(SCORES, dtype=np.longdouble)
    if wide.dtype.itemsize == 8:  # as on Windows and on Apple's processors
        assert binary_partial_auc(wide, LABELS, max_fpr=0.34).item() == EXPECTED
    else:
        with pytest.raises(InputError, match="a dtype that torch has, got float"):
            binary_partial_auc(wide, LABELS)


def test_counts_are_taken_as_lists_and_checked() -> None:
    # Three bins, 4 x 5 pairs, one undecided.
    assert partial_auc_from_counts([0, 1, 3], [4, 1, 0]).value.item() == float(Fraction(39, 40))
    assert (
        partial_auc_from_counts(np.array([0, 1, 3], dtype=np.uint16), torch.tensor([4, 1, 0])).value == 0.975
    )
    for counts, message in [
        ([0.5, 1.0, 3.0], "`pos_counts` must be integers, got torch.float64"),
        ([True, False, True], "`pos_counts` must be integers, got torch.bool"),
        ([0, -1, 3], "`pos_counts` must not be negative, got -1"),
        ([[0, 1, 3]], r"vectors of the same length, got shapes \(1, 3\) and \(3,\)"),
        (["a", "b", "c"], "`pos_counts` must be a tensor, an array or a list of numbers"),
    ]:
        with pytest.raises(InputError, match=message):
            partial_auc_from_counts(counts, [4, 1, 0])  # type: ignore[arg-type]
