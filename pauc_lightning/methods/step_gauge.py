"""A step size that fits the problem: measured by how far a step of the network moves the scores of the region."""

from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from pauc_lightning import distributed
from pauc_lightning.data.sample import Sample
from pauc_lightning.methods.stepping import frozen_batch_norm_statistics
from pauc_lightning.models.backbone import at_least_float32
from pauc_lightning.objectives.region_members import RegionMembers
from pauc_lightning.rng import seeded

if TYPE_CHECKING:
    from pauc_lightning.methods.base import PartialAUCModule

N_BATCHES = 16
"""How many batches are measured: one of them may have few positives."""
SMALLEST_SPREAD = 2.0
"""The logits of a short warm-up hardly differ, and steps in proportion to that would hardly train."""
_SHIFT = 0.01
"""The share of a full step that is tried: far above rounding errors, and small enough to be linear."""


class StepGauge(nn.Module):
    """Finds the step size with which a full step changes the score gaps of the region by a given share of their spread.

    After each of the method's first batches with both classes, the network is moved a little along the batch's
    gradient and back. With z the logits, over the pairs (i, j) of the batch's positives and negatives in the region,

        spread = max(2, standard deviation of z_i − z_j),    change = root mean square of Δ(z_i − z_j) at step size 1,

    and the step size is ``relative_step`` · Σ spread / Σ change, summed over the batches measured so far. A common
    shift of all scores, which changes no ranking, does not count. A full step is one whose gradient is as long as
    clipping allows, so that small gradients do not lead to a large step size; without clipping, the gradient itself.

    The sums are buffers: they are saved with the module, so that a resumed run goes on alike. On several processes
    the batch is the union of theirs, and all of them measure the same.

    Args:
        relative_step: The share.
    """

    totals: Tensor

    def __init__(self, relative_step: float) -> None:
        super().__init__()
        self.relative_step = relative_step
        self.register_buffer("totals", torch.zeros(3))  # spread, change, number of batches
        self._known: tuple[float, int] | None = None

    @property
    def step_size(self) -> float:
        """The step size; 0 as long as nothing has been measured. ASGDA's first move is zero in any case."""
        return self._measured()[0]

    @property
    def is_done(self) -> bool:
        """Whether enough batches have been measured."""
        return self._measured()[1] >= N_BATCHES

    @torch.no_grad()
    def measure(self, module: PartialAUCModule, sample: Sample) -> None:
        """Measure one batch, right after a step, while its clipped gradients are still there; on all processes.

        Args:
            module: The method.
            sample: The batch of the step.
        """
        parameters: list[Tensor] = [p for p in module.parameters_to_train() if p.grad is not None]
        gradients = [p.grad for p in parameters if p.grad is not None]
        norm = float(nn.utils.get_total_norm(gradients)) if gradients else 0.0
        if norm == 0 or not math.isfinite(norm):
            return
        limit = module.gradient_clip_norm
        shift = _SHIFT * (1.0 if limit is None else limit / norm)
        before = _logits(module, sample)
        here = [parameter.clone() for parameter in parameters]
        try:
            torch._foreach_sub_(parameters, gradients, alpha=shift)
            after = _logits(module, sample)
        finally:
            torch._foreach_copy_(parameters, here)
        logits, change = distributed.gather(before), distributed.gather((after - before) / _SHIFT)
        members = RegionMembers.of(logits, distributed.gather(sample.target), module.train_region)
        if members is None:
            return
        spread = _spread(logits, members).clamp(min=SMALLEST_SPREAD)
        sizes = torch.stack([spread, _root_mean_square(change, members)])
        if bool((sizes > 0).all() & sizes.isfinite().all()):
            self.totals += torch.cat([sizes, sizes.new_ones(1)]).to(self.totals)
            self._known = None

    def _measured(self) -> tuple[float, int]:
        """The step size and the number of batches, read from the device only when they have changed."""
        if self._known is None:
            spread, change, count = self.totals.tolist()
            self._known = self.relative_step * spread / change if count else 0.0, int(count)
        return self._known

    def _load_from_state_dict(self, *args: Any, **kwargs: Any) -> None:
        super()._load_from_state_dict(*args, **kwargs)
        self._known = None


def _logits(module: PartialAUCModule, sample: Sample) -> Tensor:
    """Logits of a batch in training mode, always with the same dropout noise and in full precision."""
    keys = (int(os.environ.get("PL_GLOBAL_SEED", "0")), module.global_step, module.global_rank)
    with (
        seeded(*keys, device=module.device),
        frozen_batch_norm_statistics(module.backbone),
        torch.autocast(module.device.type, enabled=False),
    ):
        return at_least_float32(module(sample.input))


def _spread(values: Tensor, members: RegionMembers) -> Tensor:
    """Standard deviation of v_i − v_j over the pairs: the variances of the two classes add up."""
    positives, negatives = values[members.positives], values[members.negatives]
    return (positives.var(correction=0) + negatives.var(correction=0)).sqrt()


def _root_mean_square(values: Tensor, members: RegionMembers) -> Tensor:
    """Root mean square of v_i − v_j over the pairs."""
    positives, negatives = values[members.positives], values[members.negatives]
    shift = positives.mean() - negatives.mean()
    return (positives.var(correction=0) + negatives.var(correction=0) + shift * shift).sqrt()
