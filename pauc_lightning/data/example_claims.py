"""An example table: claims of a car insurance, a few of them fraud, made up from a seed."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pauc_lightning.arguments import check_integer
from pauc_lightning.errors import InputError
from pauc_lightning.files import complete_file

TRAINING_FILE, NEW_FILE = "claims.csv", "new_claims.csv"

_SIZES = (20_000, 2_000)
_HONEST, _FRAUD, _LATE = range(3)  # late: honest, but reported after weeks
_SHARES = (0.947, 0.05, 0.003)


def example_claims(n: int, seed: int, *, with_new_channel: bool = False) -> dict[str, list[str]]:
    """Columns of a table as the texts of its cells; an empty cell is a missing value.

    Frauds are reported later than honest claims, on younger contracts, and ask for more. But of a thousand claims,
    three are honest and reported very late, because the driver was abroad. They lie farther out than any fraud, and
    cross-entropy lets them turn a linear score away from ``days_to_report``; a loss for the corner of the ROC curve
    can give three in a thousand up.

    Args:
        n: Number of claims.
        seed: Of the random numbers.
        with_new_channel: Whether some claims come through a channel that did not exist before, the chat.

    Returns:
        ``claim_id``, the inputs, and the label ``outcome``, which is ``fraud`` or ``honest``.

    Example:
        >>> table = example_claims(1000, seed=0)
        >>> table["outcome"].count("fraud")
        46
    """
    check_integer("n", n, at_least=1, at_most=999_999)
    random = np.random.Generator(np.random.PCG64(seed))
    kind = random.choice(3, n, p=_SHARES)

    def by_kind(honest: float, fraud: float) -> NDArray[np.float64]:
        return np.where(kind == _FRAUD, fraud, honest)

    def chosen(names: Sequence[str], shares: Sequence[float], of_frauds: Sequence[float]) -> list[str]:
        bounds = np.where(kind[:, None] == _FRAUD, np.cumsum(of_frauds)[:-1], np.cumsum(shares)[:-1])
        return [names[i] for i in (random.random(n)[:, None] > bounds).sum(axis=1)]

    amount = random.lognormal(by_kind(7.3, 7.8), 0.7)
    weeks_late = np.where(kind == _LATE, random.gamma(4, 7.5, n), 0)
    columns: dict[str, list[str]] = {
        "claim_id": [f"C{seed}-{i:05d}" for i in range(n)],
        "vehicle": chosen(("compact", "family", "suv", "van"), *[(0.4, 0.35, 0.15, 0.1)] * 2),
        "garage": chosen(("partner", "own choice"), (0.7, 0.3), (0.5, 0.5)),
        "channel": chosen(("phone", "web", "broker"), *[(0.45, 0.35, 0.2)] * 2),
        "amount": [f"{value:.2f}" for value in amount],
        "parts_cost": [f"{value:.2f}" for value in amount * random.beta(by_kind(3, 6), 3)],
        "days_to_report": _texts(random.poisson(by_kind(3, 8)) + weeks_late),
        "contract_days": _texts(random.exponential(by_kind(1500, 700))),
        "earlier_claims": _texts(random.poisson(by_kind(0.6, 1.2))),
        "km_per_year": _texts(random.normal(14_000, 5_000, n).clip(1_000).round(-2)),
        "driver_age": _texts(random.normal(by_kind(46, 40), 13).clip(18, 90)),
        "outcome": ["fraud" if is_fraud else "honest" for is_fraud in kind == _FRAUD],
    }
    _empty(columns["km_per_year"], random.random(n) < 0.06)
    _empty(columns["garage"], random.random(n) < 0.03)
    if with_new_channel:
        columns["channel"] = [
            "chat" if is_new else name
            for name, is_new in zip(columns["channel"], random.random(n) < 0.02, strict=True)
        ]
    return columns


def write_example_claims(folder: str | Path = ".") -> tuple[Path, Path]:
    """Write ``claims.csv``, 20,000 claims with their outcome, and ``new_claims.csv``, 2,000 without it.

    The files are always the same. Existing ones are not replaced.

    Args:
        folder: Where the files go; it is created if it does not exist.

    Returns:
        The paths of the two files.
    """
    folder = Path(folder)
    paths = folder / TRAINING_FILE, folder / NEW_FILE
    for path in paths:
        if path.exists():
            raise InputError(f"{path} exists and is not replaced: choose another folder, or remove it first.")
    new = example_claims(_SIZES[1], seed=1, with_new_channel=True)
    del new["outcome"]
    for path, columns in zip(paths, (example_claims(_SIZES[0], seed=0), new), strict=True):
        _write(path, columns)
    return paths


def _texts(numbers: NDArray[np.float64] | NDArray[np.int64]) -> list[str]:
    return [str(round(number)) for number in numbers.tolist()]


def _empty(cells: list[str], is_missing: NDArray[np.bool_]) -> None:
    for i in np.flatnonzero(is_missing):
        cells[i] = ""


def _write(path: Path, columns: Mapping[str, Sequence[str]]) -> None:
    with complete_file(path) as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
