"""The times of the losses that the paper reports."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from pauc_lightning.experiments.paper.rows import read_rows, region_key, region_of
from pauc_lightning.region import Region


@dataclass(frozen=True)
class Timing:
    """One number of the paper's tables of times: the calculation of one batch's loss on a CPU, without the network.

    Args:
        table: Number of the table, counted through the appendix.
        paper_method: The paper's name of the method, such as ``AUC-M``.
        method: Name of the method's config here, such as ``auc_m``.
        estimator: ``pair-wise`` or ``instance-wise``.
        region: The region of the loss.
        n_pos: Positives in the batch.
        n_neg: Negatives in the batch.
        milliseconds: Mean time over 10,000 repetitions.
    """

    table: int
    paper_method: str
    method: str
    estimator: str
    region: Region
    n_pos: int
    n_neg: int
    milliseconds: float


@cache
def timings() -> tuple[Timing, ...]:
    """All numbers of the two tables, in the paper's order."""
    return tuple(
        Timing(
            table=int(row["table"]),
            paper_method=row["paper_method"],
            method=row["method"],
            estimator=row["estimator"],
            region=region_of(row),
            n_pos=int(row["n_pos"]),
            n_neg=int(row["n_neg"]),
            milliseconds=float(row["milliseconds"]),
        )
        for row in read_rows("timings.csv")
    )


def published_time(method: str, region: Region, n_pos: int, n_neg: int) -> Timing | None:
    """The paper's time of a method's loss, or None if it has none; it has none for UPAUCI.

    Args:
        method: Name of a method config.
        region: The region; the paper has FPR ≤ 0.3, and FPR ≤ 0.5 with TPR ≥ 0.5.
        n_pos: Positives in the batch; the paper has 64, 128, ..., 2048.
        n_neg: Negatives in the batch; in the paper as many as positives.

    Example:
        >>> published_time("pauci", Region(max_fpr=0.3), 2048, 2048).milliseconds
        0.107
    """
    return _by_name().get((method, region_key(region), n_pos, n_neg))


@cache
def _by_name() -> dict[tuple[str, tuple[float, float, float], int, int], Timing]:
    return {
        (timing.method, region_key(timing.region), timing.n_pos, timing.n_neg): timing for timing in timings()
    }
