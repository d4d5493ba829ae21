"""The partial AUC of binary scores, without any state: argument check, tensor check, computation."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import Literal, NamedTuple, get_args

import torch
from torch import Tensor

from pauc_lightning.errors import InputError
from pauc_lightning.metrics.functional.inputs import Values, as_counts, as_tensors, check_tensors
from pauc_lightning.metrics.functional.ties import Tie, Window
from pauc_lightning.region import Region

Ties = Literal["roc", "half", "win"]
Scale = Literal["ratio", "area", "mcclish"]


class PartialAUCBounds(NamedTuple):
    """A partial AUC computed from binned scores, and bounds of the exact one.

    Attributes:
        value: The partial AUC when the scores of one bin are taken as equal.
        lower: The smallest value that the exact scores can have.
        upper: The largest value that the exact scores can have.
    """

    value: Tensor
    lower: Tensor
    upper: Tensor


def binary_partial_auc(
    preds: Values,
    target: Values,
    max_fpr: float = 1.0,
    min_tpr: float = 0.0,
    min_fpr: float = 0.0,
    ties: Ties = "roc",
    scale: Scale = "ratio",
    validate_args: bool = True,
) -> Tensor:
    r"""Compute the partial AUC exactly: the area under the ROC curve inside the region, divided by the region's area.

    The region keeps the :math:`k_+ = \lfloor n_+(1-\text{min\_tpr})\rfloor` lowest-scored of the :math:`n_+` positives.
    With the :math:`n_-` negatives sorted from the highest score down, it selects those of rank :math:`[l, r)`, where
    :math:`l = \lfloor n_-\,\text{min\_fpr}\rfloor` and :math:`r = \lfloor n_-\,\text{max\_fpr}\rfloor`. The value is

    .. math:: \text{ratio} = \frac{1}{k_+(r-l)} \int_l^r \max\big(0,\, TP(x) - (n_+ - k_+)\big)\,dx
              \;\;\overset{\text{no ties}}{=}\;\; \operatorname{mean}_{\text{selected } i,j} \mathbf 1[f_i^+ > f_j^-],

    where TP(x) is the ROC curve in counts: the number of positives found at the cost of x negatives. Samples with the
    same score are joined by one straight line, as in scikit-learn's ``roc_curve`` and R's pROC. Without ties between
    the classes, the value is the mean over the selected pairs, the estimator behind the paper's tables.

    The paper's OPAUC(β) is ``max_fpr=β``, its TPAUC(α, β) is ``max_fpr=β, min_tpr=1-α``. Its α is the *fraction of
    positives kept*; ``min_tpr`` bounds the true-positive rate, as LibAUC's ``min_tpr`` does.

    The scores are compared, never transformed, so they may be logits. Wins are counted in 64-bit integers, the at most
    three ties that an edge of the region cuts are counted in fractions, and the division is the only rounding. There
    is no table of pairs: selection is linear in the number of samples, and only the selected samples are sorted.

    Args:
        preds: Finite scores of any floating dtype and shape; higher means more positive. A tensor, a numpy array, a
            list (its numbers are read as float64) or a pandas Series.
        target: Labels 0 and 1 (bool, integer or float), of the shape of ``preds``.
        max_fpr: Largest false-positive rate that counts; the paper's β.
        min_tpr: Smallest true-positive rate that counts; the paper's 1 - α.
        min_fpr: Smallest false-positive rate that counts; above 0 it makes a band of rates.
        ties: The credit for a positive that ties with a negative. ``"roc"``: the area under the ROC curve's straight
            line, as far as it lies in the region. ``"half"`` and ``"win"`` select samples first (any of the tied ones)
            and then credit each selected pair that ties with half a win or a whole one. They exist for comparison with
            published code; do not select a model by them. With ``"half"`` a constant score gets 0.5 in *every* region,
            where a good model may get less; with ``"win"``, the paper's literal formula, it gets 1.
        scale: ``"ratio"``: the value above, in [0, 1]. ``"area"``: the ratio times the region's area. ``"mcclish"``:
            the value of scikit-learn's ``roc_auc_score(max_fpr=...)``, 0.5 for chance and 1 for perfect, for one-way
            regions and not with ``ties="win"``. It interpolates the ROC curve up to ``max_fpr`` itself instead of
            taking a whole number of negatives. It therefore needs no minimal count, and :func:`convert_partial_auc` of
            the ratio equals it only if ``max_fpr`` is a whole number of negatives.
        validate_args: Whether to check that labels are 0 or 1 and scores are finite, which takes one pass over each
            tensor.

    Returns:
        A float64 scalar on the device of ``preds`` (float32 if the device has no float64).

    Raises:
        InputError: If an argument is out of range, scores and labels do not fit together, a class is missing, or the
            region selects no sample.

    References:
        - Dodd and Pepe, *Partial AUC Estimation and Regression*, Biometrics 59(3), 2003,
          `doi:10.1111/1541-0420.00071 <https://doi.org/10.1111/1541-0420.00071>`_ (one-way).
        - Yang, Lu, Lyu and Hu, *Two-Way Partial AUC and Its Properties*, Statistical Methods in Medical Research 28(1),
          2019, `doi:10.1177/0962280217718866 <https://doi.org/10.1177/0962280217718866>`_ (two-way).
        - McClish, *Analyzing a Portion of the ROC Curve*, Medical Decision Making 9(3), 1989,
          `doi:10.1177/0272989X8900900307 <https://doi.org/10.1177/0272989X8900900307>`_ (``scale="mcclish"``).
        - Jiang et al., *Closing the Approximation Gap of Partial AUC Optimization: A Tale of Two Formulations*, 2025,
          `arXiv:2512.01213 <https://arxiv.org/abs/2512.01213>`_ ("the paper").

    Example:
        >>> preds = torch.tensor([0.9, 0.8, 0.7, 0.6, 0.5, 0.4])
        >>> target = torch.tensor([1, 0, 1, 0, 0, 0])
        >>> binary_partial_auc(preds, target)
        tensor(0.8750, dtype=torch.float64)
        >>> binary_partial_auc(preds, target, max_fpr=0.5)
        tensor(0.7500, dtype=torch.float64)
        >>> binary_partial_auc(preds, target, max_fpr=0.5, min_tpr=0.5)
        tensor(0.5000, dtype=torch.float64)
        >>> binary_partial_auc([0.7] * 8, [0, 1] * 4, max_fpr=0.25)  # a constant score: the area under the diagonal
        tensor(0.1250, dtype=torch.float64)
    """
    region = Region(max_fpr, min_tpr, min_fpr)
    check_arguments(region, ties, scale)
    scores, labels = as_tensors(preds, target)
    check_tensors(scores, labels, values=validate_args)
    return compute_exact(scores, labels, region, ties, scale)


def partial_auc_from_counts(
    pos_counts: Values,
    neg_counts: Values,
    max_fpr: float = 1.0,
    min_tpr: float = 0.0,
    min_fpr: float = 0.0,
    ties: Ties = "roc",
    scale: Scale = "ratio",
) -> PartialAUCBounds:
    """Compute the partial AUC of binned scores, and tight bounds of the exact one.

    The value treats the scores of one bin as equal. Pairs in different bins are ordered correctly. In the best case
    every positive beats the negatives of its bin (``upper``), in the worst case none does (``lower``).

    Both cases can occur, so no tighter bounds follow from the counts. Proof for ``ties="roc"``: the exact ROC curve
    rises monotonically and passes through the corners of the binned one. Between two corners it therefore stays in
    their box: not above the path that goes up first (``upper``) and not below the path that goes right first
    (``lower``). The area inside the region, ∫ max(0, TP(x) - const) dx, grows with TP, so the areas of the three curves
    have the same order. The straight line through the box, which gives ``value``, lies between the two paths as well.
    For ``"half"`` and ``"win"`` each selected pair of one bin is credited between 0 and 1.

    Args:
        pos_counts: Number of positives per bin, shape (bins,), bins in ascending order of score; integers.
        neg_counts: Number of negatives per bin, likewise.
        max_fpr: Largest false-positive rate that counts.
        min_tpr: Smallest true-positive rate that counts.
        min_fpr: Smallest false-positive rate that counts.
        ties: The credit for a positive and a negative in the same bin, see :func:`binary_partial_auc`.
        scale: The scale of all three results, see :func:`binary_partial_auc`.

    Returns:
        ``value``, ``lower`` and ``upper``: float64 scalars on the device of the counts.

    Raises:
        InputError: If an argument is out of range, the counts do not fit together, a class is missing, or the region
            selects no sample.

    Example:
        >>> pos_counts, neg_counts = torch.tensor([0, 1, 3]), torch.tensor([4, 1, 0])
        >>> value, lower, upper = partial_auc_from_counts(pos_counts, neg_counts)
        >>> value, upper - lower  # one of the 20 pairs is undecided
        (tensor(0.9750, dtype=torch.float64), tensor(0.0500, dtype=torch.float64))
    """
    region = Region(max_fpr, min_tpr, min_fpr)
    check_arguments(region, ties, scale)
    positives, negatives = as_counts(pos_counts, neg_counts)
    n_pos, n_neg = int(positives.sum()), int(negatives.sum())
    window = _window(region, scale, n_pos, n_neg)
    lower_scored = positives.cumsum(0) - positives
    weight = torch.minimum(positives, (window.kept - lower_scored).clamp(min=0))
    at_or_above = negatives.flip(0).cumsum(0).flip(0)
    above = at_or_above - negatives

    def value(above: Tensor, at_or_above: Tensor, cut: Iterable[Tie] = ()) -> Tensor:
        if scale == "mcclish":
            area = _interpolated_area(above, at_or_above, weight, region.max_fpr * n_neg)
            result = _mcclish(area, region, n_pos, n_neg)
        else:
            result = _ratio(_credit(above, at_or_above, weight, window), cut, window, region, scale)
        return _scalar(result, positives.device)

    lower, upper = value(at_or_above, at_or_above), value(above, above)
    if ties == "win":
        return PartialAUCBounds(upper, lower, upper)
    cut = _cut_bins(positives, negatives, above, lower_scored, window) if ties == "roc" else ()
    return PartialAUCBounds(value(above, at_or_above, cut), lower, upper)


def convert_partial_auc(
    value: float,
    source: Scale,
    target: Scale,
    max_fpr: float = 1.0,
    min_tpr: float = 0.0,
    min_fpr: float = 0.0,
) -> float:
    r"""Convert a partial AUC between the three scales in use.

    .. math:: \text{area} = \text{ratio}\cdot(\text{max\_fpr}-\text{min\_fpr})(1-\text{min\_tpr}), \qquad
              \text{mcclish} = \frac12\Big(1 + \frac{\text{area}-\beta^2/2}{\beta-\beta^2/2}\Big)

    with β = ``max_fpr``. McClish's standardisation (1989, see :func:`binary_partial_auc`) is for one-way regions.

    Args:
        value: The partial AUC.
        source: Scale of ``value``.
        target: Scale of the result.
        max_fpr: Largest false-positive rate of the region.
        min_tpr: Smallest true-positive rate of the region.
        min_fpr: Smallest false-positive rate of the region.

    Returns:
        The same partial AUC in the other scale.

    Raises:
        InputError: If a scale is unknown, or McClish's is asked for a region for which it is not defined.

    Example:
        >>> round(convert_partial_auc(0.75, "ratio", "area", max_fpr=0.5), 6)
        0.375
        >>> round(convert_partial_auc(0.25, "ratio", "mcclish", max_fpr=0.5), 6)  # chance: half of max_fpr
        0.5
    """
    region = Region(max_fpr, min_tpr, min_fpr)
    for scale in (source, target):
        check_arguments(region, "roc", scale)
    if source == target:
        return value  # a detour through the area would round
    chance = max_fpr**2 / 2
    area = value
    if source == "ratio":
        area = value * region.size
    elif source == "mcclish":
        area = (2 * value - 1) * (max_fpr - chance) + chance
    if target == "ratio":
        return area / region.size
    if target == "mcclish":
        return 0.5 * (1 + (area - chance) / (max_fpr - chance))
    return area


def check_arguments(region: Region, ties: Ties, scale: Scale) -> None:
    """Reject unknown options, and regions for which McClish's scale is not defined."""
    if ties not in get_args(Ties):
        raise InputError(f"`ties` must be one of {get_args(Ties)}, got {ties!r}.")
    if scale not in get_args(Scale):
        raise InputError(f"`scale` must be one of {get_args(Scale)}, got {scale!r}.")
    if scale == "mcclish" and (region.is_two_way or region.min_fpr > 0 or ties == "win"):
        raise InputError(
            '`scale="mcclish"` is defined for one-way regions and ties="roc" only, got '
            f'min_tpr={region.min_tpr!r}, min_fpr={region.min_fpr!r}, ties={ties!r}: use scale="ratio" or '
            'scale="area" for this region.'
        )


