"""The region of the ROC curve that counts, as metrics, methods, configs and figures describe it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real

from pauc_lightning.errors import InputError

_FRACTION_TOLERANCE = 1e-12


def select_count(n: int, fraction: float) -> int:
    """Compute ⌊n·fraction⌋ so that ``1 - 0.9`` of 10 is 1, although the product of the floats is 0.999….

    Example:
        >>> select_count(10, 1 - 0.9), int(10 * (1 - 0.9))
        (1, 0)
        >>> select_count(7, 0.3)
        2
    """
    return min(n, math.floor(n * (fraction + _FRACTION_TOLERANCE)))


@dataclass(frozen=True)
class Region:
    """A corner of the ROC curve: false-positive rates up to ``max_fpr``, true-positive rates from ``min_tpr``.

    The paper writes OPAUC(β) for ``max_fpr = β`` and TPAUC(α, β) for ``max_fpr = β, min_tpr = 1 - α``. Its α is the
    *fraction of positives* that is kept (the lowest-scored ones), not a bound on the true-positive rate.

    Args:
        max_fpr: Largest false-positive rate that counts; the paper's β. In (0, 1].
        min_tpr: Smallest true-positive rate that counts; the paper's 1 - α. In [0, 1); 0 is the one-way region.
        min_fpr: Smallest false-positive rate that counts, for a band of rates. In [0, max_fpr).

    Example:
        >>> Region(max_fpr=0.3, min_tpr=0.7).title
        'TPAUC (FPR ≤ 0.3, TPR ≥ 0.7)'
        >>> Region(max_fpr=0.3).name
        'opauc_fpr0.3'
        >>> Region(max_fpr=0.25).counts(n_pos=10, n_neg=9)
        (10, 0, 2)
    """

    max_fpr: float = 1.0
    min_tpr: float = 0.0
    min_fpr: float = 0.0

    def __post_init__(self) -> None:
        """Reject rates out of range, and convert integers and numpy's numbers to plain floats."""
        for name in ("max_fpr", "min_tpr", "min_fpr"):
            object.__setattr__(self, name, _rate(name, getattr(self, name)))
        if self.min_fpr >= self.max_fpr:
            raise InputError(
                f"`min_fpr` must be smaller than `max_fpr`, got min_fpr={self.min_fpr!r} and "
                f"max_fpr={self.max_fpr!r}: the region is empty. Raise `max_fpr` or lower `min_fpr`."
            )
        if self.min_tpr >= 1:
            raise InputError(
                f"`min_tpr` must be smaller than 1, got {self.min_tpr!r}: the region is empty. The paper's "
                "alpha is 1 - min_tpr, so its (0.3, 0.3) is min_tpr=0.7, max_fpr=0.3."
            )

    @property
    def alpha(self) -> float:
        """The paper's α: the fraction of positives (lowest scores first) inside the region."""
        return 1.0 - self.min_tpr

    @property
    def beta(self) -> float:
        """The paper's β: the fraction of negatives (highest scores first) inside the region."""
        return self.max_fpr

    @property
    def is_two_way(self) -> bool:
        """Whether the true-positive rate is bounded as well."""
        return self.min_tpr > 0

    @property
    def size(self) -> float:
        """The region's area in the unit square, which is the largest unnormalised partial AUC."""
        return (self.max_fpr - self.min_fpr) * (1.0 - self.min_tpr)

    @property
    def name(self) -> str:
        """A short key for logs and directories, unique to the region: ``auc``, ``tpauc_fpr0.3_tpr0.7``."""
        if self == Region():
            return "auc"
        low, high, tpr = map(_digits, (self.min_fpr, self.max_fpr, self.min_tpr))
        fpr = f"fpr{low}-{high}" if self.min_fpr > 0 else f"fpr{high}"
        return f"tpauc_{fpr}_tpr{tpr}" if self.is_two_way else f"opauc_{fpr}"

    @property
    def title(self) -> str:
        """A title for tables and figures, unique to the region: ``TPAUC (FPR ≤ 0.3, TPR ≥ 0.7)``."""
        if self == Region():
            return "AUC"
        low, high, tpr = map(_digits, (self.min_fpr, self.max_fpr, self.min_tpr))
        fpr = f"{low} ≤ FPR ≤ {high}" if self.min_fpr > 0 else f"FPR ≤ {high}"
        return f"TPAUC ({fpr}, TPR ≥ {tpr})" if self.is_two_way else f"OPAUC ({fpr})"

    def counts(self, n_pos: int, n_neg: int) -> tuple[int, int, int]:
        """Compute which samples the region selects.

        Args:
            n_pos: Number of positives.
            n_neg: Number of negatives.

        Returns:
            ``(positives, first, last)``: the number of positives, which are the lowest-scored ones, and the range
            ``[first, last)`` of the negatives' descending ranks. A selection may be empty; whether that is an error is
            for the caller to decide.
        """
        return (
            select_count(n_pos, self.alpha),
            select_count(n_neg, self.min_fpr),
            select_count(n_neg, self.max_fpr),
        )


def _rate(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, Real):
        raise InputError(
            f"`{name}` is a rate in [0, 1], got {value!r}, which is no number: for 30 % write {name}=0.3."
        )
    rate = float(value)
    if math.isnan(rate):
        raise InputError(
            f"`{name}` is a rate in [0, 1], got nan, the result of an undefined calculation or of .nan in a config: "
            f"write a number, as in {name}=0.3."
        )
    if not 0 <= rate <= 1:
        raise InputError(f"`{name}` is a rate in [0, 1], got {value!r}: for 30 % write {name}=0.3.")
    return rate + 0.0  # -0.0 is 0


def _digits(rate: float) -> str:
    """Write the fewest digits that identify the float, without a trailing ``.0``."""
    return repr(rate).removesuffix(".0")
