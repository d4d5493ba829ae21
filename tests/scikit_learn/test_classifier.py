"""What the classifier learns, keeps and refuses."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import pytest
import torch
from catalogue.sentences import check_sentence
from scikit_learn.tables import Noisy, quick, table
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler
from torch import nn

from pauc_lightning import InputError, Region
from pauc_lightning.data import GaussianLT
from pauc_lightning.errors import NonFiniteError
from pauc_lightning.metrics.functional import binary_partial_auc
from pauc_lightning.sklearn import PartialAUCClassifier
from pauc_lightning.sklearn.losses import LOSSES

X, Y = table()


def layer(model: PartialAUCClassifier) -> torch.nn.Linear:
    """The layer of a linear scorer."""
    found = model.network_.layer
    assert isinstance(found, torch.nn.Linear)
    return found


def direction(model: PartialAUCClassifier) -> torch.Tensor:
    """The weights of a linear scorer in the units of its inputs."""
    weight = layer(model).weight.detach().squeeze(0)
    return weight / torch.from_numpy(model._columns.scale)


# ---------------------------------------------------------------------- what it learns


def test_the_default_method_is_the_documented_one() -> None:
    page = (Path(__file__).parents[2] / "docs/sklearn.md").read_text(encoding="utf-8")
    (row,) = [line for line in page.splitlines() if line.startswith("| `method` |")]
    assert row.endswith(f"| `{PartialAUCClassifier().method}` |")
    assert PartialAUCClassifier().method == "partial_auc"


@pytest.mark.parametrize(
    "region", [Region(0.1), Region(0.3), Region(0.3, 0.7)], ids=lambda region: region.name
)
def test_the_default_finds_the_best_linear_score_where_logistic_regression_does_not(region: Region) -> None:
    data = GaussianLT()
    train = data.dataset("train").__getitems__(range(data.train_size))
    _, best = data.best_linear(region)
    model = PartialAUCClassifier(region.max_fpr, region.min_tpr, random_state=0)
    model.fit(train.input.numpy(), train.target.numpy())
    assert data.population_partial_auc(direction(model), region) > best - 0.01
    warm = PartialAUCClassifier(region.max_fpr, region.min_tpr, method="ce", random_state=0)
    warm.fit(train.input.numpy(), train.target.numpy())
    assert data.population_partial_auc(direction(warm), region) < best - 0.02


def test_a_linear_warm_up_is_logistic_regression() -> None:
    model = quick(method="ce", validation_fraction=0).fit(X, Y)
    inputs = StandardScaler().fit_transform(X)
    reference = LogisticRegression(C=1.0, tol=1e-8).fit(inputs, Y)
    np.testing.assert_allclose(layer(model).weight.numpy(force=True), reference.coef_, atol=2e-3)
    np.testing.assert_allclose(model.predict_proba(X), reference.predict_proba(inputs), atol=2e-3)


def test_the_strength_of_the_penalty_is_that_of_logistic_regression() -> None:
    model = quick(method="ce", validation_fraction=0, weight_decay=0.1).fit(X, Y)
    reference = LogisticRegression(C=1 / (0.1 * len(Y)), tol=1e-8).fit(StandardScaler().fit_transform(X), Y)
    np.testing.assert_allclose(layer(model).weight.numpy(force=True), reference.coef_, atol=2e-3)


@pytest.mark.parametrize("method", LOSSES)
def test_every_method_learns_to_rank(method: str) -> None:
    model = quick(method=method, hidden=(8,), warmup_epochs=1, epochs=4, max_fpr=0.5).fit(X, Y)
    assert model.history_[-1].phase == method
    assert len({epoch.loss for epoch in model.history_}) == 5
    assert model.score(*table(seed=1)) > 0.5  # a random score has 0.25


def test_the_two_way_region_is_trained_and_scored() -> None:
    model = quick(max_fpr=0.4, min_tpr=0.5, epochs=10).fit(X, Y)
    new, labels = table(seed=1)
    scores = model.decision_function(new)
    assert model.score(new, labels) == float(binary_partial_auc(scores, labels, max_fpr=0.4, min_tpr=0.5))


def test_an_own_network_is_built_for_the_columns_and_trained() -> None:
    model = quick(backbone=Noisy, warmup_epochs=10).fit(X, Y)
    assert isinstance(model.network_, Noisy)
    assert not model.network_.training
    assert model.network_.layers[0].in_features == 4
    assert model.score(*table(seed=1)) > 0.4


def test_options_reach_the_loss() -> None:
    plain, soft = (
        quick(method="upauci", loss_options=options).fit(X, Y) for options in (None, {"omega": 4.0})
    )
    assert plain.history_[-1].loss != soft.history_[-1].loss


# ---------------------------------------------------------------------- which epoch it keeps


def test_it_keeps_the_best_epoch_on_the_samples_held_out() -> None:
    model = quick(hidden=(8,), epochs=10).fit(X, Y)
    candidates = [epoch for epoch in model.history_ if not np.isnan(epoch.value)]
    assert [epoch.number for epoch in candidates] == list(range(3, 14))  # the end of the warm-up is the first
    best = max(candidates, key=lambda epoch: (epoch.value, epoch.number))
    assert (model.best_epoch_, model.validation_score_) == (best.number, best.value)


def test_patience_stops_early() -> None:
    model = quick(learning_rate=0.0, epochs=50, patience=4).fit(X, Y)
    assert len(model.history_) == 1 + 4


def test_without_validation_the_last_epoch_is_kept() -> None:
    model = quick(validation_fraction=0).fit(X, Y)
    assert model.best_epoch_ == 6
    assert np.isnan(model.validation_score_)


def test_too_few_samples_to_hold_out_are_said() -> None:
    with pytest.warns(
        UserWarning, match=r"120 positives and 480 negatives are too few .*OPAUC \(FPR ≤ 0.01\)"
    ):
        model = quick(max_fpr=0.01).fit(X, Y)
    assert np.isnan(model.validation_score_)


# ---------------------------------------------------------------------- labels


@pytest.mark.parametrize(("negative", "positive"), [(0, 1), (-1, 1), (False, True), ("no", "yes"), (3, 7)])
def test_labels_of_any_kind_train_the_same_model(negative: Any, positive: Any) -> None:
    labels = np.array([negative, positive])[Y]
    model, reference = quick().fit(X, labels), quick().fit(X, Y)
    np.testing.assert_array_equal(model.decision_function(X), reference.decision_function(X))
    np.testing.assert_array_equal(model.classes_, [negative, positive])
    np.testing.assert_array_equal(model.predict(X) == positive, reference.predict(X) == 1)
    assert model.score(X, labels) == reference.score(X, Y)


def test_the_positives_may_be_the_first_label() -> None:
    """Fraud sorts before ok: the loss follows pos_label, the scores scikit-learn's order of the classes."""
    labels = np.where(Y == 1, "fraud", "ok")
    model, reference = quick(pos_label="fraud").fit(X, labels), quick().fit(X, Y)
    assert model.classes_.tolist() == ["fraud", "ok"]
    np.testing.assert_array_equal(model.decision_function(X), -reference.decision_function(X))
    np.testing.assert_array_equal(model.predict_proba(X)[:, 0], reference.predict_proba(X)[:, 1])
    np.testing.assert_array_equal(model.predict(X) == "fraud", reference.predict(X) == 1)
    assert model.score(X, labels) == reference.score(X, Y)


