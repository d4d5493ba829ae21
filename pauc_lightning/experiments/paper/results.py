"""The partial AUCs that the paper reports."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from pauc_lightning.experiments.paper.rows import read_rows, region_key, region_of
from pauc_lightning.region import Region

_VARIANTS = {"upauci_ascent": "upauci"}
"""Configs that are a method of the paper as well: with stored weights UPAUCI is closest to the paper's description."""


@dataclass(frozen=True)
class Result:
    """One number of the paper's Tables 3 to 10: a partial AUC on the test part.

    Args:
        table: Number of the table.
        data_set: The paper's name of the data set, such as ``CIFAR-10-LT-1``.
        data: Name of the data set's config here, such as ``cifar10_lt_1``.
        paper_method: The paper's name of the method, such as ``AUC-M``.
        method: Name of the method's config here, such as ``auc_m``.
        region: The region that the method was trained for and tested in.
        mean: Mean over ten repetitions.
        std: Standard deviation over the repetitions.
    """

    table: int
    data_set: str
    data: str
    paper_method: str
    method: str
    region: Region
    mean: float
    std: float


@cache
def results() -> tuple[Result, ...]:
    """All numbers of Tables 3 to 10, in the paper's order: by table, method, data set, region."""
    return tuple(
        Result(
            table=int(row["table"]),
            data_set=row["data_set"],
            data=row["data"],
            paper_method=row["paper_method"],
            method=row["method"],
            region=region_of(row),
            mean=float(row["mean"]),
            std=float(row["std"]),
        )
        for row in read_rows("results.csv")
    )


def published(data: str, method: str, region: Region) -> float | None:
    """The paper's mean for a data set, a method and a region, or None if it has none.

    The arguments are those of :func:`published_result`.

    Example:
        >>> published("cifar10_lt_1", "upauci", Region(max_fpr=0.3, min_tpr=0.7))
        0.3886
    """
    result = published_result(data, method, region)
    return None if result is None else result.mean


def published_result(data: str, method: str, region: Region) -> Result | None:
    """The paper's mean, standard deviation and table for a data set, a method and a region, or None if it has none.

    Args:
        data: Name of a data config. Options that change the data, such as another ``imbalance_ratio``, make the paper's
            number meaningless; they are not seen here.
        method: Name of a method config. ``upauci_ascent`` is the paper's UPAUCI, too.
        region: The region; the paper's TPAUC (0.3, 0.3) is ``Region(max_fpr=0.3, min_tpr=0.7)``.

    Example:
        >>> result = published_result("cifar10_lt_1", "upauci", Region(max_fpr=0.3, min_tpr=0.7))
        >>> result.table, result.mean, result.std
        (6, 0.3886, 0.0035)
        >>> published_result("digits", "upauci", Region(max_fpr=0.3)) is None
        True
    """
    return _by_name().get((data, _VARIANTS.get(method, method), region_key(region)))


@cache
def _by_name() -> dict[tuple[str, str, tuple[float, float, float]], Result]:
    return {(result.data, result.method, region_key(result.region)): result for result in results()}
