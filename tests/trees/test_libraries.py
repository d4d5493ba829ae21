"""XGBoost and LightGBM train with the objective and stop by the metric, in all their ways to be called."""

from __future__ import annotations

import pickle
from typing import Any

import lightgbm as lgb
import numpy as np
import pytest
import xgboost as xgb
from numpy.testing import assert_allclose
from sklearn.base import clone

from pauc_lightning.errors import InputError
from pauc_lightning.metrics.functional import binary_partial_auc
from pauc_lightning.trees import partial_auc_metric, partial_auc_objective

REGION = 0.1
XGB = {"eta": 0.3, "max_depth": 3, "nthread": 1}
LGB = {"learning_rate": 0.3, "num_leaves": 8, "num_threads": 1, "verbose": -1}
ROUNDS = 15


def rows(seed: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    y = (random.random(2000) < 0.1).astype(np.int64)
    return random.normal(size=(2000, 4)) + 0.8 * y[:, None], y


X, Y = rows(0)
X_VAL, Y_VAL = rows(1)


def partial_auc(scores: Any, y: np.ndarray = Y_VAL, max_fpr: float = REGION) -> float:
    return float(binary_partial_auc(np.asarray(scores), y, max_fpr))


@pytest.mark.parametrize("surrogate", ["logistic", "squared_hinge"])
@pytest.mark.parametrize(("max_fpr", "min_tpr"), [(REGION, 0.0), (0.3, 0.5)])
def test_both_libraries_learn(surrogate: Any, max_fpr: float, min_tpr: float) -> None:
    objective = partial_auc_objective(max_fpr, min_tpr, surrogate=surrogate)
    booster = xgb.train(XGB, xgb.DMatrix(X, Y), ROUNDS, obj=objective)
    model = lgb.train({**LGB, "objective": objective}, lgb.Dataset(X, Y), ROUNDS)
    for scores in (booster.predict(xgb.DMatrix(X_VAL)), model.predict(X_VAL)):
        assert partial_auc(scores) > 0.35  # chance is 0.05, the sum of the columns, which is best, has 0.47


def test_the_pairs_alone_fit_the_corner_far_better_than_log_loss() -> None:
    """On the training rows: that is what an objective is to do."""
    data, parameters = xgb.DMatrix(X, Y), {**XGB, "eta": 0.1, "objective": "binary:logitraw"}
    of_log_loss = partial_auc(xgb.train(parameters, data, 60).predict(data), Y)
    for surrogate in ("logistic", "squared_hinge"):
        objective = partial_auc_objective(REGION, surrogate=surrogate, ce_weight=0)
        assert (
            partial_auc(xgb.train(parameters, data, 60, obj=objective).predict(data), Y) > of_log_loss + 0.15
        )


def test_the_scikit_learn_classes_train_the_same() -> None:
    objective = partial_auc_objective(REGION)
    classifier = xgb.XGBClassifier(
        n_estimators=ROUNDS, learning_rate=0.3, max_depth=3, n_jobs=1, objective=objective
    ).fit(X, Y)
    booster = xgb.train({**XGB, "objective": "binary:logistic"}, xgb.DMatrix(X, Y), ROUNDS, obj=objective)
    margins = classifier.predict(X_VAL, output_margin=True)
    assert_allclose(margins, booster.predict(xgb.DMatrix(X_VAL), output_margin=True), atol=1e-5)
    other = lgb.LGBMClassifier(
        n_estimators=ROUNDS, learning_rate=0.3, num_leaves=8, n_jobs=1, verbose=-1, objective=objective
    ).fit(X, Y)
    model = lgb.train({**LGB, "objective": objective}, lgb.Dataset(X, Y), ROUNDS)
    assert_allclose(other.predict(X_VAL, raw_score=True), model.predict(X_VAL), atol=1e-9)


def test_a_model_can_be_cloned_and_pickled() -> None:
    objective = partial_auc_objective(REGION, ce_weight=0.1)
    for model in (
        xgb.XGBClassifier(
            n_estimators=2, n_jobs=1, objective=objective, eval_metric=partial_auc_metric(REGION)
        ),
        lgb.LGBMClassifier(n_estimators=2, n_jobs=1, verbose=-1, objective=objective),
    ):
        fitted = clone(model).fit(X, Y)
        copy = pickle.loads(pickle.dumps(fitted))
        option = {"output_margin": True} if isinstance(model, xgb.XGBClassifier) else {"raw_score": True}
        assert_allclose(copy.predict(X_VAL, **option), fitted.predict(X_VAL, **option))


# ---------------------------------------------------------------------- early stopping


def test_xgboost_train_stops_by_the_metric() -> None:
    history: dict[str, Any] = {}
    booster = xgb.train(
        XGB,
        xgb.DMatrix(X, Y),
        200,
        obj=partial_auc_objective(REGION),
        evals=[(xgb.DMatrix(X_VAL, Y_VAL), "val")],
        custom_metric=partial_auc_metric(REGION),
        early_stopping_rounds=5,
        evals_result=history,
        verbose_eval=False,
    )
    values = history["val"]["auc_fpr0.1"]
    assert len(values) < 200
    assert booster.best_iteration == int(np.argmax(values))
    scores = booster.predict(xgb.DMatrix(X_VAL), iteration_range=(0, booster.best_iteration + 1))
    assert partial_auc(scores) == pytest.approx(max(values), abs=1e-5)  # XGBoost keeps five digits


def test_the_classifier_of_xgboost_stops_by_the_metric() -> None:
    classifier = xgb.XGBClassifier(
        n_estimators=200,
        learning_rate=0.3,
        max_depth=3,
        n_jobs=1,
        objective=partial_auc_objective(REGION),
        eval_metric=partial_auc_metric(REGION),
        early_stopping_rounds=5,
    ).fit(X, Y, eval_set=[(X_VAL, Y_VAL)], verbose=False)
    values = classifier.evals_result()["validation_0"]["auc_fpr0.1"]
    assert len(values) < 200
    assert classifier.best_iteration == int(np.argmax(values)) > 0
    assert partial_auc(classifier.predict(X_VAL, output_margin=True)) == pytest.approx(max(values), abs=1e-5)


def test_lightgbm_train_stops_by_the_metric() -> None:
    history: dict[str, Any] = {}
    train = lgb.Dataset(X, Y)
    model = lgb.train(
        {**LGB, "objective": partial_auc_objective(REGION), "metric": "None"},
        train,
        200,
        valid_sets=[lgb.Dataset(X_VAL, Y_VAL, reference=train)],
        feval=partial_auc_metric(REGION),
        callbacks=[lgb.early_stopping(5, verbose=False), lgb.record_evaluation(history)],
    )
    values = history["valid_0"]["auc_fpr0.1"]
    assert len(values) < 200
    assert model.best_iteration == int(np.argmax(values)) + 1
    assert partial_auc(model.predict(X_VAL)) == pytest.approx(max(values), abs=1e-12)


def test_the_classifier_of_lightgbm_stops_by_the_metric() -> None:
    classifier = lgb.LGBMClassifier(
        n_estimators=200,
        learning_rate=0.3,
        num_leaves=8,
        n_jobs=1,
        verbose=-1,
        objective=partial_auc_objective(REGION),
        metric="None",
    ).fit(
        X,
        Y,
        eval_set=[(X_VAL, Y_VAL)],
        eval_metric=partial_auc_metric(REGION),
        callbacks=[lgb.early_stopping(5, verbose=False)],
    )
    values = classifier.evals_result_["valid_0"]["auc_fpr0.1"]
    assert len(values) < 200
    assert classifier.best_iteration_ == int(np.argmax(values)) + 1 > 1
    assert partial_auc(classifier.predict(X_VAL, raw_score=True)) == pytest.approx(max(values), abs=1e-12)


def test_the_metric_follows_the_libraries_own_objectives() -> None:
    history: dict[str, Any] = {}
    booster = xgb.train(
        {**XGB, "objective": "binary:logitraw", "disable_default_eval_metric": 1},
        xgb.DMatrix(X, Y),
        3,
        evals=[(xgb.DMatrix(X_VAL, Y_VAL), "val")],
        custom_metric=partial_auc_metric(REGION),
        evals_result=history,
        verbose_eval=False,
    )
    value = partial_auc(booster.predict(xgb.DMatrix(X_VAL)))
    assert history["val"]["auc_fpr0.1"][-1] == pytest.approx(value, abs=1e-5)


# ---------------------------------------------------------------------- start, weights, mistakes


def test_training_goes_on_from_a_model_of_log_loss() -> None:
    """The objective is given the margins of the first model."""
    first: list[np.ndarray] = []

    class Spy(type(partial_auc_objective(REGION))):  # type: ignore[misc]
        def __call__(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Any:
            first.append(np.array(y_true))
            return super().__call__(y_true, y_pred, sample_weight)

    data = xgb.DMatrix(X, Y)
    start = xgb.train({**XGB, "objective": "binary:logistic"}, data, 5)
    booster = xgb.train({**XGB, "objective": "binary:logistic"}, data, 5, obj=Spy(REGION), xgb_model=start)
    assert_allclose(first[0], start.predict(data, output_margin=True), atol=1e-6)
    assert booster.num_boosted_rounds() == 10
    first.clear()
    train = lgb.Dataset(X, Y, free_raw_data=False)
    before = lgb.train({**LGB, "objective": "binary"}, train, 5)
    model = lgb.train({**LGB, "objective": Spy(REGION)}, train, 5, init_model=before)
    assert_allclose(first[0], before.predict(X, raw_score=True), atol=1e-6)
    assert model.num_trees() == 10


@pytest.mark.parametrize("library", ["xgboost", "lightgbm"])
def test_weights_of_the_training_set_are_honoured(library: str) -> None:
    """Rows of weight 0 are as good as absent: with their labels turned round the same trees grow."""
    is_out = np.random.default_rng(2).random(len(Y)) < 0.5
    weights = np.where(is_out, 0.0, 1.0)
    turned = np.where(is_out, 1 - Y, Y)
    objective = partial_auc_objective(REGION)

    def scores(y: np.ndarray) -> Any:
        if library == "xgboost":
            data = xgb.DMatrix(X, y, weight=weights)
            return xgb.train(XGB, data, 5, obj=objective).predict(xgb.DMatrix(X_VAL))
        train = lgb.Dataset(X, y, weight=weights)
        return lgb.train({**LGB, "objective": objective}, train, 5).predict(X_VAL)

    assert_allclose(scores(Y), scores(turned), atol=1e-3)  # but for the Hessians' floor


def test_the_classifiers_pass_the_weights_on() -> None:
    seen: list[Any] = []

    class Spy(type(partial_auc_objective(REGION))):  # type: ignore[misc]
        def __call__(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Any:
            seen.append(sample_weight)
            return super().__call__(y_true, y_pred, sample_weight)

    weights = np.where(Y == 1, 2.0, 1.0)
    xgb.XGBClassifier(n_estimators=1, n_jobs=1, objective=Spy(REGION)).fit(X, Y, sample_weight=weights)
    lgb.LGBMClassifier(n_estimators=1, n_jobs=1, verbose=-1, objective=Spy(REGION)).fit(
        X, Y, sample_weight=weights
    )
    assert len(seen) == 2
    for passed in seen:
        assert_allclose(passed, weights)


def test_groups_and_other_labels_are_refused() -> None:
    objective, metric = partial_auc_objective(REGION), partial_auc_metric(REGION)
    grouped = xgb.DMatrix(X, Y, qid=np.repeat([0, 1], 1000))
    with pytest.raises(InputError, match="got 2 groups of rows: leave `group`"):
        xgb.train(XGB, grouped, 1, obj=objective)
    with pytest.raises(InputError, match="got 2 groups of rows"):
        lgb.train({**LGB, "objective": objective}, lgb.Dataset(X, Y, group=[1000, 1000]), 1)
    with pytest.raises(InputError, match="the labels must be 0 or 1, got 2"):
        xgb.train(XGB, xgb.DMatrix(X, Y + 2), 1, obj=objective)
    with pytest.raises(InputError, match="rows with weights"):
        metric(np.zeros(len(Y)), xgb.DMatrix(X, Y, weight=np.full(len(Y), 2.0)))
    with pytest.raises(InputError, match="it is for two classes"):
        lgb.LGBMClassifier(n_estimators=1, n_jobs=1, verbose=-1, objective=objective, num_class=3).fit(
            X, np.arange(len(Y)) % 3
        )
