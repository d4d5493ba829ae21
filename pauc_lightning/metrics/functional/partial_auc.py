"""The partial AUC of binary scores: argument check, tensor check, computation, without any state."""

from __future__ import annotations

import math
from typing import Literal, NamedTuple, get_args

import torch
from torch import Tensor

from pauc_lightning.errors import InputError
from pauc_lightning.region import Region

Ties = Literal["half", "win"]
Scale = Literal["ratio", "area", "mcclish"]


SCORE_DTYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


class PartialAUCBounds(NamedTuple):
    """A partial AUC computed from binned scores, and the range the exact one must lie in."""

    value: Tensor
    lower: Tensor
    upper: Tensor


def binary_partial_auc(
    preds: Tensor,
    target: Tensor,
    max_fpr: float = 1.0,
    min_tpr: float = 0.0,
    min_fpr: float = 0.0,
    ties: Ties = "half",
    scale: Scale = "ratio",
    validate_args: bool = True,
) -> Tensor:
    r"""Compute the partial AUC exactly: the mean credit over the pairs that the region selects.

    Of the :math:`n_+` positives the :math:`k = \lfloor n_+(1-\text{min\_tpr})\rfloor` lowest-scored are kept,
    of the :math:`n_-` negatives those of descending rank
    :math:`[\lfloor n_-\,\text{min\_fpr}\rfloor, \lfloor n_-\,\text{max\_fpr}\rfloor)`, and

    .. math:: \text{ratio} = \operatorname{mean}_{\text{kept } i,j}
              \big(\mathbf 1[f_i^+ > f_j^-] + \tfrac12\,\mathbf 1[f_i^+ = f_j^-]\big).

    This is the estimator behind the paper's tables: OPAUC(β) is ``max_fpr=β``, TPAUC(α, β) is ``max_fpr=β,
    min_tpr=1-α``. The paper's α is the *fraction of positives kept*, not a bound on the true-positive rate;
    ``min_tpr`` is such a bound and means what LibAUC's ``min_tpr`` means.

    The scores are compared, never transformed, so logits will do. Wins are counted in 64-bit integers and
    divided once. Which of several equal scores at the region's edge is kept makes no difference. No table of
    pairs is built: selection is linear in the number of samples, and only what is selected gets sorted.

    Args:
        preds: Finite scores of any floating dtype and shape; higher means more positive.
        target: Labels 0 and 1 (bool, integer or float), of the shape of ``preds``.
        max_fpr: Largest false-positive rate that counts; the paper's β.
        min_tpr: Smallest true-positive rate that counts; the paper's 1 - α.
        min_fpr: Smallest false-positive rate that counts; above 0 it makes a band of rates.
        ties: ``"half"``: a positive that ties with a negative gets half the credit. ``"win"``: it gets all of
            it, the paper's literal formula, under which a constant score is perfect.
        scale: ``"ratio"``: the mean above, in [0, 1]. ``"area"``: ratio times the region's size, so that 1 is
            out of reach unless the region is the whole square. ``"mcclish"``: what scikit-learn's
            ``roc_auc_score(max_fpr=...)`` returns, 0.5 for chance and 1 for perfect; one-way regions and
            ``ties="half"`` only. It interpolates the ROC curve up to ``max_fpr`` itself instead of taking a
            whole number of negatives. So it needs no minimal count, and :func:`convert_partial_auc` of the
            ratio gives it only if ``max_fpr`` is a whole number of negatives and no tie between the classes
            straddles it.
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
    """
    region = Region(max_fpr, min_tpr, min_fpr)
    check_arguments(region, ties, scale)
    check_tensors(preds, target, values=validate_args)
    return compute_exact(preds, target, region, ties, scale)


