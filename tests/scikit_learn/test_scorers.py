"""The scorers measure what they say, for any labels and any classifier."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from scikit_learn.tables import table
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score, roc_curve
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC

from pauc_lightning import InputError
from pauc_lightning.metrics.functional import convert_partial_auc
from pauc_lightning.sklearn import partial_auc_scorer, tpr_at_fpr_scorer

X, Y = table()
NEW, LABELS = table(seed=1)


@pytest.mark.parametrize(
    "model", [LogisticRegression(), LinearSVC(), GaussianNB(), RandomForestClassifier(20)]
)
def test_the_whole_auc_is_that_of_scikit_learn(model: LogisticRegression) -> None:
    model.fit(X, Y)
    has_function = hasattr(model, "decision_function")
    scores = model.decision_function(NEW) if has_function else model.predict_proba(NEW)[:, 1]
    assert partial_auc_scorer(max_fpr=1.0)(model, NEW, LABELS) == pytest.approx(roc_auc_score(LABELS, scores))


def test_one_way_it_is_scikit_learns_value_on_another_scale() -> None:
    model = LogisticRegression().fit(X, Y)
    ours = partial_auc_scorer(max_fpr=0.25)(model, NEW, LABELS)  # 120 of 480 negatives
    theirs = roc_auc_score(LABELS, model.decision_function(NEW), max_fpr=0.25)
    assert float(convert_partial_auc(ours, "ratio", "mcclish", max_fpr=0.25)) == pytest.approx(theirs)


def test_two_way_it_is_the_area_in_the_corner() -> None:
    model = LogisticRegression().fit(X, Y)
    fpr, tpr, _ = roc_curve(LABELS, model.decision_function(NEW))
    grid = np.linspace(0, 0.5, 200_001)
    area = np.maximum(np.interp(grid, fpr, tpr) - 0.6, 0).mean() / 0.4
    assert partial_auc_scorer(max_fpr=0.5, min_tpr=0.6)(model, NEW, LABELS) == pytest.approx(area, abs=2e-3)


def test_the_recall_at_a_budget_is_the_height_of_the_roc_curve() -> None:
    model = LogisticRegression().fit(X, Y)
    fpr, tpr, _ = roc_curve(LABELS, model.decision_function(NEW), drop_intermediate=False)
    assert tpr_at_fpr_scorer(max_fpr=0.1)(model, NEW, LABELS) == tpr[fpr <= 0.1].max()


def test_the_positives_may_be_the_first_label() -> None:
    names, new_names = np.where(Y == 1, "fraud", "ok"), np.where(LABELS == 1, "fraud", "ok")
    for make in (LogisticRegression, GaussianNB):
        named, numbered = make().fit(X, names), make().fit(X, Y)
        for scorer in (partial_auc_scorer, tpr_at_fpr_scorer):
            expected = scorer(max_fpr=0.1)(numbered, NEW, LABELS)
            assert scorer(max_fpr=0.1, pos_label="fraud")(named, NEW, new_names) == pytest.approx(expected)
            assert scorer(max_fpr=0.1)(named, NEW, new_names) != pytest.approx(expected)


class Known(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A fitted classifier whose scores are its inputs."""

    def __init__(self, classes: tuple[Any, Any] = (-1, 1)) -> None:
        self.classes = classes
        self.classes_ = np.array(classes)

    def decision_function(self, X: Any) -> Any:
        return np.asarray(X)


def test_hand_values() -> None:
    labels, scores = [-1, 1, -1, 1], [0.1, 0.9, 0.7, 0.6]
    assert partial_auc_scorer(max_fpr=0.5)(Known(), scores, labels) == 0.5
    assert partial_auc_scorer(max_fpr=1.0)(Known(), scores, labels) == 0.75
    assert partial_auc_scorer(max_fpr=1.0, min_fpr=0.5)(Known(), scores, labels) == 1.0
    assert tpr_at_fpr_scorer(max_fpr=0.4)(Known(), scores, labels) == 0.5
    assert tpr_at_fpr_scorer(max_fpr=0.5)(Known(), scores, labels) == 1.0


def test_scorers_of_one_evaluation_do_not_change_each_others_sign() -> None:
    """Those of make_scorer share one response of the estimator, with the sign of the first one's pos_label."""
    names = np.where(Y == 1, "fraud", "ok")
    ours = partial_auc_scorer(max_fpr=0.2, pos_label="fraud")
    alone = cross_validate(LogisticRegression(), X, names, scoring=ours, cv=2)["test_score"]
    for scoring in ({"auc": "roc_auc", "ours": ours}, {"ours": ours, "auc": "roc_auc"}):
        together = cross_validate(LogisticRegression(), X, names, scoring=scoring, cv=2)
        np.testing.assert_array_equal(together["test_ours"], alone)
        assert together["test_auc"].min() > 0.7


def test_a_search_and_a_validation_use_them_after_a_pickle() -> None:
    scoring = {"corner": partial_auc_scorer(max_fpr=0.1), "recall": tpr_at_fpr_scorer(max_fpr=0.1)}
    scoring = pickle.loads(pickle.dumps(scoring))
    results = cross_validate(LogisticRegression(), X, Y, scoring=scoring, cv=3, n_jobs=2)
    assert len(results["test_corner"]) == len(results["test_recall"]) == 3
    search = GridSearchCV(
        LogisticRegression(), {"C": [1e-6, 1.0]}, scoring=scoring, refit="corner", cv=3
    ).fit(X, Y)
    assert search.best_score_ == search.cv_results_["mean_test_corner"].max() > 0.2


@pytest.mark.parametrize("value", [1.5, -0.1, "abc", None])
def test_a_wrong_region_is_refused_when_the_scorer_is_made(value: object) -> None:
    for make in (partial_auc_scorer, tpr_at_fpr_scorer):
        with pytest.raises(InputError, match="`max_fpr`"):
            make(max_fpr=value)  # type: ignore[arg-type]


def test_what_has_no_roc_curve_is_refused() -> None:
    scorer, model = partial_auc_scorer(max_fpr=0.5), Known()
    with pytest.raises(InputError, match="no positive"):
        scorer(model, [0.1, 0.2, 0.3], [-1, -1, -1])
    with pytest.raises(InputError, match=r"`y` must hold the classes \[-1, 1\] .*, got 0"):
        scorer(model, [0.1, 0.2], [0, 1])
    with pytest.raises(InputError, match=r"`pos_label` must be one of the classes \[-1, 1\], got 2"):
        partial_auc_scorer(max_fpr=1.0, pos_label=2)(model, [0.1, 0.2], [-1, 1])
    with pytest.raises(InputError, match="classifier of two classes, got LogisticRegression"):
        scorer(LogisticRegression().fit(X, np.arange(len(X)) % 3), X, Y)
    with pytest.raises(InputError, match="decision_function or predict_proba, got NearestCentroidLike"):
        scorer(NearestCentroidLike().fit(X, Y), X, Y)


class NearestCentroidLike(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier without scores."""

    def fit(self, X: Any, y: Any) -> NearestCentroidLike:
        self.classes_ = np.unique(y)
        return self
