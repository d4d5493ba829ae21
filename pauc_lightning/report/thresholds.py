"""The thresholds of a model as rows of a report."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pauc_lightning.report.subject import Threshold

if TYPE_CHECKING:
    from pauc_lightning.decisions import OperatingPoints


def thresholds_of(points: OperatingPoints) -> tuple[Threshold, ...]:
    """The empirical and the guaranteed threshold for each budget; a note says why one is missing."""
    found = []
    for point in points.points:
        found.append(Threshold(point.target_fpr, point.empirical.threshold, is_guaranteed=False))
        value = math.nan if point.guaranteed is None else point.guaranteed.threshold
        found.append(
            Threshold(
                point.target_fpr,
                value,
                is_guaranteed=True,
                note=point.why_not_guaranteed,
                probability=1 - point.delta,
            )
        )
    return tuple(found)