def compute_exact(preds: Tensor, target: Tensor, region: Region, ties: Ties, scale: Scale) -> Tensor:
    """Compute the partial AUC of checked input; see :func:`binary_partial_auc`."""
    preds = preds.detach().flatten()
    if preds.dtype in (torch.float16, torch.bfloat16):
        preds = preds.float()  # exact, and sorting halves is slow or missing
    is_positive = target.detach().flatten() == 1
    positives = preds[is_positive]
    n_pos = positives.numel()
    n_neg = preds.numel() - n_pos
    window = _window(region, scale, n_pos, n_neg)

    # Positives at -inf are never among the `last` highest negatives; this is cheaper than copying the negatives out.
    negatives = preds.masked_fill(is_positive, -math.inf)
    highest = _extremes(negatives, window.last, largest=True)
    lowest = _extremes(positives, window.kept, largest=False)
    if scale == "mcclish":
        above, at_or_above = _ranks(lowest, highest)
        # Interpolation across a tie at the edge needs all negatives of that tie, also those not selected.
        edge = highest[0]
        at_or_above = torch.where(lowest == edge, torch.count_nonzero(negatives >= edge), at_or_above)
        area = _interpolated_area(above, at_or_above, None, region.max_fpr * n_neg)
        return _scalar(_mcclish(area, region, n_pos, n_neg), preds.device)
    credit = _credit_of_pairs(lowest, highest[: window.width], ties)
    cut = _ties_at_edges(preds, is_positive, lowest, highest, window) if ties == "roc" else ()
    return _scalar(_ratio(credit, cut, window, region, scale), preds.device)


