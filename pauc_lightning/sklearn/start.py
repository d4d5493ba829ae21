"""The network before the method's first step: how it is made, and the warm-up of a linear one."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from torch import nn

from pauc_lightning.models import LinearScorer, MLPScorer
from pauc_lightning.models.backbone import check_backbone, check_trainable, materialize
from pauc_lightning.rng import seeded
from pauc_lightning.sklearn.columns import Rows

_LARGEST_C = 1e6
"""Without any penalty the weights of separable data would grow without end."""
_torch_generator = threading.Lock()


@contextmanager
def own_random_numbers(*keys: int) -> Iterator[None]:
    """Run a block with torch's generator seeded by ``keys``, then give it back as it was.

    Threads take turns, so that fits in several threads (joblib's threading backend) do not draw from each other's.
    """
    with _torch_generator, seeded(*keys):
        yield


def make_network(
    n_features: int,
    hidden: Sequence[int],
    dropout: float,
    backbone: Callable[[int], nn.Module] | None,
    seed: int,
) -> nn.Module:
    """Make a linear scorer, a multilayer perceptron, or the user's own network, with weights that depend on the seed.

    Args:
        n_features: Number of columns.
        hidden: Widths of the hidden layers; empty for the linear scorer.
        dropout: Probability of dropping a hidden unit in training.
        backbone: Makes the user's network from the number of columns, or None.
        seed: Seed of the initial weights.
    """
    with own_random_numbers(seed):
        network: Any
        if backbone is not None:
            network = backbone(n_features)
            check_backbone(network)
        else:
            network = MLPScorer(tuple(hidden), dropout) if len(hidden) > 0 else LinearScorer()
        materialize(network, (n_features,))
    check_trainable(network)
    assert isinstance(network, nn.Module)
    return network


def warm_up_linear_(
    network: LinearScorer, rows: Rows, target: NDArray[np.bool_], weight_decay: float
) -> None:
    """Set the weights to those of scikit-learn's ``LogisticRegression`` on the same rows.

    Its solver ends at the optimum, which some epochs of small steps miss where columns are correlated.

    Args:
        network: The linear scorer.
        rows: The training rows.
        target: True for positives.
        weight_decay: The penalty: C is 1 / (n · weight_decay).
    """
    X, shift = rows.scaled()
    C = min(_LARGEST_C, 1 / (len(target) * weight_decay)) if weight_decay > 0 else _LARGEST_C
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # it is a start, not the result
        model = LogisticRegression(C=C, max_iter=1000).fit(X, target)
    with torch.no_grad():
        network.layer.weight.copy_(torch.from_numpy(model.coef_))
        network.layer.bias.copy_(torch.from_numpy(model.intercept_ + model.coef_ @ shift))
