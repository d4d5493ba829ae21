"""How far probabilities are from observed frequencies: Brier score, calibration error, reliability curve."""

from __future__ import annotations

from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from pauc_lightning.arguments import check_choice, check_integer, check_number
from pauc_lightning.errors import InputError
from pauc_lightning.metrics.functional.inputs import Values, as_tensors, check_tensors

Binning = Literal["equal_mass", "equal_width", "halving"]

_FEWEST = 20  # samples in the last bin of halvings


class ReliabilityBins(NamedTuple):
    """Predicted probabilities and observed frequencies in bins of similar probabilities, in ascending order.

    Attributes:
        probability: Mean of the predicted probabilities in each bin.
        rate: Share of positives in each bin.
        low: Lower end of the interval of the share (Clopper and Pearson, exact for independent samples).
        high: Upper end of the interval.
        samples: Number of samples in each bin; empty bins are left out.
    """

    probability: NDArray[np.float64]
    rate: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    samples: NDArray[np.int64]


def brier_score(probabilities: Values, target: Values) -> float:
    """Compute the mean squared difference between probabilities and labels; lower is better.

    Who always predicts the share of positives π gets π(1 - π), which is small if positives are rare: compare with it.

    Args:
        probabilities: Predicted probabilities of the positive class, in [0, 1], any shape.
        target: Labels 0 and 1, of the same shape.

    Raises:
        InputError: If probabilities and labels do not fit together, or are out of range.

    Example:
        >>> f"{brier_score([0.9, 0.2, 0.6], [1, 0, 0]):.4f}"  # (0.01 + 0.04 + 0.36) / 3
        '0.1367'
    """
    predicted, is_positive = _samples(probabilities, target)
    return float(np.square(predicted - is_positive).mean())


def calibration_error(
    probabilities: Values, target: Values, bins: int = 15, binning: Binning = "equal_mass"
) -> float:
    """Compute the expected calibration error (ECE): the mean distance of predicted and observed shares of positives.

    The samples are divided into bins of similar probability; each bin counts by its number of samples. The value
    depends on the bins, and is above 0 for perfect probabilities as well, by chance: compare values of the same samples
    and bins only.

    Args:
        probabilities: Predicted probabilities of the positive class, in [0, 1], any shape.
        target: Labels 0 and 1, of the same shape.
        bins: Number of bins, at most.
        binning: "equal_mass" gives the bins equally many samples; equal probabilities stay together. "equal_width"
            divides [0, 1] evenly, as most papers do; with rare positives nearly all samples share its first bin.
            "halving" puts the lower half of the samples into the first bin, half of the others into the second, and so
            on down to twenty, which shows the few high probabilities of rare positives.

    Raises:
        InputError: If an argument is out of range, or probabilities and labels do not fit together.

    Example:
        >>> f"{calibration_error([0.1, 0.3, 0.8, 0.8], [0, 1, 1, 0], bins=2):.4f}"  # |0.2 - 0.5| / 2 + |0.8 - 0.5| / 2
        '0.3000'
    """
    found = reliability_bins(probabilities, target, bins, binning)
    return float(np.average(np.abs(found.probability - found.rate), weights=found.samples))


def reliability_bins(
    probabilities: Values,
    target: Values,
    bins: int = 15,
    binning: Binning = "equal_mass",
    confidence: float = 0.95,
) -> ReliabilityBins:
    """Compare predicted probabilities with observed frequencies in bins of similar probability.

    Args:
        probabilities: Predicted probabilities of the positive class, in [0, 1], any shape.
        target: Labels 0 and 1, of the same shape.
        bins: Number of bins, at most.
        binning: See :func:`calibration_error`.
        confidence: Probability with which an interval contains the bin's true share of positives.

    Raises:
        InputError: If an argument is out of range, or probabilities and labels do not fit together.

    Example:
        >>> found = reliability_bins([0.1, 0.3, 0.8, 0.8], [0, 1, 1, 0], bins=2)
        >>> found.probability.round(3).tolist(), found.rate.tolist(), found.samples.tolist()
        ([0.2, 0.8], [0.5, 0.5], [2, 2])
    """
    check_integer("bins", bins, at_least=1)
    check_choice("binning", binning, get_args(Binning))
    check_number("confidence", confidence, above=0, below=1, hint="95 % is 0.95")
    predicted, is_positive = _samples(probabilities, target)
    order = np.argsort(predicted, kind="stable")
    predicted, is_positive = predicted[order], is_positive[order]
    starts = _starts(predicted, bins, binning)
    count = np.diff(np.append(starts, len(predicted)))
    positives = np.add.reduceat(is_positive, starts)
    low, high = _proportion_interval(positives, count, confidence)
    return ReliabilityBins(
        np.add.reduceat(predicted, starts) / count, positives / count, low, high, count.astype(np.int64)
    )


def _starts(ordered: NDArray[np.float64], bins: int, binning: Binning) -> NDArray[np.int64]:
    """Positions in the ordered probabilities at which the bins that are not empty begin."""
    # A probability of exactly an edge is in the bin above, so equal ones stay together.
    is_even = binning == "equal_width"
    edges = np.arange(1, bins) / bins if is_even else ordered[_ranks(len(ordered), bins, binning)]
    starts = np.unique(np.concatenate([[0], np.searchsorted(ordered, edges, side="left")]))
    return starts[starts < len(ordered)].astype(np.int64)


def _ranks(n: int, bins: int, binning: Binning) -> NDArray[np.int64]:
    """Ranks of the samples with which the bins after the first begin."""
    if binning == "equal_mass":
        return np.arange(1, bins, dtype=np.int64) * n // bins
    left = n // 2 ** np.arange(1, min(bins, 62), dtype=np.int64)  # how many are in this bin and above
    return n - left[left >= _FEWEST]


def _proportion_interval(
    positives: NDArray[np.float64], count: NDArray[np.int64], confidence: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    from scipy.stats import beta  # slow to import

    risk = (1 - confidence) / 2
    with np.errstate(invalid="ignore"):  # the quantile is undefined where no or all samples are positive
        low = np.where(positives > 0, beta.ppf(risk, positives, count - positives + 1), 0.0)
        high = np.where(positives < count, beta.ppf(1 - risk, positives + 1, count - positives), 1.0)
    return low, high


def _samples(probabilities: Values, target: Values) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    scores, labels = as_tensors(probabilities, target)
    check_tensors(scores, labels)
    predicted = scores.detach().flatten().double().cpu().numpy()
    if len(predicted) == 0:
        raise InputError("`probabilities` must have at least one value, got none: give one per sample.")
    low, high = float(predicted.min()), float(predicted.max())
    if low < 0 or high > 1:
        raise InputError(
            f"`probabilities` must be in [0, 1], got {low if low < 0 else high:g}: apply the sigmoid to logits."
        )
    return predicted, labels.detach().flatten().double().cpu().numpy()
