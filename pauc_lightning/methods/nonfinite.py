"""A batch whose loss, scores or gradient are not finite stops the run before it can change anything.

One NaN in the weights, in an optimizer's estimators, in a batch normalisation's statistics or in a per-instance state
stays there for good, so the step must not be taken. Whether all is well is one number on the device, and asking for it
makes an accelerator wait: twice per evaluation, some ten microseconds each beside milliseconds of work. Looking later,
without waiting, would find the weights changed already. On several processes the answer is exchanged, so that all of
them stop together.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
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
    "checkpoint that was good"
)
_NAMED = 8
"""How many samples a message names; the snapshot has them all."""


class NotFinite(Exception):
    """What an evaluation found; :func:`stop` makes the user's message of it.

    Args:
        what: What is not finite.
        rank: The process that found it, the last one if several did.
        is_here: Whether this process did.
        loss: The loss, if it was computed.
    """

    def __init__(self, what: str, rank: int, is_here: bool, loss: Tensor | None = None) -> None:
        super().__init__(what)
        self.what = what
        self.rank = rank
        self.is_here = is_here
        self.loss = loss


def check_batch(logits: Tensor, sample: Sample, train_size: int | None) -> None:
    """Refuse, on all processes together, a batch that must not reach the objective.

    Args:
        logits: What the network made of it, shape ``(B,)``.
        sample: The batch.
        train_size: Bound of the indices, where they are in use.
    """
    labels = sample.target.to(logits.dtype)
    not_finite = ~logits.detach().isfinite().all()
    is_bad = not_finite | not_labels(labels).any()
    if train_size is not None and sample.index is not None:
        is_bad = is_bad | ((sample.index < 0) | (sample.index >= train_size)).any()
    found = _last_rank_of_worst(is_bad)
    if found is None:
        return
    check_labels(labels)
    if train_size is not None and sample.index is not None:
        check_index(sample.index, train_size)
    raise NotFinite("a score", found[1], is_here=bool(not_finite))


def check_evaluation(loss: Tensor, parameters: Iterable[Tensor] | None) -> None:
    """Refuse, on all processes together, a loss or a gradient that is not finite.

    Args:
        loss: The loss, a scalar.
        parameters: Those whose gradients are to be looked at, after the processes have averaged them; None with a
            gradient scaler, which expects overflow and deals with it.
    """
    not_finite = ~loss.detach().isfinite()
    gradients = [p.grad for p in parameters or () if p.grad is not None]
    overflow = torch.zeros_like(not_finite)
    if gradients:  # the largest magnitude: a sum of squares could overflow by itself
        largest = torch._foreach_norm(gradients, ord=torch.inf)
        overflow = ~torch.stack([value.to(loss) for value in largest]).isfinite().all()
    # A loss comes before a gradient: one process' NaN is in the averaged gradients of all.
    found = _last_rank_of_worst(overflow, not_finite)
    if found is not None:
        level, rank = found
        what, is_here = (("the gradient", overflow), ("the loss", not_finite))[level]
        raise NotFinite(what, rank, bool(is_here), loss.detach())


def check_training_scores(scores: Tensor, index: Tensor) -> None:
    """Refuse scores of the training set that are not finite; every process has all of them."""
    bad = ~scores.isfinite()
    if bool(bad.any()):
        raise InputError(
            f"The scores of {_names(index[bad].tolist(), int(bad.sum()))} of the training set are not finite, so the "
            f"objective cannot be initialised: look at these samples, or {_SMALLER_STEPS}."
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


def stop(module: PartialAUCModule, sample: Sample, scores: Tensor, found: NotFinite) -> NonFiniteError:
    """The error to end the run with; writes the snapshot. All processes call it, each with its own batch.

    Args:
        module: The method, as it was before the step.
        sample: The batch.
        scores: Its scores, as far as they are known.
        found: What the evaluation found.
    """
    trainer = module.trainer
    directory = Path(trainer.log_dir or trainer.default_root_dir)  # asks all ranks
    where = f"Training stopped at step {module.global_step} (epoch {module.current_epoch})"
    if not found.is_here:
        return NonFiniteError(
            f"{where}: {found.what} is not finite on process {found.rank}, whose message names the samples."
        )
    path = directory / f"nonfinite_step{module.global_step}_rank{distributed.rank()}.pt"
    statistics = _statistics(sample.input)
    try:
        write_checkpoint(_snapshot(module, sample, scores, found, statistics), path)
        saved = f"`{path}` holds its scores and statistics and the state before the step"
    except (InputError, OSError) as error:
        saved = f"no snapshot could be written ({str(error).rstrip('.')})"
    value = f" ({float(found.loss):g})" if found.what == "the loss" and found.loss is not None else ""
    numbers = list(range(len(sample.target))) if sample.index is None else sample.index.tolist()
    kind = "" if sample.index is not None else " (numbered within the batch)"
    bad = statistics.get("n_not_finite", torch.zeros(len(numbers))).cpu() > 0
    bad_numbers = [number for number, is_bad in zip(numbers, bad.tolist(), strict=True) if is_bad]
    cause = f"; the inputs of {_names(bad_numbers)} are not finite" if bad_numbers else ""
    remedy = "repair or remove these samples" if bad_numbers else _SMALLER_STEPS
    return NonFiniteError(
        f"{where}: {found.what}{value} is not finite for the batch of {_names(numbers)}{kind}{cause}. The step was not "
        f"taken, and the weights are those before it: {remedy}; {saved}."
    )


def _last_rank_of_worst(*levels: Tensor) -> tuple[int, int] | None:
    """The highest level whose scalar is true on any process, and the last such process; None if none is true."""
    n_ranks = distributed.world_size()
    number = torch.zeros((), dtype=torch.long, device=levels[0].device)
    for level, is_bad in enumerate(levels):
        number = torch.where(is_bad, level * n_ranks + distributed.rank() + 1, number)
    if n_ranks > 1:
        dist.all_reduce(number, op=dist.ReduceOp.MAX)
    worst = int(number)
    return divmod(worst - 1, n_ranks) if worst > 0 else None


def _statistics(input: Any) -> dict[str, Tensor]:
    """Per sample the smallest, largest and mean value, and how many are not finite."""
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
    module: PartialAUCModule, sample: Sample, scores: Tensor, found: NotFinite, statistics: dict[str, Tensor]
) -> dict[str, Any]:
    content = {
        "what": found.what,
        "step": module.global_step,
        "epoch": module.current_epoch,
        "rank": distributed.rank(),
        "index": sample.index,
        "target": sample.target,
        "scores": scores,
        "loss": found.loss,
        "input": statistics,
        "state_dict": module.state_dict(),
        "optimizer_states": [optimizer.state_dict() for optimizer in module.trainer.optimizers],
    }
    on_cpu: dict[str, Any] = move_data_to_device(content, "cpu")
    return on_cpu


def _names(numbers: Sequence[int], total: int | None = None) -> str:
    total = len(numbers) if total is None else total
    named = ", ".join(str(number) for number in numbers[:_NAMED])
    more = f", ... ({total} in all)" if total > _NAMED else ""
    return f"sample {named}" if total == 1 else f"samples {named}{more}"
