"""Thresholds for false-positive budgets, chosen on scores that the model was not trained on."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pauc_lightning.arguments import check_number
from pauc_lightning.errors import InputError
from pauc_lightning.metrics.functional import (
    OperatingPoint,
    negatives_needed,
    operating_point,
    threshold_for_fpr,
)

DELTA = 0.05
"""Probability with which a guaranteed threshold may exceed its budget, unless another one is asked for."""

_DIGITS, _MORE_DIGITS = 6, 12
_EXACT = Context(prec=400)  # enough for any float64

Kind = Literal["guaranteed", "empirical"]


@dataclass(frozen=True)
class ChosenPoint:
    """The thresholds for one false-positive budget, with their rates on the samples that they were chosen on.

    Args:
        target_fpr: The budget: the largest false-positive rate that is wanted on new data.
        empirical: The lowest threshold that keeps the budget on these samples, up to rounding; new data exceed the
            budget about half of the time.
        guaranteed: The threshold that keeps the budget on new data with probability 1 - ``delta``; None if there are
            too few negatives for that.
        delta: Probability with which the guaranteed threshold may exceed the budget.
        n_neg: Number of negatives that the thresholds were chosen on.
    """

    target_fpr: float
    empirical: OperatingPoint
    guaranteed: OperatingPoint | None
    delta: float
    n_neg: int

    @property
    def negatives_needed(self) -> int:
        """The least number of negatives from which the guarantee can be given."""
        return negatives_needed(self.target_fpr, confidence=1 - self.delta)

    @property
    def kind(self) -> Kind:
        """The kind of threshold to use: the guaranteed one where it exists."""
        return "empirical" if self.guaranteed is None else "guaranteed"

    @property
    def point(self) -> OperatingPoint:
        """The threshold to use: the guaranteed one where it exists, with its rates."""
        return self.empirical if self.guaranteed is None else self.guaranteed

    def of_kind(self, kind: Kind) -> OperatingPoint:
        """The threshold of one kind.

        Raises:
            InputError: If there are too few negatives for the guarantee.
        """
        if kind == "empirical":
            return self.empirical
        if self.guaranteed is None:
            raise InputError(f"{self.why_not_guaranteed} Collect more of them, or take the empirical one.")
        return self.guaranteed

    @property
    def why_not_guaranteed(self) -> str:
        """A sentence that says how many negatives are missing; empty if there are enough."""
        if self.guaranteed is not None:
            return ""
        return (
            f"A threshold that keeps FPR ≤ {self.target_fpr:g} with probability {1 - self.delta:g} takes at least "
            f"{self.negatives_needed:,} negatives that the model was not trained on, and there are {self.n_neg:,}."
        )


@dataclass(frozen=True)
class OperatingPoints:
    """The thresholds of a model for several false-positive budgets.

    Args:
        points: One for each budget, in ascending order.
        delta: Probability with which a guaranteed threshold may exceed its budget.
        n_pos: Number of positives that the thresholds were chosen on.
        n_neg: Number of negatives that the thresholds were chosen on.
    """

    points: tuple[ChosenPoint, ...]
    delta: float
    n_pos: int
    n_neg: int

    def find(self, target_fpr: float) -> ChosenPoint | None:
        """The thresholds for a budget; None if it is not among those that were asked for."""
        return next((point for point in self.points if math.isclose(point.target_fpr, target_fpr)), None)

    def as_json(self) -> dict[str, Any]:
        """The content of ``operating_points.json``."""
        return {
            "decision": "positive if score >= threshold",
            "delta": self.delta,
            "n_pos": self.n_pos,
            "n_neg": self.n_neg,
            "points": [
                {
                    "target_fpr": point.target_fpr,
                    "empirical": _point_as_json(point.empirical),
                    "guaranteed": None if point.guaranteed is None else _point_as_json(point.guaranteed),
                    "negatives_needed": point.negatives_needed,
                }
                for point in self.points
            ],
        }

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> OperatingPoints:
        """Read the content of ``operating_points.json``.

        Raises:
            KeyError, TypeError, ValueError: If it is something else.
        """
        delta, n_neg = float(content["delta"]), int(content["n_neg"])
        points = [
            ChosenPoint(
                float(point["target_fpr"]),
                _point_from_json(point["empirical"]),
                None if point["guaranteed"] is None else _point_from_json(point["guaranteed"]),
                delta,
                n_neg,
            )
            for point in content["points"]
        ]
        return cls(tuple(points), delta, int(content["n_pos"]), n_neg)


def choose_operating_points(
    score: ArrayLike, label: ArrayLike, target_fprs: Sequence[float], *, delta: float = DELTA
) -> OperatingPoints:
    """Choose thresholds for false-positive budgets: plain ones, and ones with a guarantee for new data.

    They are rounded up to six digits, or as many more as it takes to decide alike on these samples.

    Args:
        score: Scores of samples that the model was not trained on, shape ``(n,)``.
        label: Their labels, 0 and 1.
        target_fprs: The budgets, each in (0, 1).
        delta: Probability with which a guaranteed threshold may exceed its budget, in (0, 1); see
            :func:`~pauc_lightning.metrics.functional.threshold_for_fpr`.

    Raises:
        InputError: If a budget or ``delta`` is out of range, or a class is missing.

    Example:
        >>> score = np.linspace(0, 1, 1000)
        >>> chosen = choose_operating_points(score, score > 0.95, [0.01]).points[0]
        >>> f"{chosen.empirical.threshold:.3f} {chosen.point.threshold:.3f} {chosen.kind}"
        '0.941 0.946 guaranteed'
    """
    check_targets("target_fpr", target_fprs)
    check_number("delta", delta, above=0, below=1, hint="5 % is 0.05")
    scores, labels = np.asarray(score, np.float64).ravel(), np.asarray(label).ravel()
    negatives = scores[labels == 0]
    points = []
    for target in sorted(set(target_fprs)):
        is_enough = len(negatives) >= negatives_needed(target, confidence=1 - delta)
        chosen = [
            operating_point(
                scores,
                labels,
                _rounded_up(threshold_for_fpr(negatives, target, confidence=confidence), scores),
            )
            for confidence in (None, *((1 - delta,) if is_enough else ()))
        ]
        guaranteed = chosen[1] if is_enough else None
        points.append(ChosenPoint(float(target), chosen[0], guaranteed, float(delta), len(negatives)))
    return OperatingPoints(tuple(points), float(delta), len(scores) - len(negatives), len(negatives))


def threshold_text(threshold: float) -> str:
    """The threshold with all its digits: whoever types it in gets the same decisions.

    Example:
        >>> threshold_text(0.99997), threshold_text(2.0)
        ('0.99997', '2')
    """
    return repr(float(threshold)).removesuffix(".0")


def _rounded_up(threshold: float, scores: NDArray[np.float64]) -> float:
    """The threshold, raised to a number of few digits that decides alike on these scores.

    Raising it cannot raise the false-positive rate, so a guarantee stays. Close to 1 the digits of 1 - threshold count.
    """
    if threshold == 0 or not math.isfinite(threshold):
        return threshold
    reached = scores[scores >= threshold]
    highest = reached.min() if len(reached) else math.inf
    scale = min(threshold, 1 - threshold) if 0 < threshold < 1 else abs(threshold)
    first = max(0, _DIGITS - 1 - math.floor(math.log10(scale)))
    for decimals in range(first, first + _MORE_DIGITS):
        step = Decimal(1).scaleb(-decimals)
        candidate = float(Decimal(threshold).quantize(step, ROUND_CEILING, _EXACT))
        if threshold <= candidate <= highest:
            return candidate
    return threshold


def check_targets(name: str, targets: Sequence[float]) -> None:
    """Raise :class:`InputError` unless there are budgets, all in (0, 1)."""
    if len(targets) == 0:
        raise InputError(f"`{name}` is empty: give at least one false-positive rate, such as 0.01.")
    for target in targets:
        check_number(name, target, above=0, below=1, hint="for 1 % write 0.01")


def _point_as_json(point: OperatingPoint) -> dict[str, float | None]:
    """JSON has no NaN: a precision that is not defined becomes null."""
    return {name: None if math.isnan(value) else value for name, value in point._asdict().items()}


def _point_from_json(content: Mapping[str, Any]) -> OperatingPoint:
    return OperatingPoint(
        *(math.nan if content[name] is None else float(content[name]) for name in OperatingPoint._fields)
    )