def widest_float(device: torch.device) -> torch.dtype:
    """Return the most precise floating dtype of a device: Apple's GPUs have no float64."""
    return torch.float32 if device.type == "mps" else torch.float64


def _window(region: Region, scale: Scale, n_pos: int, n_neg: int) -> Window:
    """Return how many positives and which ranks of negatives the computation needs; reject an empty selection."""
    for name, count in (("positive", n_pos), ("negative", n_neg)):
        if count == 0:
            raise InputError(
                f"`target` must contain both classes, got no {name} among {n_pos + n_neg} labels: collect "
                "more samples before computing (call update() per batch and compute() at the end)."
            )
    kept, first, last = region.counts(n_pos, n_neg)
    if scale == "mcclish":
        return Window(n_pos, n_pos, 0, min(n_neg, math.ceil(n_neg * region.max_fpr)))
    if kept == 0:
        largest = math.floor((1 - 1 / n_pos) * 1e6) / 1e6
        raise InputError(
            f"`min_tpr`={region.min_tpr!r} keeps 0 of {n_pos} positives (⌊{n_pos}·(1 - min_tpr)⌋ = 0): the "
            f"smallest fraction to keep is 1/{n_pos}, that is `min_tpr` = 1 - 1/{n_pos}; write {largest:g}."
        )
    if first == last:
        smallest = math.ceil((first + 1) / n_neg * 1e6) / 1e6
        raise InputError(
            f"`max_fpr`={region.max_fpr!r} with `min_fpr`={region.min_fpr!r} keeps 0 of {n_neg} negatives "
            f"(⌊{n_neg}·max_fpr⌋ = ⌊{n_neg}·min_fpr⌋ = {last}): the smallest `max_fpr` that works with this "
            f"`min_fpr` is {first + 1}/{n_neg}; write {smallest:g}."
        )
    return Window(n_pos, kept, first, last)


