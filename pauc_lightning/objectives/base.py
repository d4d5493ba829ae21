"""The contract of the losses: how each one is built, called, started, logged and trained."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor, nn

from pauc_lightning.arguments import check_integer, check_prior
from pauc_lightning.errors import InputError
from pauc_lightning.objectives.checks import (
    as_batch,
    check_index,
    check_labels,
    check_normalizer,
    check_scores,
)
from pauc_lightning.region import Region


class Objective(nn.Module, ABC):
    """A loss of scores and labels; all losses derive from it and are called alike.

    A subclass writes :meth:`loss`. The batch that it gets there has been checked, and scores in half precision have
    been widened to float32. Everything else has a default for losses without variables and without state.

    All constructors begin with ``(max_fpr, min_tpr)``; every other argument is passed by name.

    Args:
        region: The region of the ROC curve that counts.
        prior: Fraction of positives in the training batches; None uses each batch's own.
        train_size: Number of training samples; needed by losses that keep a number per sample.
    """

    takes: Literal["scores", "logits"] = "scores"
    """The input of the loss: scores (the sigmoid of the network's outputs), or the outputs themselves. A loss
    that leaves the choice to its user sets it in its constructor."""

    exchanges_scores: ClassVar[bool] = False
    """Whether the loss gathers the batches of all processes; such a loss does not use ``normalizer``."""

    def __init__(self, region: Region, *, prior: float | None = None, train_size: int | None = None) -> None:
        super().__init__()
        check_prior(prior)
        if train_size is not None:
            check_integer("train_size", train_size, at_least=1, hint="it is the number of training samples")
        self.region = region
        self.prior = prior
        self.train_size = train_size

    def forward(
        self,
        scores: Tensor,
        target: Tensor,
        index: Tensor | None = None,
        normalizer: Tensor | float | None = None,
    ) -> Tensor:
        """The loss of a batch, a scalar.

        Scores outside [0, 1] (where the loss needs them inside), NaN, labels other than 0 and 1 and indices outside
        the training set are refused before anything is computed or stored. A batch without positives, or without
        negatives, is legal: that part contributes zero.

        Args:
            scores: One score per sample, shape ``(B,)``: see :attr:`takes`.
            target: 1 for positives, 0 for negatives, shape ``(B,)``.
            index: Position of each sample in the training set, shape ``(B,)``; needed if :attr:`needs_index`, in
                ``train()`` mode.
            normalizer: Divisor of a sum over the samples; None means B. On several processes pass the mean of their
                batch sizes, and a fixed ``prior`` to the constructor: the average of the processes' gradients is
                then the gradient of the union batch, however uneven the shards.
        """
        check_normalizer(normalizer)
        f, y, index = self.checked(scores, target, index, uses_index=self.needs_index and self.training)
        return self.loss(f, y, index, max(len(f), 1) if normalizer is None else normalizer)

    @abstractmethod
    def loss(self, f: Tensor, y: Tensor, index: Tensor | None, normalizer: Tensor | float) -> Tensor:
        """The loss of a checked batch.

        Args:
            f: Scores, in float32 at least, shape ``(B,)``.
            y: Labels 0 and 1 as numbers of the same type, shape ``(B,)``.
            index: Positions in the training set, int64, shape ``(B,)``; None unless the loss's state is in use.
            normalizer: Divisor of a sum over the samples.
        """

    @property
    def per_instance_buffers(self) -> tuple[str, ...]:
        """Buffers with a number per training sample. They are equal on all ranks; DDP must not broadcast them."""
        return ()

    @property
    def needs_index(self) -> bool:
        """Whether training batches must say which training samples they hold."""
        return bool(self.per_instance_buffers)

    @property
    def needs_unit_scores(self) -> bool:
        """Whether scores outside [0, 1] are refused."""
        return self.takes == "scores"

    def variables(self) -> dict[str, Tensor]:
        """Scalars to log, detached, by name: the loss's own variables."""
        return {name: parameter.detach() for name, parameter in self.named_parameters(recurse=False)}

    def initialize_(self, scores: Tensor, target: Tensor, index: Tensor | None = None) -> None:
        """Set the variables to their optimum for fixed scores, such as those of the training set after a warm-up.

        Does nothing for losses without such variables.

        Args:
            scores: Scores in [0, 1], shape ``(n,)``, of all processes if there are several.
            target: 1 for positives, 0 for negatives, shape ``(n,)``.
            index: Position of each sample in the training set, shape ``(n,)``; needed if :attr:`needs_index`.
        """

    def param_groups(self, lr: float | None = None, lr_ascent: float | None = None) -> list[dict[str, Any]]:
        """The optimizer groups of the loss's variables, without weight decay; none by default.

        Args:
            lr: Step size of the variables to descend on; None uses the optimizer's.
            lr_ascent: Step size of the variables to ascend on; None uses the optimizer's.
        """
        return []

    # ------------------------------------------------------------------ for subclasses

    def checked(
        self, scores: Tensor, target: Tensor, index: Tensor | None, *, uses_index: bool
    ) -> tuple[Tensor, Tensor, Tensor | None]:
        """Check the batch and convert it for :meth:`loss`."""
        if uses_index and index is None:
            raise InputError(
                f"{type(self).__name__} in train() mode needs `index`, the position of each sample in the training "
                "set, got None: pass it, or call eval() to compute the loss without state."
            )
        f, y = as_batch(scores, target, index)
        f, y, index = self.exchange(f, y, index.long() if uses_index and index is not None else None)
        check_scores(f, self.needs_unit_scores)
        check_labels(y)
        if index is not None and self.train_size is not None:
            check_index(index, self.train_size)
        return f, y, index

    def exchange(self, f: Tensor, y: Tensor, index: Tensor | None) -> tuple[Tensor, Tensor, Tensor | None]:
        """The batch that the loss sees: this process's own, or the union of all processes'."""
        return f, y, index

    def required_train_size(self) -> int:
        """The length of the buffers that hold a number per training sample."""
        if self.train_size is None:
            raise InputError(
                "`train_size` must be the number of training samples, got None: this loss keeps a number for each of "
                "them. Pass train_size=len(dataset), or with the command line give your data module an attribute "
                "`train_size`."
            )
        return self.train_size


def check_both_classes(y: Tensor) -> None:
    """Refuse labels of a single class, for which the variables have no optimum."""
    n_pos = int(y.sum())
    if not 0 < n_pos < len(y):
        raise InputError(
            f"`target` must hold both classes, got {n_pos} positives and {len(y) - n_pos} negatives: initialise from "
            "the whole training set."
        )


def with_step_sizes(groups: list[dict[str, Any]], *steps: float | None) -> list[dict[str, Any]]:
    """Add the given step sizes to the groups; None leaves a group's as it is."""
    for group, step in zip(groups, steps, strict=True):
        if step is not None:
            group["lr"] = step
    return groups


def scalar(value: float) -> nn.Parameter:
    """A learned scalar."""
    return nn.Parameter(torch.tensor(float(value)))
