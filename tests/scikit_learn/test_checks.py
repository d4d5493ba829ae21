"""scikit-learn's own checks of an estimator, without exceptions."""

from __future__ import annotations

from typing import Any

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from pauc_lightning.sklearn import PartialAUCClassifier


@pytest.mark.filterwarnings("ignore:.*are too few to hold out")
@parametrize_with_checks(  # type: ignore[untyped-decorator]
    [
        PartialAUCClassifier(epochs=2),
        PartialAUCClassifier(hidden=(8,), epochs=2),
        PartialAUCClassifier(method="ce"),
    ]
)
def test_sklearn_check(estimator: Any, check: Any) -> None:
    check(estimator)
