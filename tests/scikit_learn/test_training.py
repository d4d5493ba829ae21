"""The loop by itself: which weights it keeps, and where the method starts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
import torch
from scikit_learn.tables import table
from torch import Tensor

from pauc_lightning.models import LinearScorer, MLPScorer
from pauc_lightning.models.backbone import materialize
from pauc_lightning.region import Region
from pauc_lightning.sklearn.columns import Columns, Rows
from pauc_lightning.sklearn.training import Recipe, train

RECIPE = Recipe(
    region=Region(0.3),
    method="upauci",
    loss_options=None,
    warmup_epochs=2,
    epochs=4,
    fewest_steps=10,
    batch_size=64,
    positive_fraction=0.5,
    learning_rate=0.5,
    warmup_learning_rate=0.01,
    weight_decay=0.0,
    patience=None,
    draws_noise=False,
    seed=0,
)


def data() -> tuple[Rows, np.ndarray]:
    X, y = table()
    return Columns(X, standardize=True).training_rows(X), y == 1


def scorer() -> MLPScorer:
    torch.manual_seed(0)
    network = MLPScorer((8,))
    materialize(network, (4,))
    return network


def weights(network: torch.nn.Module) -> Tensor:
    return torch.cat([parameter.detach().flatten() for parameter in network.parameters()]).clone()


@pytest.mark.parametrize(
    ("values", "best"),
    [
        ((0.9, 0.8, 0.7, 0.6, 0.5), 2),  # the end of the warm-up
        ((0.5, 0.6, 0.9, 0.8, 0.7), 4),
        ((0.5, 0.9, 0.7, 0.9, 0.8), 5),  # of equal ones the last
        ((0.1, 0.2, 0.3, 0.4, 0.5), 6),
    ],
)
def test_the_weights_of_the_best_epoch_are_kept(values: tuple[float, ...], best: int) -> None:
    network = scorer()
    seen: list[Tensor] = []

    def script() -> Iterator[float]:
        for value in values:
            seen.append(weights(network))
            yield value

    scripted = script()
    trained = train(network, *data(), RECIPE, lambda: next(scripted))
    assert trained.best.number == best
    assert [epoch.number for epoch in trained.history] == [1, 2, 3, 4, 5, 6]
    assert torch.equal(weights(network), seen[best - 2])
    assert len({tuple(moment.tolist()) for moment in seen}) == 5


def test_patience_counts_the_epochs_since_the_last_better_one() -> None:
    values = iter((0.5, 0.4, 0.6, 0.6, 0.6, 0.6))
    trained = train(scorer(), *data(), replace(RECIPE, epochs=20, patience=2), lambda: next(values))
    assert [epoch.number for epoch in trained.history] == [1, 2, 3, 4, 5, 6]
    assert trained.best.number == 6


def test_the_method_starts_with_scores_around_zero() -> None:
    """After a warm-up on rare positives all sigmoids are near 0; the offset moves the region to the middle."""
    rows, target = data()
    network = LinearScorer()
    materialize(network, (4,))
    trained = train(network, rows, target, replace(RECIPE, learning_rate=0.0), None)
    with torch.no_grad():
        logits = network(rows.batch(torch.arange(len(target)))).squeeze(1).numpy() - trained.offset
    hard = np.sort(logits[~target])[-int(0.3 * (~target).sum()) :]
    assert logits[target].mean() == pytest.approx(-hard.mean(), abs=1e-5)
    assert trained.offset < -0.3


def test_a_small_table_is_passed_through_several_times_per_epoch() -> None:
    """480 negatives in batches of 32 at most are 15 batches; of 512, two: five passes make the ten steps."""
    counts = []
    for batch_size in (64, 1024):
        steps = 0

        class Counting(MLPScorer):
            def forward(self, input: Tensor) -> Tensor:
                nonlocal steps
                steps += self.training
                return super().forward(input)

        network = Counting((4,))
        materialize(network, (4,))
        train(network, *data(), replace(RECIPE, batch_size=batch_size, epochs=0, warmup_epochs=3), None)
        counts.append(steps)
    assert counts == [3 * 15, 3 * 10]
