"""Stop a run at a batch whose scores, loss or gradients are not finite, before the batch can change anything.

One NaN in the weights, in an optimizer's estimators, in the statistics of batch normalisation or in a per-instance
state would stay there for good, so the step must not be taken. The check makes an accelerator wait twice per
evaluation, some ten microseconds each beside milliseconds of work; a later check without waiting would find the weights
already changed. The processes exchange the result, so that all of them stop together.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
import torch.distributed as dist
from lightning.fabric.utilities.apply_func import move_data_to_device
from torch import Tensor, nn

from pauc_lightning import distributed
from pauc_lightning.checkpoint_io import write_checkpoint
from pauc_lightning.data.sample import Sample
from pauc_lightning.errors import InputError, NonFiniteError
from pauc_lightning.objectives.checks import check_index, check_labels, not_labels

if TYPE_CHECKING:
    from pauc_lightning.methods.base import PartialAUCModule

_SMALLER_STEPS = (
    "lower the step sizes or `gradient_clip_norm` (if it is null, set it: 1 is a good start), and start again from a "
    "good checkpoint"
)
_NAMED = 8
"""How many samples a message names; the snapshot has them all."""


class NotFinite(Exception):
    """Raised when an evaluation meets a value that is not finite; :func:`stop` turns it into the user's message.

    Args:
        what: The value that is not finite.
        rank: The process that found it; the last one if several did.
        is_here: Whether this process found it.
        scores: The scores of this process's batch.
        loss: The loss, if it was computed.
    """

    def __init__(
        self, what: str, rank: int, is_here: bool, scores: Tensor, loss: Tensor | None = None
    ) -> None:
        super().__init__(what)
        self.what = what
        self.rank = rank
        self.is_here = is_here
        self.scores = scores
        self.loss = loss


def check_batch(logits: Tensor, sample: Sample, train_size: int | None) -> None:
    """Refuse, on all processes together, a batch that must not reach the objective.

    Args:
        logits: The network's outputs, shape ``(B,)``.
        sample: The batch.
        train_size: Bound of the indices; None if the method does not use them.
    """
    logits = logits.detach()
    labels = sample.target.to(logits.dtype)
    index = sample.index if train_size is not None else None
    if index is None and distributed.world_size() == 1:
        # Zero if all is well, NaN if a logit is not finite; their sum may overflow, so the exact check decides.
        doubt = not_labels(labels).abs_().sum() + 0 * logits.sum()
        if doubt.item() == 0:
            return
    not_finite = ~logits.isfinite().all()
    is_bad = not_finite | not_labels(labels).any()
    if index is not None and train_size is not None:
        is_bad = is_bad | ((index < 0) | (index >= train_size)).any()
    found = _last_rank_of_worst(is_bad)
    if found is None:
        return
    check_labels(labels)
    if index is not None and train_size is not None:
        check_index(index, train_size)
    raise NotFinite("a score", found[1], bool(not_finite), logits.sigmoid())


def check_evaluation(loss: Tensor, scores: Tensor, gradients: list[Tensor]) -> None:
    """Refuse, on all processes together, a loss or a gradient that is not finite.

    Args:
        loss: The loss, a scalar.
        scores: The scores of the batch, for the snapshot.
        gradients: The gradients to check, after the processes have averaged them.
    """
    if distributed.world_size() == 1:
        # Finite if all is well; a sum of squares may overflow by itself, so the exact check decides.
        norms = torch._foreach_norm(gradients) if gradients else ()
        if math.isfinite(torch.stack([loss, *(norm.to(loss) for norm in norms)]).sum().item()):
            return
    not_finite = ~loss.isfinite()
    overflow = torch.zeros_like(not_finite)
    if gradients:
        largest = torch._foreach_norm(gradients, ord=torch.inf)
        overflow = ~torch.stack([value.to(loss) for value in largest]).isfinite().all()
    # The loss comes before the gradient: a NaN of one process is in the averaged gradients of all.
    found = _last_rank_of_worst(overflow, not_finite)
    if found is not None:
        level, rank = found
        what, is_here = (("the gradient", overflow), ("the loss", not_finite))[level]
        raise NotFinite(what, rank, bool(is_here), scores, loss)


def check_training_scores(scores: Tensor, index: Tensor) -> None:
    """Refuse scores of the training set that are not finite; every process has all of them."""
    bad = ~scores.isfinite()
    if bool(bad.any()):
        raise InputError(
            f"The scores of {_names(index[bad].tolist())} of the training set are not finite, so the objective cannot "
            f"be initialised: look at these samples, or {_SMALLER_STEPS}."
        )


def check_evaluated_scores(scores: Tensor, sample: Sample, part: str) -> None:
    """Refuse scores of a validation or test batch that are not finite, and name the samples.

    Args:
        scores: Scores of the batch, shape ``(B,)``.
        sample: The batch.
        part: The part that is evaluated, "validation" or "test".
    """
    if bool(scores.isfinite().all()):
        return
    numbers, kind = _numbers(sample)
    bad_scores = _chosen(numbers, ~scores.isfinite())
    bad_inputs = _chosen(numbers, _statistics(sample.input).get("n_not_finite"))
    cause = f"; the inputs of {_names(bad_inputs)} are not finite" if bad_inputs else ""
    remedy = "repair or remove these samples" if bad_inputs else _SMALLER_STEPS
    raise NonFiniteError(
        f"The scores of {_names(bad_scores)}{kind} of the {part} part are not finite, so they cannot be ranked{cause}: "
        f"{remedy}."
    )


@contextmanager
def buffers_kept(module: nn.Module) -> Iterator[None]:
    """Put the module's buffers, such as a batch normalisation's statistics, back if the block fails."""
    buffers = list(module.buffers())
    before = [buffer.clone() for buffer in buffers]
    try:
        yield
    except BaseException:
        with torch.no_grad():
            for buffer, value in zip(buffers, before, strict=True):
                buffer.copy_(value)
        raise


def stop(module: PartialAUCModule, sample: Sample, found: NotFinite) -> NonFiniteError:
    """Write the snapshot and return the error that ends the run. All processes call it, each with its own batch.

    Args:
        module: The method, as it was before the step.
        sample: The batch.
        found: The value that the evaluation found.
    """
    trainer = module.trainer
    directory = Path(trainer.log_dir or trainer.default_root_dir)  # a collective: all ranks must call it
    where = f"Training stopped at step {module.global_step} (epoch {module.current_epoch})"
    if not found.is_here:
        return NonFiniteError(
            f"{where}: {found.what} is not finite on process {found.rank}, whose message names the samples."
        )
    path = directory / f"nonfinite_step{module.global_step}_rank{distributed.rank()}.pt"
    statistics = _statistics(sample.input)
    try:
        write_checkpoint(_snapshot(module, sample, found, statistics), path)
        saved = f"`{path}` holds its scores and statistics and the state before the step"
    except (InputError, OSError) as error:
        saved = f"no snapshot could be written ({str(error).rstrip('.')})"
    value = f" ({float(found.loss):g})" if found.what == "the loss" and found.loss is not None else ""
    numbers, kind = _numbers(sample)
    bad_numbers = _chosen(numbers, statistics.get("n_not_finite"))
    cause = f"; the inputs of {_names(bad_numbers)} are not finite" if bad_numbers else ""
    remedy = "repair or remove these samples" if bad_numbers else _SMALLER_STEPS
    return NonFiniteError(
        f"{where}: {found.what}{value} is not finite for the batch of {_names(numbers)}{kind}{cause}. The step was not "
        f"taken, and the weights are those before it: {remedy}; {saved}."
    )


def _last_rank_of_worst(*levels: Tensor) -> tuple[int, int] | None:
    """Return the highest level whose scalar is true on any process, and the last such process; None if none is."""
    n_ranks = distributed.world_size()
    number = torch.zeros((), dtype=torch.long, device=levels[0].device)
    for level, is_bad in enumerate(levels):
        number = torch.where(is_bad, level * n_ranks + distributed.rank() + 1, number)
    if n_ranks > 1:
        dist.all_reduce(number, op=dist.ReduceOp.MAX)
    worst = int(number)
    return divmod(worst - 1, n_ranks) if worst > 0 else None


def _statistics(input: Any) -> dict[str, Tensor]:
    """Return, per sample, the smallest, largest and mean value and how many values are not finite."""
    if not isinstance(input, Tensor) or input.ndim == 0 or input.numel() == 0:
        return {}
    rows = input.detach().reshape(len(input), -1).float()
    return {
        "min": rows.amin(dim=1),
        "max": rows.amax(dim=1),
        "mean": rows.mean(dim=1),
        "n_not_finite": (~rows.isfinite()).sum(dim=1),
    }


def _snapshot(
    module: PartialAUCModule, sample: Sample, found: NotFinite, statistics: dict[str, Tensor]
) -> dict[str, Any]:
    """The values needed to find the cause, on the CPU."""
    content = {
        "what": found.what,
        "step": module.global_step,
        "epoch": module.current_epoch,
        "rank": distributed.rank(),
        "index": sample.index,
        "target": sample.target,
        "scores": found.scores,
        "loss": found.loss,
        "input": statistics,
        "state_dict": module.state_dict(),
        "optimizer_states": [optimizer.state_dict() for optimizer in module.trainer.optimizers],
    }
    on_cpu: dict[str, Any] = move_data_to_device(content, "cpu")
    return on_cpu


def _numbers(sample: Sample) -> tuple[list[int], str]:
    """Return the samples' numbers, and a remark if they are not the user's indices."""
    if sample.index is not None:
        return sample.index.tolist(), ""
    return list(range(len(sample.target))), " (numbered within the batch)"


def _chosen(numbers: Sequence[int], flags: Tensor | None) -> list[int]:
    """Return the numbers whose flag is not zero."""
    if flags is None:
        return []
    return [number for number, flag in zip(numbers, flags.tolist(), strict=True) if flag]


def _names(numbers: Sequence[int]) -> str:
    named = ", ".join(str(number) for number in numbers[:_NAMED])
    more = f", ... ({len(numbers)} in all)" if len(numbers) > _NAMED else ""
    return f"sample {named}" if len(numbers) == 1 else f"samples {named}{more}"