def _extremes(values: Tensor, count: int, largest: bool) -> Tensor:
    """Return the ``count`` smallest or largest values in ascending order; may permute ``values`` in place."""
    n = values.numel()
    selected = slice(n - count, n) if largest else slice(count)
    if values.device.type != "cpu":
        return values.sort().values[selected]
    # On a CPU, numpy's vectorised selection and sort are about ten times faster than torch's.
    array = values.numpy()
    if count < n:
        array.partition(n - count if largest else count - 1)
    array[selected].sort()
    return values[selected]


def _lookup(ascending: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
    """Count how many of the ``ascending`` are below each of the ``values``, and how many are not above it."""
    return torch.searchsorted(ascending, values), torch.searchsorted(ascending, values, right=True)


def _ranks(positives: Tensor, ascending_negatives: Tensor) -> tuple[Tensor, Tensor]:
    """Count how many negatives are above each positive, and how many are not below it."""
    below, at_or_below = _lookup(ascending_negatives, positives)
    n = ascending_negatives.numel()
    return n - at_or_below, n - below


def _credit_of_pairs(positives: Tensor, negatives: Tensor, ties: Ties) -> Fraction:
    """Sum the credit of all pairs of ascending positives and negatives; a tie is worth 1/2, with ``"win"`` 1."""
    n_pos, n_neg = positives.numel(), negatives.numel()
    if n_pos <= n_neg:
        above, at_or_above = _ranks(positives, negatives)
        window = Window(n_pos, n_pos, 0, n_neg)
    else:
        # Look up the smaller class in the larger one, with the roles exchanged: for a negative, the positives below
        # it are what the negatives above are for a positive.
        above, at_or_above = _lookup(positives, negatives)
        window = Window(n_neg, n_neg, 0, n_pos)
    return _credit(above, above if ties == "win" else at_or_above, None, window)


def _credit(above: Tensor, at_or_above: Tensor, weight: Tensor | None, window: Window) -> Fraction:
    """Sum the credit of the kept positives from their ranks among the negatives; a tie is worth 1/2.

    A positive with A negatives above it and B at or above it wins against the negatives from rank B on and ties with
    those of rank [A, B). Only the selected ranks ``[first, last)`` count, so its credit is ``last - (A + B) / 2`` with
    A and B clamped to that interval. B = A gives full credit for ties.

    Args:
        above: A of every kept positive (or bin), int64.
        at_or_above: B of every kept positive (or bin), int64.
        weight: Number of kept positives per entry; None means one each.
        window: Which positives and negatives count.
    """
    first, last = window.first, window.last
    lost = above.clamp(first, last) + at_or_above.clamp(first, last)
    total = 2 * window.kept * last
    if weight is None:
        return Fraction(total - int(lost.sum()), 2)
    if total < 2**63:
        return Fraction(total - int((lost * weight).sum()), 2)
    # Counts in the billions would overflow 64 bits; Python's integers do not.
    return Fraction(total - sum(x * w for x, w in zip(lost.tolist(), weight.tolist(), strict=True)), 2)


def _ties_at_edges(
    preds: Tensor, is_positive: Tensor, lowest: Tensor, highest: Tensor, window: Window
) -> Iterator[Tie]:
    """Yield the ties between the classes that an edge of the window may cut, at most one for each edge.

    Args:
        preds: All scores.
        is_positive: Which of them belong to positives.
        lowest: The kept positives in ascending order.
        highest: The ``last`` highest negatives in ascending order.
        window: Which positives and negatives count.
    """
    edges = [highest[0]]
    if window.first > 0:
        edges.append(highest[window.width - 1])
    if window.bottom > 0:
        edges.append(lowest[-1])
    scores = torch.stack(edges)
    ranks = torch.stack([*_lookup(lowest, scores), *_lookup(highest, scores)]).T.tolist()
    # Keyed by the score, because several edges may cut the same tie; 0.0 and -0.0 are the same key.
    for score, (pos_below, pos_upto, neg_below, neg_upto) in dict(
        zip(scores.tolist(), ranks, strict=True)
    ).items():
        if pos_below == pos_upto or neg_below == neg_upto:
            continue  # only one class has this score
        tied = preds == score
        positives = int(torch.count_nonzero(tied & is_positive))
        negatives = int(torch.count_nonzero(tied)) - positives
        if min(positives, negatives) > 0:  # false only for NaN in unchecked scores
            yield Tie(window.n_pos - pos_below - positives, positives, window.last - neg_upto, negatives)


def _cut_bins(
    positives: Tensor, negatives: Tensor, neg_above: Tensor, pos_below: Tensor, window: Window
) -> Iterator[Tie]:
    """Yield the bins with both classes that an edge of the window cuts, at most one for each edge."""
    pos_above = window.n_pos - pos_below - positives
    is_cut = (pos_above < window.bottom) & (pos_above + positives > window.bottom)
    for edge in (window.first, window.last):
        is_cut |= (neg_above < edge) & (neg_above + negatives > edge)
    is_cut &= (positives > 0) & (negatives > 0)
    for numbers in torch.stack([pos_above, positives, neg_above, negatives])[:, is_cut].T.tolist():
        yield Tie(*numbers)


def _ratio(credit: Fraction, cut: Iterable[Tie], window: Window, region: Region, scale: Scale) -> float:
    """Compute the partial AUC from the credit of all pairs, corrected for ties that the window's edges cut."""
    area = credit
    for tie in cut:
        area -= tie.excess_credit(window)
    # This division is the only rounding, however large the integers are.
    ratio = area.numerator / (area.denominator * window.kept * window.width)
    return convert_partial_auc(ratio, "ratio", scale, region.max_fpr, region.min_tpr, region.min_fpr)


def _mcclish(area: float, region: Region, n_pos: int, n_neg: int) -> float:
    """Convert an area in units of one pair to McClish's scale."""
    return convert_partial_auc(area / (n_pos * n_neg), "area", "mcclish", region.max_fpr)


def _interpolated_area(above: Tensor, at_or_above: Tensor, weight: Tensor | None, end: float) -> float:
    """Compute the area under the linearly interpolated ROC curve left of ``end``, in units of one pair.

    A positive lifts the curve linearly from 0 at A to 1 at B, see :func:`_credit`.
    """
    a, b = (ranks.to(widest_float(ranks.device)) for ranks in (above, at_or_above))
    partial = (end - a).clamp(min=0) ** 2 / (2 * (b - a)).clamp(min=1)
    area = torch.where(b <= end, end - (a + b) / 2, partial)
    return float((area if weight is None else area * weight).sum())


def _scalar(value: float, device: torch.device) -> Tensor:
    return torch.tensor(value, dtype=widest_float(device), device=device)
