"""The training loop: a warm-up with cross-entropy, then the method, and the best epoch on the samples held out."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.optim import Optimizer

from pauc_lightning.data.samplers import StratifiedBatchSampler
from pauc_lightning.errors import NonFiniteError
from pauc_lightning.models import LinearScorer
from pauc_lightning.models.backbone import at_least_float32, logits_of
from pauc_lightning.objectives import CELoss, Objective
from pauc_lightning.objectives.checks import values_are_checked
from pauc_lightning.objectives.region_members import RegionMembers
from pauc_lightning.optim import ASGDA
from pauc_lightning.region import Region
from pauc_lightning.sklearn.columns import BLOCK, Rows
from pauc_lightning.sklearn.losses import build_loss, build_optimizer
from pauc_lightning.sklearn.start import own_random_numbers, warm_up_linear_

CLIP_NORM = 1.0
"""Largest norm of the network's gradient under ASGDA, as in the methods for Lightning."""


@dataclass(frozen=True)
class Recipe:
    """How to train.

    Attributes:
        region: The region of the loss.
        method: The method's name.
        loss_options: Options of its loss.
        warmup_epochs: Epochs of cross-entropy before the method.
        epochs: Epochs of the method.
        fewest_steps: Steps of an epoch, at least: small tables are passed through several times.
        batch_size: Samples per batch, at most.
        positive_fraction: Share of positives in a batch, at least.
        learning_rate: Step size of the network under the method.
        warmup_learning_rate: Step size of the network in the warm-up.
        weight_decay: Pull of the weights towards zero.
        patience: Epochs without a better validation value after which to stop, or None.
        draws_noise: Whether the network draws random numbers in training.
        seed: Decides batches and noise.
    """

    region: Region
    method: str
    loss_options: dict[str, Any] | None
    warmup_epochs: int
    epochs: int
    fewest_steps: int
    batch_size: int
    positive_fraction: float
    learning_rate: float
    warmup_learning_rate: float
    weight_decay: float
    patience: int | None
    draws_noise: bool
    seed: int


class Epoch(NamedTuple):
    """What happened in an epoch.

    Attributes:
        number: Epochs finished, warm-up included.
        phase: The loss that was trained: "ce" in the warm-up, then the method's name.
        loss: Mean loss of the epoch's batches; NaN for the warm-up of a linear scorer.
        value: Partial AUC of the validation samples; NaN where it was not computed.
    """

    number: int
    phase: str
    loss: float
    value: float


class Trained(NamedTuple):
    """The result of :func:`train`; the network itself holds the best weights.

    Attributes:
        offset: What to subtract from the network's outputs to get scores around zero.
        best: The epoch whose weights were kept.
        history: All epochs in order.
    """

    offset: float
    best: Epoch
    history: list[Epoch]


def train(
    network: nn.Module,
    rows: Rows,
    target: NDArray[np.bool_],
    recipe: Recipe,
    validate: Callable[[], float] | None,
) -> Trained:
    """Train the network in place.

    Args:
        network: The network, in its initial state.
        rows: The training rows.
        target: True for positives, one per row.
        recipe: How to train.
        validate: Computes the partial AUC of the validation samples with the network's present weights; None keeps
            the last epoch's.
    """
    if recipe.method == "ce":  # the warm-up is the method
        recipe = replace(recipe, warmup_epochs=recipe.warmup_epochs + recipe.epochs, epochs=0)
    training = _Training(network, rows, target, recipe)
    selection = _Selection(network, validate, recipe.patience)
    for phase, count, epochs in (
        ("ce", recipe.warmup_epochs, training.warm_up),
        (recipe.method, recipe.epochs, training.run_method),
    ):
        if count == 0:
            continue
        for number, loss in epochs():
            # The end of the warm-up is where the method starts: it must not end below.
            is_candidate = number >= recipe.warmup_epochs or recipe.epochs == 0
            selection.add(Epoch(number, phase, loss, math.nan), is_candidate)
            if selection.is_over:
                break
    return Trained(training.offset, selection.keep_best(), selection.history)