def test_rare_negatives_are_not_thinned_out() -> None:
    model = quick(pos_label=0, validation_fraction=0).fit(X, Y)  # four positives to one negative
    assert model.score(*table(seed=1)) > 0.3


# ---------------------------------------------------------------------- inputs


def test_frames_and_lists_train_the_same_model() -> None:
    reference = quick().fit(X, Y).decision_function(X)
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    model = quick().fit(frame, pd.Series(Y, index=frame.index[::-1]))
    np.testing.assert_array_equal(model.decision_function(frame), reference)
    assert model.feature_names_in_.tolist() == ["a", "b", "c", "d"]
    np.testing.assert_array_equal(quick().fit(X.tolist(), Y.tolist()).decision_function(X), reference)


def test_sparse_matrices_train_the_model_of_their_dense_copies() -> None:
    dense = np.where(np.random.RandomState(0).rand(*X.shape) < 0.3, X - X.mean(axis=0), 0.0)
    reference = quick(hidden=(8,)).fit(dense, Y).decision_function(dense)
    linear = quick().fit(dense, Y).decision_function(dense)
    for make in (sparse.csr_array, sparse.csc_matrix, sparse.coo_array):
        scores = quick(hidden=(8,)).fit(make(dense), Y).decision_function(make(dense))
        np.testing.assert_allclose(scores, reference, rtol=1e-3, atol=1e-4)
        # The solver of the linear warm-up takes another way to the same optimum, up to its tolerance.
        np.testing.assert_allclose(
            quick().fit(make(dense), Y).decision_function(make(dense)), linear, atol=0.02
        )


