"""One optimizer step: its closure, the checks, clipping, batch normalisation, and gradient scalers."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, NamedTuple

import torch
from lightning.pytorch.core.optimizer import LightningOptimizer
from lightning.pytorch.plugins import FSDPPrecision, MixedPrecision
from torch import Tensor, nn

from pauc_lightning.data.sample import Sample
from pauc_lightning.methods import nonfinite
from pauc_lightning.optim import ASGDA
from pauc_lightning.rng import seeded

if TYPE_CHECKING:
    from pauc_lightning.methods.base import PartialAUCModule


class Evaluation(NamedTuple):
    """The loss of a batch, a scalar with its graph, and the batch's detached scores, shape ``(B,)``."""

    loss: Tensor
    scores: Tensor


Evaluate = Callable[[Sample, bool], Evaluation]
"""Evaluates a batch; the flag is true for the first evaluation of a step."""


class Step:
    """One step of an optimizer on one batch.

    An optimizer may evaluate the loss more than once, as ASGDA does with variance reduction. All evaluations see the
    same batch and the same dropout noise, and only the last one updates the statistics of batch normalisation. If a
    score, the loss or a gradient is not finite, the step is not taken and everything is as it was before.

    Args:
        module: The method.
        optimizer: The optimizer to step.
        evaluate: Computes the loss of the batch.
        sample: The batch.
    """

    def __init__(
        self, module: PartialAUCModule, optimizer: LightningOptimizer, evaluate: Evaluate, sample: Sample
    ) -> None:
        self._module = module
        self._optimizer = optimizer
        self._evaluate = evaluate
        self._sample = sample
        self._asgda = optimizer.optimizer if isinstance(optimizer.optimizer, ASGDA) else None
        self._n_evaluations = 1 if self._asgda is None else self._asgda.evaluations_per_step
        precision = module.trainer.precision_plugin
        self._scaler = precision.scaler if isinstance(precision, (MixedPrecision, FSDPPrecision)) else None
        self._seed_keys = (
            int(os.environ.get("PL_GLOBAL_SEED", "0")),
            module.global_step,
            module.global_rank,
        )
        self._evaluations: list[Evaluation] = []
        self.gradient_norm: Tensor | None = None
        """Norm of the backbone's gradient before it was clipped; None without clipping."""

    @property
    def loss(self) -> Tensor:
        """The loss before the step, detached."""
        return self._evaluations[0].loss

    @property
    def scores(self) -> Tensor:
        """The scores of the batch before the step, detached."""
        return self._evaluations[0].scores

    def take(self) -> None:
        """Step the optimizer.

        Raises:
            NonFiniteError: If a score, the loss or a gradient is not finite; on all processes together.
        """
        try:
            with nonfinite.buffers_kept(self._module.backbone):
                if self._asgda is not None and self._scaler is not None:
                    self._take_in_halves(self._asgda, self._scaler)
                else:
                    self._optimizer.step(closure=self._closure)
        except nonfinite.NotFinite as found:
            self._optimizer.zero_grad()
            raise nonfinite.stop(self._module, self._sample, found) from None

    def finish_evaluation(self) -> None:
        """Check the loss and the gradients of an evaluation, then clip the backbone's gradient.

        With a gradient scaler only the loss is checked: the scaler expects gradients to overflow and skips such steps.
        """
        groups = self._optimizer.param_groups if self._scaler is None else []
        gradients = [p.grad for group in groups for p in group["params"] if p.grad is not None]
        nonfinite.check_evaluation(*self._evaluations[-1], gradients)
        limit = self._module.gradient_clip_norm
        if limit is not None:
            self.gradient_norm = nn.utils.clip_grad_norm_(self._module.backbone.parameters(), limit)

    def _closure(self) -> Tensor:
        n_done = len(self._evaluations)
        self._optimizer.zero_grad()
        torch.clear_autocast_cache()  # it may hold the weights as they were before the optimizer moved them
        is_last = n_done == self._n_evaluations - 1
        statistics = nullcontext() if is_last else frozen_batch_norm_statistics(self._module.backbone)
        with seeded(*self._seed_keys, device=self._module.device), statistics:
            loss, scores = self._evaluate(self._sample, n_done == 0)
            self._module.manual_backward(loss)
        self._evaluations.append(Evaluation(loss.detach(), scores))
        return self._evaluations[-1].loss

    def _take_in_halves(self, asgda: ASGDA, scaler: torch.amp.GradScaler) -> None:
        """Take a step of ASGDA with scaled gradients.

        A GradScaler does not pass the closure on to the optimizer: it evaluates once and steps if the gradients are
        finite. So the first half is done here, and `step()` completes the second.
        """
        if self._n_evaluations == 2:
            self._closure()
            if not _unscale(asgda, scaler):
                # The scaler sees the overflow, skips the step and lowers the scale.
                self._optimizer.step(closure=lambda: None)
                return
            self._module.on_before_optimizer_step(asgda)
        asgda.move()
        try:
            self._optimizer.step(closure=self._closure)
        except BaseException:
            asgda.undo_move()
            raise


def _unscale(optimizer: ASGDA, scaler: torch.amp.GradScaler) -> bool:
    """Divide the gradients by the loss scale and return whether all of them are finite."""
    grads = [p.grad for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
    torch._foreach_div_(grads, scaler.get_scale())
    return bool(torch.stack(torch._foreach_norm(grads)).isfinite().all())


@contextmanager
def frozen_batch_norm_statistics(module: nn.Module) -> Iterator[None]:
    """Normalise with the batch's statistics, but do not update the running ones."""
    layers = [
        layer
        for layer in module.modules()
        if isinstance(layer, nn.modules.batchnorm._BatchNorm) and layer.track_running_stats
    ]
    for layer in layers:
        layer.track_running_stats = False
    try:
        yield
    finally:
        for layer in layers:
            layer.track_running_stats = True
