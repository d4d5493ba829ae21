"""Compares an exported file with its run, sample by sample."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pauc_lightning.errors import InputError
from pauc_lightning.export.chain import DECISION, PROBABILITY, SCORE
from pauc_lightning.export.front import Arrays
from pauc_lightning.export.test_samples import TestSamples

Runner = Callable[[Arrays], dict[str, NDArray[Any]]]

_RELATIVE, _ABSOLUTE = 1e-3, 1e-9
"""Differences that a float32 network may have in two libraries: relative to the smaller of p and 1 - p, and beside."""

_SCORE_RELATIVE, _SCORE_STEP = 1e-5, 2.0**-52
"""Differences between scores that a calibration may carry over: of float32, and two steps of float64 below 1."""

_CAUSES = {
    SCORE: "The network may depend on the batch, or use operations that the format computes differently.",
    PROBABILITY: "The scores agree, so the calibration is computed differently: leave it out with --calibrate none, "
    "or choose another one or another --format.",
}


@dataclass(frozen=True)
class Expected:
    """What the run itself says about the samples.

    Attributes:
        score: The scores of ``pauc predict``.
        calibrated: Turns scores into probabilities; None if the file has none.
        threshold: The smallest score that is called positive; None if the file does not decide.
    """

    score: NDArray[np.float64]
    calibrated: Callable[[NDArray[np.float64]], NDArray[np.float64]] | None
    threshold: float | None


def check(run: Runner, samples: TestSamples, expected: Expected, batch_size: int) -> str:
    """Compare all outputs of a file with the run's; return what was found in words.

    Args:
        run: Runs the file.
        samples: The samples.
        expected: What the run says about them.
        batch_size: Samples that are given to the file at once; the first one is given alone as well.

    Raises:
        InputError: If an output differs by more than rounding.
    """
    batches = list(_outputs(run, samples, batch_size))
    found = {name: np.concatenate([batch[name] for batch in batches]) for name in batches[0]}
    single = run({name: values[:1] for name, values in samples.arrays.items()})
    _compare(SCORE, single[SCORE], expected.score[:1], "given alone, ")
    differences = [f"{_compare(SCORE, found[SCORE], expected.score):.1e} in scores"]
    if expected.calibrated is not None:
        difference = _compare_probabilities(found[PROBABILITY], expected.score, expected.calibrated)
        differences.append(f"{difference:.1e} in probabilities")
    text = f"the largest difference to `pauc predict` is {' and '.join(differences)}"
    if expected.threshold is None:
        return text
    return f"{text}; {_compare_decisions(found[DECISION], expected)}"


def _outputs(run: Runner, samples: TestSamples, batch_size: int) -> Iterator[dict[str, NDArray[Any]]]:
    for start in range(0, len(samples), batch_size):
        yield run({name: values[start : start + batch_size] for name, values in samples.arrays.items()})


def _compare_probabilities(
    found: NDArray[Any],
    score: NDArray[np.float64],
    calibrated: Callable[[NDArray[np.float64]], NDArray[np.float64]],
) -> float:
    # Close to 1, and on a steep curve, the last digit of a score is a visible step of the probability.
    slack = _SCORE_RELATIVE * np.minimum(score, 1 - score) + _SCORE_STEP
    low, high = (calibrated(np.clip(score + side * slack, 0, 1)) for side in (-1, 1))
    return _compare(PROBABILITY, found, calibrated(score), slack=high - low)


def _compare(
    name: str,
    found: NDArray[Any],
    expected: NDArray[np.float64],
    where: str = "",
    slack: NDArray[np.float64] | float = 0.0,
) -> float:
    difference = np.abs(found - expected)
    allowed = _RELATIVE * np.minimum(expected, 1 - expected) + _ABSOLUTE + slack
    wrong = np.flatnonzero(~(difference <= allowed))  # NaN is wrong as well
    if len(wrong):
        first = wrong[0]
        raise InputError(
            f"the file is not written, as it does not give what `pauc predict` gives: {where}{len(wrong)} of "
            f"{len(expected)} samples differ, such as number {first} with a {name} of {found[first]:.9g} instead of "
            f"{expected[first]:.9g}. {_CAUSES[name]}"
        )
    return float(difference.max(initial=0.0))


def _compare_decisions(found: NDArray[Any], expected: Expected) -> str:
    assert expected.threshold is not None
    wanted = expected.score >= expected.threshold
    different = found != wanted
    # A score at the threshold may fall on its other side by rounding.
    slack = _RELATIVE * np.minimum(expected.score, 1 - expected.score) + _ABSOLUTE
    wrong = np.flatnonzero(different & (np.abs(expected.score - expected.threshold) > slack))
    if len(wrong):
        raise InputError(
            f"the file is not written, as {len(wrong)} of {len(wanted)} decisions are not those of `pauc predict`."
        )
    n = int(different.sum())
    if n == 0:
        return f"all {len(wanted):,} decisions are equal"
    return (
        f"{len(wanted) - n:,} of {len(wanted):,} decisions are equal, the others have scores that are the threshold up "
        "to rounding"
    )