def test_a_large_mean_costs_no_digits() -> None:
    far = X + 1e7
    near, shifted = quick().fit(X, Y).decision_function(X), quick().fit(far, Y).decision_function(far)
    np.testing.assert_allclose(shifted, near, atol=1e-3)


def test_rows_are_scored_alone_as_together() -> None:
    many = np.tile(X, (30, 1))  # more than one block
    model = quick(hidden=(8,)).fit(X, Y)
    alone = np.concatenate([model.decision_function(row[None]) for row in X[:20]])
    np.testing.assert_allclose(model.decision_function(many)[600:620], alone, rtol=1e-12)


def test_columns_that_do_not_vary_are_harmless() -> None:
    model = quick().fit(np.column_stack([X, np.full(len(X), 7.0)]), Y)
    assert np.isfinite(model.decision_function(np.column_stack([X, np.full(len(X), 8.0)]))).all()


def test_without_standardisation_the_network_sees_the_values_themselves() -> None:
    inputs = StandardScaler().fit_transform(X)
    np.testing.assert_allclose(
        quick(standardize=False, validation_fraction=0).fit(inputs, Y).decision_function(inputs),
        quick(validation_fraction=0).fit(X, Y).decision_function(X),
        atol=1e-5,
    )


# ---------------------------------------------------------------------- random numbers


@pytest.mark.parametrize("settings", [{}, {"hidden": (8,), "dropout": 0.3}, {"backbone": Noisy}])
def test_the_same_seed_gives_the_same_bits_and_another_one_others(settings: dict[str, Any]) -> None:
    first, again, other = (quick(**{**settings, "random_state": seed}).fit(X, Y) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.decision_function(X), again.decision_function(X))
    assert (first.decision_function(X) != other.decision_function(X)).any()


def test_the_global_generators_are_left_alone() -> None:
    torch.manual_seed(0)
    np.random.seed(0)  # noqa: NPY002
    before = torch.get_rng_state(), np.random.get_state(legacy=True)  # noqa: NPY002
    quick(backbone=Noisy).fit(X, Y)
    after = torch.get_rng_state(), np.random.get_state()  # noqa: NPY002
    assert torch.equal(before[0], after[0])
    np.testing.assert_array_equal(before[1][1], after[1][1])  # type: ignore[index]


def test_without_a_seed_numpys_global_generator_decides() -> None:
    scores = []
    for _ in range(2):
        np.random.seed(3)  # noqa: NPY002
        scores.append(quick(random_state=None).fit(X, Y).decision_function(X))
    np.testing.assert_array_equal(scores[0], scores[1])


def test_a_second_fit_starts_anew() -> None:
    model = quick(hidden=(8,)).fit(X, Y)
    first = model.decision_function(X)
    np.testing.assert_array_equal(model.fit(X, Y).decision_function(X), first)


# ---------------------------------------------------------------------- copies


@pytest.mark.parametrize("settings", [{}, {"hidden": (8, 4), "dropout": 0.1}, {"backbone": Noisy}])
def test_pickles_fitted_and_unfitted(settings: dict[str, Any]) -> None:
    unfitted = pickle.loads(pickle.dumps(quick(**settings)))
    model = unfitted.fit(X, Y)
    fitted = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(fitted.decision_function(X), model.decision_function(X))
    assert not hasattr(clone(fitted), "network_")


# ---------------------------------------------------------------------- thresholds


def test_a_target_keeps_its_false_positive_rate_with_the_promised_probability() -> None:
    """Thirty fits: at confidence 0.9 about three of them exceed the target on new data, without it about half."""
    exceeds = {0.9: 0, None: 0}
    new, labels = table(20_000, seed=99)
    for seed in range(30):
        inputs, target = table(1000, seed)
        for confidence in exceeds:
            model = quick(
                target_fpr=0.1, confidence=confidence, epochs=1, validation_fraction=0.25, random_state=seed
            )
            called = model.fit(inputs, target).predict(new)
            exceeds[confidence] += called[labels == 0].mean() > 0.1
    assert exceeds[0.9] <= 7  # 99.9 % of a binomial distribution with 30 and 0.1
    assert 6 <= exceeds[None] <= 24


