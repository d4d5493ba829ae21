"""The partial AUC of binary scores: argument check, tensor check, computation, without any state."""

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
    """A partial AUC computed from binned scores, and the range the exact one must lie in."""

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
    r"""Compute the partial AUC exactly: the area under the ROC curve inside the region, over the region's size.

    Of the :math:`n_+` positives the :math:`k_+ = \lfloor n_+(1-\text{min\_tpr})\rfloor` lowest-scored are kept,
    of the :math:`n_-` negatives those of descending rank :math:`[l, r)` with
    :math:`l = \lfloor n_-\,\text{min\_fpr}\rfloor` and :math:`r = \lfloor n_-\,\text{max\_fpr}\rfloor`. If no
    positive ties with a negative, the value is the mean over the selected pairs, which is the estimator behind the
    paper's tables; in general

    .. math:: \text{ratio} = \frac{1}{k_+(r-l)} \int_l^r \max\big(0,\, TP(x) - (n_+ - k_+)\big)\,dx
              \;\;\overset{\text{no ties}}{=}\;\; \operatorname{mean}_{\text{selected } i,j} \mathbf 1[f_i^+ > f_j^-],

    where TP(x), the number of positives found at the cost of x negatives, is the ROC curve in counts: samples with
    the same score are joined by one straight line, as in scikit-learn's ``roc_curve`` and R's pROC.

    OPAUC(β) is ``max_fpr=β``, TPAUC(α, β) is ``max_fpr=β, min_tpr=1-α``. The paper's α is the *fraction of positives
    kept*, not a bound on the true-positive rate; ``min_tpr`` is such a bound and means what LibAUC's ``min_tpr`` means.

    The scores are compared, never transformed, so logits will do. Wins are counted in 64-bit integers, the ties that
    an edge of the region cuts (three at most) as fractions, and the division is the only rounding. No table of pairs
    is built: selection is linear in the number of samples, and only what is selected gets sorted.

    Args:
        preds: Finite scores of any floating dtype and shape; higher means more positive. A tensor, a numpy array, a
            list (its numbers are taken as float64) or a pandas Series.
        target: Labels 0 and 1 (bool, integer or float), of the shape of ``preds``.
        max_fpr: Largest false-positive rate that counts; the paper's β.
        min_tpr: Smallest true-positive rate that counts; the paper's 1 - α.
        min_fpr: Smallest false-positive rate that counts; above 0 it makes a band of rates.
        ties: What a positive that ties with a negative is worth. ``"roc"``: what the ROC curve leaves of it in the
            region. The two others select samples first, whichever of the tied ones, and credit the selected pairs
            that tie afterwards; they are for comparison with published code and must not select a model.
            ``"half"``: half a win, under which a constant score has 0.5 in *every* region, however small, where a
            good model may have less. ``"win"``: a whole win, the paper's literal formula, under which a constant
            score is perfect.
        scale: ``"ratio"``: the value above, in [0, 1]. ``"area"``: ratio times the region's size, so that 1 is
            out of reach unless the region is the whole square. ``"mcclish"``: what scikit-learn's
            ``roc_auc_score(max_fpr=...)`` returns, 0.5 for chance and 1 for perfect; one-way regions only, and not
            ``ties="win"``. It interpolates the ROC curve up to ``max_fpr`` itself instead of taking a whole number
            of negatives. So it needs no minimal count, and :func:`convert_partial_auc` of the ratio gives it only
            if ``max_fpr`` is a whole number of negatives.
        validate_args: Whether to look for labels other than 0 and 1 and for scores that are not finite; costs
            one pass over each tensor.

    Returns:
        A float64 scalar on the device of ``preds`` (float32 where the device has no float64).

    Raises:
        InputError: For arguments out of range, tensors that do not fit, a missing class, or a region that
            selects nobody.

    Example:
        >>> preds = torch.tensor([0.9, 0.8, 0.7, 0.6, 0.5, 0.4])
        >>> target = torch.tensor([1, 0, 1, 0, 0, 0])
        >>> binary_partial_auc(preds, target)
        tensor(0.8750, dtype=torch.float64)
        >>> binary_partial_auc(preds, target, max_fpr=0.5)
        tensor(0.7500, dtype=torch.float64)
        >>> binary_partial_auc(preds, target, max_fpr=0.5, min_tpr=0.5)
        tensor(0.5000, dtype=torch.float64)
        >>> binary_partial_auc([0.7] * 8, [0, 1] * 4, max_fpr=0.25)  # a constant score: what the diagonal leaves
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
    """Compute the partial AUC of binned scores, with the range in which the exact one must lie.

    The value treats the scores of one bin as equal. Pairs in different bins are ordered correctly; in the
    best case every positive beats the negatives of its bin (``upper``), in the worst none does (``lower``).

    Whatever the scores within the bins, tied or not, the exact value lies between these two, which are therefore the
    best bounds that the counts allow. For ``ties="roc"``: the exact ROC curve rises monotonically and passes through
    the corners of the binned one, so between two corners it stays in their box: not above the path that goes up first
    (``upper``) and not below the path that goes right first (``lower``). The area inside the region,
    ∫ max(0, TP(x) - const) dx, grows with TP, so the areas of the three curves are ordered in the same way. The
    straight line through the box, which is the ``value``, lies between the paths as well. For ``"half"`` and
    ``"win"``: each selected pair of one bin is credited between 0 and 1.

    Args:
        pos_counts: Number of positives per bin, shape (bins,), bins in ascending order of score; integers.
        neg_counts: Number of negatives per bin, likewise.
        max_fpr: See :func:`binary_partial_auc`, as for the other arguments.
        min_tpr: Smallest true-positive rate that counts.
        min_fpr: Smallest false-positive rate that counts.
        ties: What a positive and a negative in the same bin are worth.
        scale: Scale of all three results.

    Returns:
        ``value``, ``lower`` and ``upper``, scalars like that of :func:`binary_partial_auc`.

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

    with β = ``max_fpr``; McClish's standardisation (Medical Decision Making 9, 1989) is for one-way regions.

    Args:
        value: The partial AUC.
        source: Scale of ``value``.
        target: Scale of the result.
        max_fpr: Largest false-positive rate of the region.
        min_tpr: Smallest true-positive rate of the region.
        min_fpr: Smallest false-positive rate of the region.

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
        return value  # not by way of the area, which would round
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
    """Reject unknown options and what McClish's scale is not defined for."""
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
    """The partial AUC of checked input; see :func:`binary_partial_auc`."""
    preds = preds.detach().flatten()
    if preds.dtype in (torch.float16, torch.bfloat16):
        preds = preds.float()  # exact, and sorting halves is slow or missing
    is_positive = target.detach().flatten() == 1
    positives = preds[is_positive]
    n_pos = positives.numel()
    n_neg = preds.numel() - n_pos
    window = _window(region, scale, n_pos, n_neg)

    # Positives at -inf never enter the highest `last` negatives; cheaper than copying the negatives out.
    negatives = preds.masked_fill(is_positive, -math.inf)
    highest = _extremes(negatives, window.last, largest=True)
    lowest = _extremes(positives, window.kept, largest=False)
    if scale == "mcclish":
        above, at_or_above = _ranks(lowest, highest)
        # Interpolation across a tie at the edge needs all negatives of that tie, the unselected ones as well.
        edge = highest[0]
        at_or_above = torch.where(lowest == edge, torch.count_nonzero(negatives >= edge), at_or_above)
        area = _interpolated_area(above, at_or_above, None, region.max_fpr * n_neg)
        return _scalar(_mcclish(area, region, n_pos, n_neg), preds.device)
    credit = _credit_of_pairs(lowest, highest[: window.width], ties)
    cut = _ties_at_edges(preds, is_positive, lowest, highest, window) if ties == "roc" else ()
    return _scalar(_ratio(credit, cut, window, region, scale), preds.device)


