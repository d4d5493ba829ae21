"""Random search: the same draws of the common settings for every objective, and each objective's own."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from pauc_lightning.errors import InputError
from pauc_lightning.trees import partial_auc_objective
from pauc_lightning.trees.objective import CE_WEIGHT

Library = Literal["xgboost", "lightgbm"]
Method = Literal["log_loss", "weighted_log_loss", "ranking", "partial_auc"]
Own: TypeAlias = Mapping[str, str | int | float]
"""Settings that only one objective has."""

WIDEST = 0.3
"""Largest false-positive rate that is trained for."""
_RANKINGS: dict[Library, list[dict[str, str | int]]] = {
    "xgboost": [
        {"objective": kind, "lambdarank_pair_method": "mean", "lambdarank_num_pair_per_sample": 8}
        for kind in ("rank:pairwise", "rank:ndcg")
    ],
    "lightgbm": [
        {"objective": "lambdarank", "lambdarank_truncation_level": 200},
        {"objective": "rank_xendcg"},
    ],
}
_RANKING_SCALE = 1e-3
"""The Hessians of the libraries' ranking objectives are about so small; what is compared with them has to be, too."""


@dataclass(frozen=True)
class Settings:
    """The settings of one training.

    Args:
        learning_rate: Step size.
        leaves: Largest number of leaves of a tree.
        min_child_weight: Smallest sum of Hessians in a leaf.
        subsample: Fraction of the rows for each tree.
        columns: Fraction of the columns for each tree.
        l2: Penalty of the leaves' squared values.
        own: The objective's own settings.
    """

    learning_rate: float
    leaves: int
    min_child_weight: float
    subsample: float
    columns: float
    l2: float
    own: Own


def draw(trial: int, seed: int, library: Library, method: Method, max_fpr: float | None) -> Settings:
    """Draw the settings of a trial; the first trial has the libraries' defaults.

    Args:
        trial: Its number, from 0.
        seed: The seed of the split.
        library: Who trains.
        method: The objective.
        max_fpr: The region that counts, for the objective that knows it.
    """
    common = np.random.default_rng([seed, trial])
    own = _own(
        np.random.default_rng([seed, trial, zlib.crc32(method.encode())]), trial, library, method, max_fpr
    )
    scale = _RANKING_SCALE if method == "ranking" else 1.0
    if trial == 0:
        return Settings(0.1, 31, scale, 1.0, 1.0, scale, own)
    return Settings(
        learning_rate=_log(common, 0.02, 0.3),
        leaves=round(_log(common, 4, 64)),
        min_child_weight=_digits(scale * _log(common, 0.03, 10)),
        subsample=_digits(common.uniform(0.5, 1)),
        columns=_digits(common.uniform(0.5, 1)),
        l2=_digits(scale * _log(common, 0.1, 10)),
        own=own,
    )


def _own(
    random: np.random.Generator, trial: int, library: Library, method: Method, max_fpr: float | None
) -> Own:
    if method == "log_loss":
        return {}
    if method == "weighted_log_loss":  # the power of n₋ / n₊: 1 balances the classes
        return {"power": 1.0 if trial == 0 else _digits(random.uniform(0.25, 1))}
    if method == "ranking":
        kinds = _RANKINGS[library]
        return kinds[0 if trial == 0 else int(random.integers(len(kinds)))]
    assert max_fpr is not None
    if trial == 0:
        return {"max_fpr": max_fpr, "surrogate": "logistic", "ce_weight": CE_WEIGHT}
    return {
        "max_fpr": _log(random, max_fpr, max(max_fpr, WIDEST)),
        "surrogate": str(random.choice(["logistic", "squared_hinge"])),
        "ce_weight": float(random.choice([0.1, 0.3, 0.5, 0.8])),
    }


def objective_of(
    settings: Settings, library: Library, method: Method, n_pos: int, n_neg: int
) -> dict[str, Any]:
    """The library's parameters for the objective; a callable is under ``objective``.

    Args:
        settings: The settings.
        library: Who trains.
        method: The objective.
        n_pos: Number of positives in the training part.
        n_neg: Number of negatives there.
    """
    log_loss = "binary:logitraw" if library == "xgboost" else "binary"
    own: dict[str, Any] = dict(settings.own)
    if method == "log_loss":
        return {"objective": log_loss}
    if method == "weighted_log_loss":
        return {"objective": log_loss, "scale_pos_weight": (n_neg / n_pos) ** own["power"]}
    if method == "ranking":
        return own
    return {"objective": partial_auc_objective(**own)}


def check_libraries(libraries: list[Library]) -> None:
    """Raise :class:`InputError` if one of the libraries is not installed."""
    for library in libraries:
        try:
            __import__(library)
        except ImportError as error:
            raise InputError(
                f"{library} is not installed: pip install 'pauc-lightning[{library}]'."
            ) from error


def _log(random: np.random.Generator, low: float, high: float) -> float:
    return _digits(float(np.exp(random.uniform(np.log(low), np.log(high)))))


def _digits(value: float) -> float:
    """Three digits: more cannot be told apart."""
    return float(f"{value:.3g}")
