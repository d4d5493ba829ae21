"""The classifier among scikit-learn's tools: pipelines, searches, calibration, thresholds, processes, threads."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import joblib  # type: ignore[import-untyped]
import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import pytest
from scikit_learn.tables import Noisy, quick, table
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.inspection import permutation_importance
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    TunedThresholdClassifierCV,
    cross_val_predict,
    cross_val_score,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from pauc_lightning.metrics.functional import binary_partial_auc
from pauc_lightning.sklearn import partial_auc_scorer

X, Y = table()


def frame() -> tuple[pd.DataFrame, pd.Series]:
    """A table as users have it: gaps, text, labels in words."""
    data = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    data.loc[::7, "a"] = np.nan
    data["kind"] = np.where(Y == 1, "rare", np.where(np.arange(len(Y)) % 3 == 0, "common", "usual"))
    data.loc[::2, "kind"] = "usual"
    return data, pd.Series(np.where(Y == 1, "ill", "healthy"))


@pytest.mark.parametrize("sparse_threshold", [0.0, 1.0])
def test_a_pipeline_takes_a_frame_with_gaps_and_text(sparse_threshold: float) -> None:
    data, labels = frame()
    columns = make_column_transformer(
        (SimpleImputer(), ["a", "b", "c", "d"]),
        (OneHotEncoder(handle_unknown="ignore"), ["kind"]),
        sparse_threshold=sparse_threshold,
    )
    pipeline = make_pipeline(columns, quick(pos_label="ill")).fit(data, labels)
    assert pipeline.score(data, labels) > 0.6
    assert set(pipeline.predict(data)) == {"ill", "healthy"}


def test_a_search_on_two_processes_finds_what_one_finds() -> None:
    grid = {"hidden": [(), (8,)], "method": ["ce", "hard_ce"], "max_fpr": [0.2]}
    searches = [
        GridSearchCV(quick(), grid, scoring=partial_auc_scorer(max_fpr=0.2), cv=2, n_jobs=n_jobs).fit(X, Y)
        for n_jobs in (1, 2)
    ]
    alone, together = (search.cv_results_["mean_test_score"] for search in searches)
    np.testing.assert_array_equal(alone, together)
    assert searches[0].best_params_ == searches[1].best_params_


def test_without_scoring_a_search_looks_for_the_partial_auc() -> None:
    values = cross_val_score(quick(), X, Y, cv=2)
    named = cross_val_score(quick(), X, Y, cv=2, scoring=partial_auc_scorer(max_fpr=0.3))
    np.testing.assert_array_equal(values, named)


def test_predictions_out_of_fold() -> None:
    scores = cross_val_predict(quick(), X, Y, cv=3, method="decision_function")
    assert float(binary_partial_auc(scores, Y, max_fpr=0.3)) > 0.4


def test_calibration_keeps_the_ranking_and_makes_probabilities() -> None:
    model = quick(max_fpr=0.2).fit(X, Y)
    new, labels = table(3000, seed=1)
    calibrated = CalibratedClassifierCV(FrozenEstimator(model), method="sigmoid").fit(*table(3000, seed=2))
    before, after = model.predict_proba(new)[:, 1], calibrated.predict_proba(new)[:, 1]
    assert abs(after.mean() - labels.mean()) < 0.03 < abs(before.mean() - labels.mean())
    assert float(binary_partial_auc(after, labels, max_fpr=0.2)) == pytest.approx(model.score(new, labels))


def test_thresholds_of_scikit_learn() -> None:
    fixed = FixedThresholdClassifier(quick(), threshold=0.9, response_method="predict_proba").fit(X, Y)
    assert 0 < fixed.predict(X).sum() < quick().fit(X, Y).predict(X).sum()
    tuned = TunedThresholdClassifierCV(quick(), scoring="balanced_accuracy", cv=2, thresholds=20).fit(X, Y)
    assert tuned.best_score_ > 0.6


def test_an_importance_per_column() -> None:
    model = quick(max_fpr=0.2).fit(X, Y)
    importances = permutation_importance(model, X, Y, random_state=0, n_repeats=3).importances_mean
    assert importances[:2].min() > importances[2:].max()


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_fits_side_by_side_give_the_same_bits_as_one_after_the_other(backend: str) -> None:
    models = [quick(backbone=Noisy, random_state=seed) for seed in range(4)]
    with joblib.parallel_config(backend=backend, n_jobs=2):
        together = joblib.Parallel()(joblib.delayed(_scores)(model) for model in models)
    for scores, model in zip(together, models, strict=True):
        np.testing.assert_array_equal(scores, _scores(model))


def _scores(model: Any) -> Any:
    return model.fit(X, Y).decision_function(X)


def test_no_lightning_is_imported() -> None:
    unwanted = {"lightning", "torchvision", "torchmetrics", "matplotlib"}
    code = f"import sys, pauc_lightning.sklearn; print(*({unwanted} & sys.modules.keys()))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