def partial_auc_from_counts(
    pos_counts: Tensor,
    neg_counts: Tensor,
    max_fpr: float = 1.0,
    min_tpr: float = 0.0,
    min_fpr: float = 0.0,
    ties: Ties = "half",
    scale: Scale = "ratio",
) -> PartialAUCBounds:
    """Compute the partial AUC of binned scores, with the range in which the exact one must lie.

    The value treats the scores of one bin as equal. Pairs in different bins are ordered correctly; in the
    best case every positive beats the negatives of its bin (``upper``), in the worst none does (``lower``).

    Args:
        pos_counts: Number of positives per bin, shape (bins,), bins in ascending order of score; int64.
        neg_counts: Number of negatives per bin, likewise.
        max_fpr: See :func:`binary_partial_auc`, as for the other arguments.
        min_tpr: Smallest true-positive rate that counts.
        min_fpr: Smallest false-positive rate that counts.
        ties: Credit of a positive and a negative in the same bin.
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
    if pos_counts.shape != neg_counts.shape or pos_counts.ndim != 1:
        raise InputError(
            "`pos_counts` and `neg_counts` must be vectors of the same length, got shapes "
            f"{tuple(pos_counts.shape)} and {tuple(neg_counts.shape)}: count both classes in the same bins."
        )
    n_pos, n_neg = int(pos_counts.sum()), int(neg_counts.sum())
    kept, first, last = _selected_counts(region, scale, n_pos, n_neg)
    lower_scored = pos_counts.cumsum(0) - pos_counts
    weight = torch.minimum(pos_counts, (kept - lower_scored).clamp(min=0))
    at_or_above = neg_counts.flip(0).cumsum(0).flip(0)
    above = at_or_above - neg_counts

    def value(above: Tensor, at_or_above: Tensor) -> Tensor:
        result = _value(above, at_or_above, weight, region, scale, (n_pos, n_neg), (kept, first, last))
        return _scalar(result, pos_counts.device)

    lower, upper = value(at_or_above, at_or_above), value(above, above)
    return PartialAUCBounds(upper if ties == "win" else value(above, at_or_above), lower, upper)


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
        check_arguments(region, "half", scale)
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
            '`scale="mcclish"` is defined for one-way regions and ties="half" only, got '
            f'min_tpr={region.min_tpr!r}, min_fpr={region.min_fpr!r}, ties={ties!r}: use scale="ratio" or '
            'scale="area" for this region.'
        )


def check_tensors(preds: Tensor, target: Tensor, values: bool = True) -> None:
    """Reject shapes and dtypes that do not fit and, unless told otherwise, values that make no sense."""
    if preds.shape != target.shape:
        raise InputError(
            f"`preds` and `target` must have the same shape, got {tuple(preds.shape)} and "
            f"{tuple(target.shape)}: one score and one label per sample (squeeze a trailing dimension of 1)."
        )
    if preds.dtype not in SCORE_DTYPES:
        raise InputError(
            f"`preds` must be scores of a dtype among {SCORE_DTYPES}, got {preds.dtype}: convert them with "
            "preds.double(), or swap `preds` and `target` if these are the labels."
        )
    if target.is_complex():
        raise InputError(f"`target` must be 0 or 1, got dtype {target.dtype}.")
    if not values or preds.numel() == 0:
        return
    # The extremes are much cheaper than a test of every element, and NaN shows in both of them.
    if not torch.stack(preds.aminmax()).isfinite().all():
        bad = preds[~preds.isfinite()]
        raise InputError(
            f"`preds` must be finite, got {bad[0].item()} ({bad.numel()} of {preds.numel()} scores are NaN "
            "or infinite): look for a diverged model or a division by zero before the metric."
        )
    if target.dtype == torch.bool:
        return
    if target.is_floating_point():
        binary = bool(((target == 0) | (target == 1)).all())
    else:
        low, high = target.aminmax()
        binary = bool((low >= 0) & (high <= 1))
    if not binary:
        bad = target[(target != 0) & (target != 1)]
        raise InputError(
            f"`target` must be 0 or 1, got {bad[0].item()} ({bad.numel()} of {target.numel()} labels): pass "
            "`target == positive_class`."
        )


def compute_exact(preds: Tensor, target: Tensor, region: Region, ties: Ties, scale: Scale) -> Tensor:
    """The partial AUC of checked input; see :func:`binary_partial_auc`."""
    preds = preds.detach().flatten()
    if preds.dtype in (torch.float16, torch.bfloat16):
        preds = preds.float()  # exact, and sorting halves is slow or missing
    is_positive = target.flatten() == 1
    positives = preds[is_positive]
    n_pos = positives.numel()
    n_neg = preds.numel() - n_pos
    kept, first, last = _selected_counts(region, scale, n_pos, n_neg)

    # Positives at -inf never enter the highest `last` negatives; cheaper than copying the negatives out.
    negatives = preds.masked_fill(is_positive, -math.inf)
    width = last - first
    hardest = _extremes(negatives, last, largest=True)[:width]
    positives = _extremes(positives, kept, largest=False)
    if kept > width and scale != "mcclish":
        # Look up the fewer in the more: seen from a negative, the positives below it take the place of the
        # negatives above a positive.
        above, at_or_above = _lookup(positives, hardest)
        selected = (width, 0, kept)
    else:
        below, at_or_below = _lookup(hardest, positives)
        above, at_or_above = width - at_or_below, width - below
        selected = (kept, 0, width)
    if scale == "mcclish":
        # Interpolation across a tie at the edge needs all negatives of that tie, the unselected ones as well.
        edge = hardest[0]
        at_or_above = torch.where(positives == edge, torch.count_nonzero(negatives >= edge), at_or_above)
    at_or_above = above if ties == "win" else at_or_above
    result = _value(above, at_or_above, None, region, scale, (n_pos, n_neg), selected)
    return _scalar(result, preds.device)


def _selected_counts(region: Region, scale: Scale, n_pos: int, n_neg: int) -> tuple[int, int, int]:
    """How many positives, and which ranks of negatives, the computation needs; an error if there are none."""
    for name, count in (("positive", n_pos), ("negative", n_neg)):
        if count == 0:
            raise InputError(
                f"`target` must contain both classes, got no {name} among {n_pos + n_neg} labels: collect "
                "more samples before computing (call update() per batch and compute() at the end)."
            )
    kept, first, last = region.counts(n_pos, n_neg)
    if scale == "mcclish":
        return n_pos, 0, min(n_neg, math.ceil(n_neg * region.max_fpr))
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
    return kept, first, last


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


def _value(
    above: Tensor,
    at_or_above: Tensor,
    weight: Tensor | None,
    region: Region,
    scale: Scale,
    totals: tuple[int, int],
    selected: tuple[int, int, int],
) -> float:
    """The partial AUC from the ranks of the kept positives among the negatives.

    A positive with A negatives above it and B at or above it wins against those of rank B and later and ties
    with those of rank [A, B). Ranks are counted within the selected ones, ``[first, last)``, so its credit is
    ``last - (A + B) / 2`` with A and B clamped to that interval; full credit for ties is the case B = A.

    Args:
        above: A of every kept positive (or bin), int64.
        at_or_above: B of every kept positive (or bin), int64.
        weight: Number of kept positives per entry; None means one each.
        region: The region.
        scale: The scale of the result.
        totals: Number of positives and of negatives.
        selected: Kept positives, first and last rank of the selected negatives.
    """
    if scale == "mcclish":
        area = _interpolated_area(above, at_or_above, weight, region.max_fpr * totals[1])
        return convert_partial_auc(area / (totals[0] * totals[1]), "area", "mcclish", region.max_fpr)
    kept, first, last = selected
    lost = above.clamp(first, last) + at_or_above.clamp(first, last)
    if weight is not None:
        lost = lost * weight
    # Python divides integers with one rounding, however large they are.
    ratio = (2 * kept * last - int(lost.sum())) / (2 * kept * (last - first))
    return convert_partial_auc(ratio, "ratio", scale, region.max_fpr, region.min_tpr, region.min_fpr)


def _interpolated_area(above: Tensor, at_or_above: Tensor, weight: Tensor | None, end: float) -> float:
    """The area under the linearly interpolated ROC curve left of ``end``, in units of one pair.

    A positive lifts the curve linearly from 0 at A to 1 at B, see :func:`_value`.
    """
    a, b = above.double(), at_or_above.double()
    partial = (end - a).clamp(min=0) ** 2 / (2 * (b - a)).clamp(min=1)
    area = torch.where(b <= end, end - (a + b) / 2, partial)
    return float((area if weight is None else area * weight).sum())


def _scalar(value: float, device: torch.device) -> Tensor:
    dtype = torch.float32 if device.type == "mps" else torch.float64  # Apple's GPUs have no float64
    return torch.tensor(value, dtype=dtype, device=device)
