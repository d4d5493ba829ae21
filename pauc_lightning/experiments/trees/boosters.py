"""Trains one model of either library, and keeps the partial AUCs on the validation part after each round."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from pauc_lightning.experiments.trees.search import Library, Method, Settings, objective_of
from pauc_lightning.experiments.trees.tables import Part, Parts
from pauc_lightning.trees import PartialAUCMetric

_BINS = 63
"""Bins of each column, fewer than the libraries' 255: a quarter of the time, for all objectives alike."""
_LARGEST_GROUP = 10_000
"""Rows of a group that LightGBM ranks."""

Scores = NDArray[np.float64]


class Trained(NamedTuple):
    """A model after all its rounds.

    Attributes:
        curves: For each metric, its value on the validation part after each round.
        test_scores: The test part's scores by the first so many rounds.
    """

    curves: list[list[float]]
    test_scores: Callable[[int], Scores]


class Booster(Protocol):
    """A library with a table loaded."""

    def train(self, settings: Settings, metrics: Sequence[PartialAUCMetric]) -> Trained:
        """Train until no metric has improved for a while."""
        ...


class Length(NamedTuple):
    """How long to train.

    Attributes:
        rounds: At most so many.
        patience: Stop after so many rounds without a better value of any metric.
    """

    rounds: int
    patience: int


def make_booster(library: Library, method: Method, parts: Parts, length: Length, threads: int) -> Booster:
    """Load the parts of a table into a library, once for all trials.

    Args:
        library: Who trains.
        method: The objective.
        parts: The table's parts.
        length: How long to train.
        threads: Number of threads.
    """
    kind = _XGBoost if library == "xgboost" else _LightGBM
    return kind(method, parts, length, threads)


class _Base:
    library: Library

    def __init__(self, method: Method, parts: Parts, length: Length, threads: int) -> None:
        self.method = method
        self.length = length
        self.threads = threads
        self.n_pos = int(parts.train.target.sum())
        self.n_neg = len(parts.train.target) - self.n_pos

    def _objective(self, settings: Settings) -> dict[str, Any]:
        return objective_of(settings, self.library, self.method, self.n_pos, self.n_neg)

    def _is_over(self, curves: Sequence[Sequence[float]]) -> bool:
        """Whether no curve has risen for ``patience`` rounds."""
        return all(len(curve) - 1 - int(np.argmax(curve)) >= self.length.patience for curve in curves)


class _XGBoost(_Base):
    library = "xgboost"

    def __init__(self, method: Method, parts: Parts, length: Length, threads: int) -> None:
        import xgboost

        super().__init__(method, parts, length, threads)
        group = {"qid": np.zeros(len(parts.train.target), dtype=np.int64)} if method == "ranking" else {}
        self._train = xgboost.QuantileDMatrix(
            parts.train.inputs, parts.train.target, max_bin=_BINS, nthread=threads, **group
        )
        self._validation, self._test = (_dmatrix(part, threads) for part in (parts.validation, parts.test))

    def train(self, settings: Settings, metrics: Sequence[PartialAUCMetric]) -> Trained:
        """Train until no metric has improved for a while."""
        import xgboost

        objective = self._objective(settings)
        custom = objective.pop("objective") if callable(objective["objective"]) else None
        parameters = {
            **objective,
            **{"eta": settings.learning_rate, "max_leaves": settings.leaves, "lambda": settings.l2},
            **{"grow_policy": "lossguide", "max_depth": 0, "tree_method": "hist", "max_bin": _BINS},
            **{"min_child_weight": settings.min_child_weight, "subsample": settings.subsample},
            **{"colsample_bytree": settings.columns, "nthread": self.threads, "seed": 0},
            "disable_default_eval_metric": 1,
        }
        curves: list[list[float]] = [[] for _ in metrics]
        is_over = self._is_over

        class Watch(xgboost.callback.TrainingCallback):
            def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
                for curve, metric in zip(curves, metrics, strict=True):
                    curve.append(evals_log["validation"][metric.__name__][-1])
                return is_over(curves)

        model = xgboost.train(
            parameters,
            self._train,
            self.length.rounds,
            obj=custom,
            evals=[(self._validation, "validation")],
            custom_metric=lambda scores, data: [metric(scores, data) for metric in metrics],
            verbose_eval=False,
            callbacks=[Watch()],
        )
        return Trained(
            curves, lambda rounds: model.predict(self._test, output_margin=True, iteration_range=(0, rounds))
        )


def _dmatrix(part: Part, threads: int) -> Any:
    import xgboost

    return xgboost.DMatrix(part.inputs, part.target, nthread=threads)


class _LightGBM(_Base):
    library = "lightgbm"

    def __init__(self, method: Method, parts: Parts, length: Length, threads: int) -> None:
        import lightgbm

        super().__init__(method, parts, length, threads)
        n = len(parts.train.target)
        n_groups = -(-n // _LARGEST_GROUP)
        group = (
            [len(rows) for rows in np.array_split(np.arange(n), n_groups)] if method == "ranking" else None
        )
        fixed = {"max_bin": _BINS, "feature_pre_filter": False, "verbose": -1, "num_threads": threads}
        self._train = lightgbm.Dataset(
            parts.train.inputs, parts.train.target, group=group, params=fixed, free_raw_data=False
        ).construct()
        self._validation = lightgbm.Dataset(
            parts.validation.inputs, parts.validation.target, reference=self._train, params=fixed
        ).construct()
        self._test = parts.test.inputs
        self._fixed = fixed

    def train(self, settings: Settings, metrics: Sequence[PartialAUCMetric]) -> Trained:
        """Train until no metric has improved for a while."""
        import lightgbm

        parameters = {
            **self._fixed,
            **self._objective(settings),
            **{
                "learning_rate": settings.learning_rate,
                "num_leaves": settings.leaves,
                "lambda_l2": settings.l2,
            },
            **{"min_sum_hessian_in_leaf": settings.min_child_weight, "min_data_in_leaf": 1},
            **{
                "bagging_fraction": settings.subsample,
                "bagging_freq": 1,
                "feature_fraction": settings.columns,
            },
            **{"metric": "None", "seed": 0, "deterministic": True, "force_col_wise": True},
        }
        curves: list[list[float]] = [[] for _ in metrics]

        def watch(state: Any) -> None:
            for curve, (_, _, value, _) in zip(curves, state.evaluation_result_list, strict=True):
                curve.append(value)
            if self._is_over(curves):
                raise lightgbm.callback.EarlyStopException(state.iteration, state.evaluation_result_list)

        model = lightgbm.train(
            parameters,
            self._train,
            self.length.rounds,
            valid_sets=[self._validation],
            feval=list(metrics),
            callbacks=[watch],
        )
        return Trained(
            curves,
            lambda rounds: np.asarray(model.predict(self._test, num_iteration=rounds, raw_score=True)),
        )
