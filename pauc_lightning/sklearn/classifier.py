"""PartialAUCClassifier: a scikit-learn classifier trained for a corner of the ROC curve."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, validate_data
from torch import nn

from pauc_lightning.errors import InputError
from pauc_lightning.metrics.functional import binary_partial_auc
from pauc_lightning.models import LinearScorer
from pauc_lightning.models.backbone import logits_of
from pauc_lightning.objectives import MinimaxObjective
from pauc_lightning.region import Region
from pauc_lightning.sklearn.columns import Columns
from pauc_lightning.sklearn.holdout import Holdout, hold_out
from pauc_lightning.sklearn.losses import LOSSES
from pauc_lightning.sklearn.settings import check_settings
from pauc_lightning.sklearn.start import make_network
from pauc_lightning.sklearn.thresholds import choose_threshold
from pauc_lightning.sklearn.training import Recipe, train

Auto = Literal["auto"]
_DTYPES = (np.float64, np.float32)
_ADAMW_STEP, _ASGDA_STEP = 0.01, 0.5
_LINEAR_STEPS, _NETWORK_STEPS = 10, 50
"""Steps of an epoch, at least. A linear scorer starts near its optimum, a network at random weights."""


class PartialAUCClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """A linear scorer or a neural network, trained for the corner of the ROC curve that matters.

    The scores rank samples so that the partial AUC of the region FPR ≤ ``max_fpr``, TPR ≥ ``min_tpr`` is large.
    Training warms up with cross-entropy, goes on with the method's loss on batches with many positives, and keeps the
    epoch with the best partial AUC on samples held out. The end of the warm-up is one of the candidates, so on those
    samples the model is never worse than cross-entropy. With ``hidden=()``, the default, the warm-up *is*
    scikit-learn's ``LogisticRegression``.

    ``predict_proba`` is the sigmoid of the score. After a loss for the partial AUC it is a score between 0 and 1, not
    a probability: wrap the classifier in ``CalibratedClassifierCV`` for probabilities. For decisions, give
    ``target_fpr``, or wrap it in ``FixedThresholdClassifier`` or ``TunedThresholdClassifierCV``.

    It needs no Lightning and runs on the CPU. Inputs are arrays, lists, data frames or sparse matrices of numbers
    without missing values. There are no sample weights: the losses compare whole samples.

    Args:
        max_fpr: Largest false-positive rate that counts, in (0, 1].
        min_tpr: Smallest true-positive rate that counts, in [0, 1); 0 is the one-way region.
        method: The loss: "partial_auc", "upauci", "pauci", "hard_ce", "mb", "sopa", "sopa_s"; "auc_m", "auc_poly" and
            "auc_exp", which do not follow the region; or "ce", cross-entropy, for which the region only selects the
            epoch.
        loss_options: Options of the loss, such as ``{"omega": 0.1}`` or ``{"surrogate": "squared_hinge"}``.
        hidden: Widths of the hidden layers; empty for a linear scorer.
        dropout: Probability of dropping a hidden unit in training.
        backbone: Your own network instead: a function that takes the number of columns and returns a
            ``torch.nn.Module`` with one logit per row. To be pickled, it must be a function of a module.
        standardize: Whether to subtract each column's mean and divide by its standard deviation in training.
        warmup_epochs: Epochs of cross-entropy before the method; 0 starts from random weights. A linear scorer does
            not count them: any number above 0 means ``LogisticRegression`` to convergence.
        epochs: Epochs of the method. An epoch is one pass over the negatives, but at least 10 steps of a linear scorer
            and 50 of a network.
        batch_size: Samples per batch, at most.
        positive_fraction: Share of positives in each batch, at least; more if the data have more.
        learning_rate: Step size of the network; it falls to zero along a cosine. "auto" is 0.5 for "upauci" and
            "pauci", which ASGDA trains, and 0.01 for the others, which AdamW trains. The warm-up of a network has 0.01.
        weight_decay: Pull of the weights towards zero; "auto" is 1/n, which is C = 1 of ``LogisticRegression``.
        validation_fraction: Share of each class that is held out to choose the epoch. If it is too small for the
            region to contain a sample of each class, a warning says so, and the last epoch is kept.
        patience: Stop when so many epochs of the method have not been better; None runs them all, so that the step
            size can fall to zero.
        target_fpr: Lets ``predict`` keep this false-positive rate. The threshold is chosen on further negatives that
            are held out, ``validation_fraction`` of them. None cuts at a score of 0, that is 0.5 in ``predict_proba``.
        confidence: Probability with which the false-positive rate on new data is at most ``target_fpr``; None chooses
            the threshold that keeps it on the samples held out, without a guarantee.
        pos_label: The label of the positives; None means the second of the two in sorted order. As everywhere in
            scikit-learn, ``decision_function`` is larger for the second.
        random_state: A number makes the fit reproducible bit for bit; None takes one from numpy's global generator.
            torch's global generator is left as it was.

    Attributes:
        classes_: The two labels, sorted.
        positive_class_: The label of the positives.
        n_features_in_: Number of columns.
        feature_names_in_: Names of the columns, if X was a data frame.
        network_: The trained ``torch.nn.Module``.
        threshold_: The smallest score that ``predict`` calls positive.
        history_: One :class:`~pauc_lightning.sklearn.training.Epoch` for each epoch.
        best_epoch_: The number of the epoch that was kept; the number of the warm-up's last epoch means its end.
        validation_score_: Its partial AUC on the samples held out; NaN if there were none.

    Example:
        >>> from sklearn.datasets import load_breast_cancer
        >>> from sklearn.model_selection import train_test_split
        >>> X, y = load_breast_cancer(return_X_y=True)
        >>> X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=1)
        >>> model = PartialAUCClassifier(max_fpr=0.1, random_state=0).fit(X_train, y_train)
        >>> bool(model.score(X_test, y_test) > 0.9)  # the partial AUC
        True
    """

    def __init__(
        self,
        max_fpr: float = 0.3,
        min_tpr: float = 0.0,
        method: str = "partial_auc",
        *,
        loss_options: Mapping[str, Any] | None = None,
        hidden: Sequence[int] = (),
        dropout: float = 0.0,
        backbone: Callable[[int], nn.Module] | None = None,
        standardize: bool = True,
        warmup_epochs: int = 20,
        epochs: int = 20,
        batch_size: int = 512,
        positive_fraction: float = 0.5,
        learning_rate: float | Auto = "auto",
        weight_decay: float | Auto = "auto",
        validation_fraction: float = 0.15,
        patience: int | None = None,
        target_fpr: float | None = None,
        confidence: float | None = 0.95,
        pos_label: Any = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.max_fpr = max_fpr
        self.min_tpr = min_tpr
        self.method = method
        self.loss_options = loss_options
        self.hidden = hidden
        self.dropout = dropout
        self.backbone = backbone
        self.standardize = standardize
        self.warmup_epochs = warmup_epochs
        self.epochs = epochs
        self.batch_size = batch_size
        self.positive_fraction = positive_fraction
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.validation_fraction = validation_fraction
        self.patience = patience
        self.target_fpr = target_fpr
        self.confidence = confidence
        self.pos_label = pos_label
        self.random_state = random_state

    def fit(self, X: Any, y: ArrayLike) -> PartialAUCClassifier:
        """Train on samples.

        Args:
            X: Numbers, shape ``(n, columns)``.
            y: Labels of two kinds, shape ``(n,)``.

        Raises:
            InputError: If an argument of the constructor cannot work; it is a ``ValueError``.
        """
        check_settings(self)
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=_DTYPES, order="C")
        target = self._target(np.asarray(y))
        region = Region(self.max_fpr, self.min_tpr)
        random = check_random_state(self.random_state)
        split = hold_out(
            target, self.validation_fraction, region, random, with_threshold=self.target_fpr is not None
        )
        self._warn_without_validation(split, target, region)
        seed = int(random.randint(np.iinfo(np.int32).max))
        rows, labels = X[split.train], target[split.train]
        self._columns = Columns(rows, self.standardize)
        self.network_ = make_network(X.shape[1], self.hidden, self.dropout, self.backbone, seed)
        trained = train(
            self.network_,
            self._columns.training_rows(rows),
            labels,
            self._recipe(region, len(labels), seed),
            self._validation(X[split.validation], target[split.validation], region),
        )
        if self.backbone is None:
            self.network_.double()  # so that a row's score does not depend on the rows around it
        self._offset = trained.offset
        self.history_ = trained.history
        self.best_epoch_ = trained.best.number
        self.validation_score_ = trained.best.value
        self.threshold_ = 0.0
        if self.target_fpr is not None:
            negatives = self._scores(X[split.threshold])
            self.threshold_ = choose_threshold(negatives, self.target_fpr, self.confidence)
        return self

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Compute the scores: larger means more like the second of ``classes_``; shape ``(n,)``."""
        scores = self._scores_of(X)
        return scores if self._positive_is_second else -scores

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Compute the sigmoid of the scores for each of ``classes_``, shape ``(n, 2)``: scores, not probabilities.

        They order the samples as ``decision_function`` does, and the two columns add up to 1. How often a sample with
        0.9 is positive is another question: ``CalibratedClassifierCV`` answers it.
        """
        second = self.decision_function(X)
        return np.column_stack([expit(-second), expit(second)])

    def predict(self, X: Any) -> NDArray[Any]:
        """Compute labels: the positive one where the score is at least ``threshold_``; shape ``(n,)``."""
        is_positive = self._scores_of(X) >= self.threshold_
        labels: NDArray[Any] = self.classes_[np.where(is_positive == self._positive_is_second, 1, 0)]
        return labels

    def score(self, X: Any, y: ArrayLike) -> float:
        """Compute the partial AUC of the region, so that a search without ``scoring`` looks for it; not the accuracy.

        Args:
            X: Numbers, shape ``(n, columns)``.
            y: Labels of both kinds, shape ``(n,)``.
        """
        scores = self._scores_of(X)
        target = np.asarray(y) == self.positive_class_
        return float(binary_partial_auc(scores, target, max_fpr=self.max_fpr, min_tpr=self.min_tpr))

    def __sklearn_tags__(self) -> Any:
        """Two classes only; sparse matrices are welcome."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = True
        return tags

    # ------------------------------------------------------------------ the parts of fit

    def _target(self, y: NDArray[Any]) -> NDArray[np.bool_]:
        """Where the labels are the positive one; keeps the labels."""
        check_classification_targets(y)
        kind = type_of_target(y, input_name="y")
        self.classes_ = np.unique(y)
        if len(self.classes_) > 2:
            raise InputError(f"Only binary classification is supported. The type of the target is {kind}.")
        if len(self.classes_) < 2:
            raise InputError(
                f"`y` must hold two classes, got one class only ({self.classes_[0]!r}): a ROC curve needs positives "
                "and negatives."
            )
        self.positive_class_ = self.classes_[1]
        if self.pos_label is not None:
            if self.pos_label not in self.classes_.tolist():
                raise InputError(
                    f"`pos_label` must be one of the labels {self.classes_.tolist()}, got {self.pos_label!r}: name the "
                    "label of the positives, or leave it out for the second."
                )
            self.positive_class_ = self.classes_[self.classes_.tolist().index(self.pos_label)]
        target: NDArray[np.bool_] = y == self.positive_class_
        return target

    def _warn_without_validation(self, split: Holdout, target: NDArray[np.bool_], region: Region) -> None:
        if self.validation_fraction > 0 and len(split.validation) == 0:
            n_pos = int(target.sum())
            warnings.warn(
                f"{n_pos} positives and {len(target) - n_pos} negatives are too few to hold out validation_fraction="
                f"{self.validation_fraction:g} of each with samples in {region.title}: nothing is held out, and the "
                "last epoch is kept. Raise validation_fraction or max_fpr, or set validation_fraction=0.",
                stacklevel=3,
            )

    def _recipe(self, region: Region, n: int, seed: int) -> Recipe:
        if self.learning_rate == "auto":
            is_minimax = issubclass(LOSSES[self.method], MinimaxObjective)
            learning_rate = _ASGDA_STEP if is_minimax else _ADAMW_STEP
        else:
            learning_rate = float(self.learning_rate)
        return Recipe(
            region=region,
            method=self.method,
            loss_options=None if self.loss_options is None else dict(self.loss_options),
            warmup_epochs=int(self.warmup_epochs),
            epochs=int(self.epochs),
            fewest_steps=_LINEAR_STEPS if isinstance(self.network_, LinearScorer) else _NETWORK_STEPS,
            batch_size=int(self.batch_size),
            positive_fraction=float(self.positive_fraction),
            learning_rate=learning_rate,
            warmup_learning_rate=learning_rate if self.method == "ce" else _ADAMW_STEP,
            weight_decay=1 / n if self.weight_decay == "auto" else float(self.weight_decay),
            patience=self.patience,
            draws_noise=self.backbone is not None or self.dropout > 0,
            seed=seed,
        )

    def _validation(self, X: Any, target: NDArray[np.bool_], region: Region) -> Callable[[], float] | None:
        if len(target) == 0:
            return None
        inputs = list(self._columns.blocks(X, torch.float32))

        @torch.no_grad()
        def validate() -> float:
            self.network_.eval()
            logits = torch.cat([logits_of(self.network_, block) for block in inputs])
            self.network_.train()
            labels = torch.from_numpy(target)
            value = binary_partial_auc(
                logits, labels, max_fpr=region.max_fpr, min_tpr=region.min_tpr, validate_args=False
            )
            return float(value)

        return validate

    # ------------------------------------------------------------------ scoring

    @property
    def _positive_is_second(self) -> bool:
        return bool(self.positive_class_ == self.classes_[1])

    def _scores_of(self, X: Any) -> NDArray[np.float64]:
        """The scores of a caller's samples; larger means more like the positives."""
        check_is_fitted(self, "network_")
        return self._scores(
            validate_data(self, X, accept_sparse="csr", dtype=_DTYPES, order="C", reset=False)
        )

    @torch.no_grad()
    def _scores(self, X: Any) -> NDArray[np.float64]:
        dtype = torch.float64 if self.backbone is None else torch.float32
        parts = [logits_of(self.network_, block).double() for block in self._columns.blocks(X, dtype)]
        scores: NDArray[np.float64] = torch.cat(parts).numpy() - self._offset
        return scores
