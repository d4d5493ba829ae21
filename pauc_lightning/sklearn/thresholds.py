"""The threshold for a target false-positive rate, from negatives that training has not seen."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pauc_lightning.errors import InputError
from pauc_lightning.metrics.functional import threshold_for_fpr
from pauc_lightning.region import select_count


def choose_threshold(negatives: NDArray[np.float64], target_fpr: float, confidence: float | None) -> float:
    """Choose the threshold from which on scores are called positive.

    Args:
        negatives: Scores of the negatives held out, shape ``(n,)``.
        target_fpr: Largest false-positive rate.
        confidence: Probability with which new data keep that rate; None means that these negatives keep it.

    Raises:
        InputError: If there are too few negatives for the guarantee.

    Example:
        >>> scores = np.arange(100) / 100
        >>> [round(choose_threshold(scores, 0.1, confidence), 2) for confidence in (None, 0.95)]
        [0.89, 0.95]
    """
    if confidence is None:
        highest_first = np.sort(negatives)[::-1]
        # The first negative beyond the budget stays below.
        return float(np.nextafter(highest_first[select_count(len(negatives), target_fpr)], np.inf))
    try:
        return threshold_for_fpr(negatives, target_fpr, confidence=confidence)
    except InputError as error:
        needed = str(error).partition("at least ")[2].partition(".")[0]
        raise InputError(
            f"`target_fpr={target_fpr:g}` with `confidence={confidence:g}` needs at least {needed} negatives outside "
            f"training, but `validation_fraction` holds out {len(negatives)}: raise it, fit on more data, or take the "
            "threshold without a guarantee, confidence=None."
        ) from error