def widest_float(device: torch.device) -> torch.dtype:
    """The most precise floating dtype of a device: Apple's GPUs have no float64."""
    return torch.float32 if device.type == "mps" else torch.float64


def _window(region: Region, scale: Scale, n_pos: int, n_neg: int) -> Window:
    """How many positives, and which ranks of negatives, the computation needs; an error if there are none."""
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
    """The ``count`` smallest or largest values in ascending order; ``values`` may be permuted in place."""
    n = values.numel()
    selected = slice(n - count, n) if largest else slice(count)
    if values.device.type != "cpu":
        return values.sort().values[selected]
    # numpy's vectorised selection and sort are about ten times faster than torch's on a CPU.
    array = values.numpy()
    if count < n:
        array.partition(n - count if largest else count - 1)
    array[selected].sort()
    return values[selected]


def _lookup(ascending: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
    """How many of the ``ascending`` are below each of the ``values``, and how many are not above it."""
    return torch.searchsorted(ascending, values), torch.searchsorted(ascending, values, right=True)


def _ranks(positives: Tensor, ascending_negatives: Tensor) -> tuple[Tensor, Tensor]:
    """How many negatives are above each positive, and how many are not below it."""
    below, at_or_below = _lookup(ascending_negatives, positives)
    n = ascending_negatives.numel()
    return n - at_or_below, n - below


def _credit_of_pairs(positives: Tensor, negatives: Tensor, ties: Ties) -> Fraction:
    """The credit of all pairs of ascending positives and negatives; a tie is worth 1/2, with ``"win"`` 1."""
    n_pos, n_neg = positives.numel(), negatives.numel()
    if n_pos <= n_neg:
        above, at_or_above = _ranks(positives, negatives)
        window = Window(n_pos, n_pos, 0, n_neg)
    else:
        # Look up the fewer in the more: seen from a negative, the positives below it take the place of the
        # negatives above a positive.
        above, at_or_above = _lookup(positives, negatives)
        window = Window(n_neg, n_neg, 0, n_pos)
    return _credit(above, above if ties == "win" else at_or_above, None, window)


def _credit(above: Tensor, at_or_above: Tensor, weight: Tensor | None, window: Window) -> Fraction:
    """The credit of the kept positives from their ranks among the negatives; a tie is worth 1/2.

    A positive with A negatives above it and B at or above it wins against those of rank B and later and ties
    with those of rank [A, B). Ranks are counted within the selected ones, ``[first, last)``, so its credit is
    ``last - (A + B) / 2`` with A and B clamped to that interval; full credit for ties is the case B = A.

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
    # Counts of billions would overflow 64 bits; Python's integers do not.
    return Fraction(total - sum(x * w for x, w in zip(lost.tolist(), weight.tolist(), strict=True)), 2)


def _ties_at_edges(
    preds: Tensor, is_positive: Tensor, lowest: Tensor, highest: Tensor, window: Window
) -> Iterator[Tie]:
    """The ties between the classes that an edge of the window may cut: at most one for each edge.

    Args:
        preds: All scores.
        is_positive: Which of them are positives'.
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
    # Keyed by the score, because several edges may cut the same tie; as keys 0.0 and -0.0 are equal.
    for score, (pos_below, pos_upto, neg_below, neg_upto) in dict(
        zip(scores.tolist(), ranks, strict=True)
    ).items():
        if pos_below == pos_upto or neg_below == neg_upto:
            continue  # only one class has this score
        tied = preds == score
        positives = int(torch.count_nonzero(tied & is_positive))
        negatives = int(torch.count_nonzero(tied)) - positives
        if min(positives, negatives) > 0:  # unless unchecked scores are NaN
            yield Tie(window.n_pos - pos_below - positives, positives, window.last - neg_upto, negatives)


def _cut_bins(
    positives: Tensor, negatives: Tensor, neg_above: Tensor, pos_below: Tensor, window: Window
) -> Iterator[Tie]:
    """The bins with both classes that an edge of the window cuts, at most one for each edge; all are per bin."""
    pos_above = window.n_pos - pos_below - positives
    is_cut = (pos_above < window.bottom) & (pos_above + positives > window.bottom)
    for edge in (window.first, window.last):
        is_cut |= (neg_above < edge) & (neg_above + negatives > edge)
    is_cut &= (positives > 0) & (negatives > 0)
    for numbers in torch.stack([pos_above, positives, neg_above, negatives])[:, is_cut].T.tolist():
        yield Tie(*numbers)


def _ratio(credit: Fraction, cut: Iterable[Tie], window: Window, region: Region, scale: Scale) -> float:
    """The partial AUC from the credit of all pairs, corrected for ties that the window's edges cut."""
    area = credit - sum((tie.excess_credit(window) for tie in cut), Fraction(0))
    # The only rounding, however large the integers are.
    ratio = float(area / (window.kept * window.width))
    return convert_partial_auc(ratio, "ratio", scale, region.max_fpr, region.min_tpr, region.min_fpr)


def _mcclish(area: float, region: Region, n_pos: int, n_neg: int) -> float:
    """McClish's scale of an area in units of one pair."""
    return convert_partial_auc(area / (n_pos * n_neg), "area", "mcclish", region.max_fpr)


def _interpolated_area(above: Tensor, at_or_above: Tensor, weight: Tensor | None, end: float) -> float:
    """The area under the linearly interpolated ROC curve left of ``end``, in units of one pair.

    A positive lifts the curve linearly from 0 at A to 1 at B, see :func:`_credit`.
    """
    a, b = (ranks.to(widest_float(ranks.device)) for ranks in (above, at_or_above))
    partial = (end - a).clamp(min=0) ** 2 / (2 * (b - a)).clamp(min=1)
    area = torch.where(b <= end, end - (a + b) / 2, partial)
    return float((area if weight is None else area * weight).sum())


def _scalar(value: float, device: torch.device) -> Tensor:
    return torch.tensor(value, dtype=widest_float(device), device=device)