class _Training:
    """Steps on batches, epoch by epoch."""

    def __init__(self, network: nn.Module, rows: Rows, target: NDArray[np.bool_], recipe: Recipe) -> None:
        self._network = network.train()
        self._rows = rows
        self._is_positive = target
        self._target = torch.from_numpy(target.astype(np.float32))
        self._recipe = recipe
        self._parameters = [p for p in network.parameters() if p.requires_grad]
        fraction = max(recipe.positive_fraction, float(target.mean()))  # rare negatives are not thinned out
        self._sampler = StratifiedBatchSampler(
            target.astype(np.int64), min(recipe.batch_size, 2 * len(target)), fraction, recipe.seed
        )
        self._passes = math.ceil(recipe.fewest_steps / len(self._sampler))
        self._n_done = 0
        self._n_epochs = 0
        self.offset = 0.0

    def warm_up(self) -> Iterator[tuple[int, float]]:
        """Train cross-entropy; after each epoch, yield its number and its mean loss."""
        recipe = self._recipe
        if isinstance(self._network, LinearScorer):
            warm_up_linear_(self._network, self._rows, self._is_positive, recipe.weight_decay)
            self._n_epochs = recipe.warmup_epochs
            yield self._n_epochs, math.nan
            return
        objective = CELoss()
        optimizer = build_optimizer(
            self._network, objective, recipe.warmup_learning_rate, recipe.weight_decay
        )
        yield from self._epochs(objective, optimizer, recipe.warmup_epochs)

    def run_method(self) -> Iterator[tuple[int, float]]:
        """Train the method; after each epoch, yield its number and its mean loss."""
        recipe = self._recipe
        objective = build_loss(
            recipe.method,
            recipe.loss_options,
            recipe.region,
            prior=self._sampler.positive_fraction,
            train_size=len(self._target),
        )
        self._start(objective)
        optimizer = build_optimizer(self._network, objective, recipe.learning_rate, recipe.weight_decay)
        yield from self._epochs(objective, optimizer, recipe.epochs)

    @torch.no_grad()
    def _start(self, objective: Objective) -> None:
        """Centre the scores and set the loss's variables to their optimum for them."""
        self._network.eval()
        parts = [
            at_least_float32(logits_of(self._network, self._rows.batch(index)))
            for index in torch.arange(len(self._target)).split(BLOCK)
        ]
        self._network.train()
        logits = torch.cat(parts)
        members = RegionMembers.of(logits, self._target, self._recipe.region)
        if members is not None:
            # After a warm-up on rare positives all scores are low, where a sigmoid is flat and nothing is above 0.
            middles = [float(logits[part].mean()) for part in members]
            self.offset = sum(middles) / 2
        objective.initialize_(
            self._input_of(objective, logits - self.offset), self._target, torch.arange(len(logits))
        )

    def _epochs(self, objective: Objective, optimizer: Optimizer, count: int) -> Iterator[tuple[int, float]]:
        steps = count * self._passes * len(self._sampler)
        full = [group["lr"] for group in optimizer.param_groups]
        n_done = 0
        for _ in range(count):
            losses = torch.zeros(())
            for number in range(self._passes):
                self._sampler.set_epoch(self._n_epochs * self._passes + number)
                for batch in self._sampler.epoch_batches():
                    factor = 0.5 * (1 + math.cos(math.pi * n_done / steps))
                    for group, lr in zip(optimizer.param_groups, full, strict=True):
                        group["lr"] = lr * factor
                    losses += self._step(objective, optimizer, torch.from_numpy(batch))
                    n_done += 1
            self._n_epochs += 1
            self._check_finite()
            yield self._n_epochs, float(losses) / (self._passes * len(self._sampler))

    def _step(self, objective: Objective, optimizer: Optimizer, index: Tensor) -> Tensor:
        inputs, target = self._rows.batch(index), self._target.index_select(0, index)
        self._n_done += 1
        noise: AbstractContextManager[None] = nullcontext()
        if self._recipe.draws_noise:
            noise = own_random_numbers(self._recipe.seed, self._n_done)
        with noise, values_are_checked():
            closure: Any = partial(self._evaluate, objective, optimizer, inputs, target, index)
            loss: Any = optimizer.step(closure)
        detached: Tensor = loss.detach()
        return detached

    def _evaluate(
        self, objective: Objective, optimizer: Optimizer, inputs: Tensor, target: Tensor, index: Tensor
    ) -> Tensor:
        optimizer.zero_grad()
        logits = at_least_float32(logits_of(self._network, inputs)) - self.offset
        loss: Tensor = objective(self._input_of(objective, logits), target, index)
        loss.backward()
        if isinstance(optimizer, ASGDA):
            nn.utils.clip_grad_norm_(self._parameters, CLIP_NORM)
        return loss

    @staticmethod
    def _input_of(objective: Objective, logits: Tensor) -> Tensor:
        return logits if objective.takes == "logits" else logits.sigmoid()

    def _check_finite(self) -> None:
        """Refuse weights that are not finite: no later epoch would repair them."""
        if not all(bool(parameter.isfinite().all()) for parameter in self._parameters):
            raise NonFiniteError(
                f"The network's weights are not finite after epoch {self._n_epochs}: lower `learning_rate`, now "
                f"{self._recipe.learning_rate:g}, or look for a column with extreme values."
            )


class _Selection:
    """Keeps the weights of the best epoch."""

    def __init__(
        self, network: nn.Module, validate: Callable[[], float] | None, patience: int | None
    ) -> None:
        self._network = network
        self._validate = validate
        self._patience = patience
        self._weights: dict[str, Any] | None = None
        self._best: Epoch | None = None
        self._since_best = 0
        self.history: list[Epoch] = []

    @property
    def is_over(self) -> bool:
        """Whether patience has run out."""
        return self._patience is not None and self._since_best >= self._patience

    def add(self, epoch: Epoch, is_candidate: bool) -> None:
        """Record an epoch; a candidate is validated and kept if no earlier one is better."""
        if is_candidate and self._validate is not None:
            epoch = epoch._replace(value=self._validate())
        self.history.append(epoch)
        if not is_candidate:
            return
        self._since_best += 1
        # Of equal ones the last: the step size has fallen further.
        if self._best is None or self._validate is None or epoch.value >= self._best.value:
            if self._best is None or epoch.value != self._best.value:
                self._since_best = 0
            self._best = epoch
            if self._validate is not None:
                self._weights = copy.deepcopy(self._network.state_dict())

    def keep_best(self) -> Epoch:
        """Load the best weights into the network, and return their epoch."""
        assert self._best is not None
        if self._weights is not None:
            self._network.load_state_dict(self._weights)
        self._network.eval()
        return self._best