def test_the_threshold_is_chosen_on_samples_that_no_epoch_was_chosen_on() -> None:
    plain, cautious = quick().fit(X, Y), quick(target_fpr=0.05, confidence=None).fit(X, Y)
    assert plain.threshold_ == 0
    assert cautious.threshold_ > 0
    np.testing.assert_array_equal(
        cautious.predict(X) == 1, cautious.decision_function(X) >= cautious.threshold_
    )
    assert cautious.predict(X).mean() < plain.predict(X).mean()


def test_too_few_negatives_for_a_guarantee_name_the_number_needed() -> None:
    with pytest.raises(InputError, match=r"needs at least 299 negatives .* holds out 72: raise it"):
        quick(target_fpr=0.01).fit(X, Y)
    assert quick(target_fpr=0.01, confidence=None, epochs=1).fit(X, Y).predict(X).sum() < 100


# ---------------------------------------------------------------------- what it refuses


@pytest.mark.parametrize(
    ("settings", "value"),
    [
        ({"max_fpr": 1.5}, "1.5"),
        ({"min_tpr": -0.1}, "-0.1"),
        ({"method": "upauki"}, "'upauki'"),
        ({"method": None}, "None"),
        ({"loss_options": {"omego": 1}}, "'omego'"),
        ({"loss_options": {"max_fpr": 0.1}}, "'max_fpr'"),
        ({"loss_options": [1]}, "[1]"),
        ({"hidden": 64}, "64"),
        ({"hidden": (64, 0)}, "0"),
        ({"hidden": "64"}, "'64'"),
        ({"dropout": 1.0}, "1.0"),
        ({"backbone": nn.Linear(4, 1)}, "Linear"),
        ({"backbone": 3}, "3"),
        ({"backbone": Noisy, "hidden": (3,)}, "(3,)"),
        ({"standardize": "yes"}, "'yes'"),
        ({"warmup_epochs": -1}, "-1"),
        ({"epochs": 2.5}, "2.5"),
        ({"batch_size": 1}, "1"),
        ({"positive_fraction": 1.0}, "1.0"),
        ({"learning_rate": -0.1}, "-0.1"),
        ({"weight_decay": "some"}, "'some'"),
        ({"validation_fraction": 1.0}, "1.0"),
        ({"patience": 0}, "0"),
        ({"target_fpr": 0}, "0"),
        ({"confidence": 1.0, "target_fpr": 0.1}, "1.0"),
        ({"target_fpr": 0.1, "validation_fraction": 0}, "0.1"),
        ({"pos_label": "yes"}, "'yes'"),
    ],
    ids=str,
)
def test_a_wrong_setting_is_named_in_one_sentence(settings: dict[str, Any], value: str) -> None:
    with pytest.raises(InputError) as caught:
        quick(**settings).fit(X, Y)
    check_sentence(str(caught.value), [f"`{next(iter(settings))}", value])


def test_nothing_to_train_is_refused() -> None:
    with pytest.raises(InputError, match="must not both be 0"):
        quick(epochs=0, warmup_epochs=0).fit(X, Y)


def test_a_network_with_two_outputs_is_refused() -> None:
    with pytest.raises(InputError, match="one logit per sample"):
        quick(backbone=lambda columns: nn.Linear(columns, 2)).fit(X, Y)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"])
@pytest.mark.parametrize("settings", [{}, {"hidden": (4,)}], ids=["linear", "hidden"])
def test_values_that_are_too_large_are_called_that(
    standardize: bool, kind: Any, settings: dict[str, Any]
) -> None:
    """They are no missing values, which scikit-learn took their overflow for."""
    model = quick(standardize=standardize, validation_fraction=0.0, **settings)
    for value in (1e300, -1e300, 1e308):
        large = X.copy()
        large[7, 3] = value
        with pytest.raises(InputError, match="too large for float32") as refused:
            model.fit(kind(large), Y)
        assert f"up to {abs(value):g} in column 3 " in str(refused.value)


def test_steps_into_the_infinite_are_refused() -> None:
    with pytest.raises(NonFiniteError, match=r"after epoch 1.*lower `learning_rate`, now 1e\+30"):
        quick(method="ce", hidden=(4,), learning_rate=1e30).fit(X, Y)
