"""Warn when a run has collapsed, once of each kind and with the remedy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple

import torch
from lightning.pytorch import Callback, LightningModule, Trainer
from lightning.pytorch.trainer.states import TrainerFn
from lightning.pytorch.utilities import rank_zero_warn
from torch import Tensor

from pauc_lightning.methods import PartialAUCModule
from pauc_lightning.methods.ranking import Ranking

_SMALLER_STEPS = (
    "Lower the step sizes or `gradient_clip_norm` (if it is null, set it: 1 is a good start), and start again from the "
    "last good checkpoint."
)


class Collapse(NamedTuple):
    """The step and the description of a collapse."""

    step: int
    what: str


class CollapseMonitor(Callback):
    """Warns when scores are no longer finite, when they no longer rank anything, or when variables stay at a bound.

    A network that has not yet learned to rank has not collapsed, and small batches sometimes rank badly. In training,
    an AUC at chance therefore counts only if it lasts and an earlier one was clearly above chance. On the validation
    part it also counts if no earlier one was, but it must last longer.

    Training batches are examined when the loggers write (``log_every_n_steps``) and before each validation. `pauc`
    adds this callback to every run; in Python write ``Trainer(callbacks=[CollapseMonitor()])``.

    Args:
        constant_patience: Examined batches in a row that may have constant scores.
        unranked_patience: Examined batches in a row, after better ones, in which positives may rank no higher than
            negatives.
        validation_patience: Validations in a row that may be at chance: if an earlier one was clearly above, and if
            none was.
        bound_patience: Examined batches in a row for which a variable may stay at its bound.
    """

    def __init__(
        self,
        constant_patience: int = 3,
        unranked_patience: int = 5,
        validation_patience: tuple[int, int] = (2, 3),
        bound_patience: int = 20,
    ) -> None:
        self.constant_patience = constant_patience
        self.unranked_patience = unranked_patience
        self.validation_patience = validation_patience
        self.bound_patience = bound_patience
        self._start()

    def _start(self) -> None:
        self.collapses: list[Collapse] = []
        """The collapses for which a warning was given."""
        self._has_ranked_training = self._has_ranked_validation = False
        self._last_step = -1
        self._times_in_a_row: Counter[str] = Counter()
        self._has_warned: set[str] = set()
        self._last_batch: tuple[Tensor, Tensor] | None = None
        self._validated_counts = torch.zeros(2)

    # ------------------------------------------------------------------ when to examine

    def setup(self, trainer: Trainer, pl_module: LightningModule, stage: str) -> None:
        """Forget an earlier fit; a resumed one then loads its state."""
        if stage == "fit":
            self._start()

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Examine the batch if the loggers write."""
        self._last_batch = outputs["scores"], outputs["target"]
        every: int = trainer.log_every_n_steps  # type: ignore[attr-defined]
        if every > 0 and trainer.global_step % every == 0:
            self._look_at_last_batch(trainer, pl_module)

    def on_validation_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Examine the latest training batch, before the metrics refuse scores that are not finite."""
        self._validated_counts = torch.zeros(2, device=pl_module.device)
        if self._is_part_of_training(trainer):
            self._look_at_last_batch(trainer, pl_module)

    def on_validation_batch_end(
        self,
        trainer: Trainer,
        pl_module: LightningModule,
        outputs: Any,
        batch: Any,
        batch_idx: int,
        dataloader_idx: int = 0,
    ) -> None:
        """Count the positives and negatives."""
        n_pos = outputs["target"].sum()
        self._validated_counts += torch.stack([n_pos, len(outputs["target"]) - n_pos])

    def on_validation_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Examine the AUC of the validation part."""
        auc = trainer.callback_metrics.get("val/auc")
        if not self._is_part_of_training(trainer) or auc is None:
            return
        counts: Tensor = trainer.strategy.reduce(self._validated_counts, reduce_op="sum")
        n_pos, n_neg = (int(count) for count in counts.tolist())
        self.look_at_validation(trainer.global_step, Ranking(float(auc), n_pos, n_neg))

    @staticmethod
    def _is_part_of_training(trainer: Trainer) -> bool:
        return trainer.state.fn == TrainerFn.FITTING and not trainer.sanity_checking

    def _look_at_last_batch(self, trainer: Trainer, pl_module: LightningModule) -> None:
        if self._last_batch is None:
            return
        at_bound: Mapping[str, Tensor] = {}
        if isinstance(pl_module, PartialAUCModule) and not pl_module.is_warming_up:
            at_bound = pl_module.suspicious_bounds()
            if pl_module.start_ranking is not None:
                self.look_at_start(pl_module.start_ranking)
        self.look(trainer.global_step, *self._last_batch, at_bound)

    # ------------------------------------------------------------------ criteria

    def look(self, step: int, scores: Tensor, target: Tensor, at_bound: Mapping[str, Tensor]) -> None:
        """Examine a training batch, once; waits for the device.

        Args:
            step: The step, for the message.
            scores: Sigmoid scores of the batch.
            target: Its labels, 0 or 1.
            at_bound: Which variables are at a bound where they should not stay.
        """
        if step == self._last_step:
            return
        self._last_step = step
        if not bool(torch.isfinite(scores).all()):
            self._warn(step, "not finite", f"the scores are not finite any more. {_SMALLER_STEPS}")
            return
        ranking = Ranking.of(scores, target)
        if min(ranking.n_pos, ranking.n_neg) > 0:
            self._look_for_constant_scores(step, scores)
        if ranking.can_be_judged:
            self._look_at_ranking(step, ranking)
        stuck = [
            name
            for name, is_stuck in at_bound.items()
            if self._has_lasted(name, bool(is_stuck), self.bound_patience)
        ]
        if stuck:
            self._warn(
                step,
                "bounds",
                f"{' and '.join(stuck)} stayed at the bound in {self.bound_patience} examined batches in a row. Lower "
                "its step size, raise `omega`, or warm up longer so that it starts near its optimum.",
            )

    def look_at_start(self, ranking: Ranking) -> None:
        """Remember how well the network ranked the training set before the method's first step."""
        self._has_ranked_training |= ranking.is_clearly_above_chance

    def look_at_validation(self, step: int, ranking: Ranking) -> None:
        """Judge the ranking of the validation part."""
        if not ranking.can_be_judged:
            return
        # A collapsed network may still rank a little.
        margin = ranking.standard_error if self._has_ranked_validation else 0.01
        patience = self.validation_patience[0 if self._has_ranked_validation else 1]
        if self._has_lasted("validation", ranking.auc <= 0.5 + margin, patience):
            self._warn_of_ranking(step, f"on the validation part, {patience} times in a row", ranking)
        self._has_ranked_validation |= ranking.is_clearly_above_chance

    def _look_for_constant_scores(self, step: int, scores: Tensor) -> None:
        low, high = float(scores.min()), float(scores.max())
        threshold = min(1e-3, max(1e-5, 0.01 * high))  # where positives are rare, good scores are small
        if self._has_lasted("constant", high - low < threshold, self.constant_patience):
            self._warn(
                step,
                "ranking",
                f"all scores of the batch are {low:.4g}, or nearly so. {_SMALLER_STEPS} "
                "Or warm up longer (`warmup_epochs`), or raise `omega` if the method has it. Another cause is a "
                "threshold that started above all losses, which starting in closed form after a warm-up avoids.",
            )

    def _look_at_ranking(self, step: int, ranking: Ranking) -> None:
        is_unranked = self._has_ranked_training and ranking.auc <= 0.5
        if self._has_lasted("unranked", is_unranked, self.unranked_patience):
            self._warn_of_ranking(step, f"in the last {self.unranked_patience} examined batches", ranking)
        self._has_ranked_training |= ranking.is_clearly_above_chance

    def _warn_of_ranking(self, step: int, where: str, ranking: Ranking) -> None:
        self._warn(
            step,
            "ranking",
            f"positives rank no higher than negatives {where} (AUC {ranking.auc:.3f}). The usual cause is a step that "
            f"was too large. {_SMALLER_STEPS} If the network was no better to begin with, warm up longer "
            "(`warmup_epochs`).",
        )

    def _has_lasted(self, condition: str, holds: bool, patience: int) -> bool:
        self._times_in_a_row[condition] = self._times_in_a_row[condition] + 1 if holds else 0
        return self._times_in_a_row[condition] >= patience

    def _warn(self, step: int, kind: str, message: str) -> None:
        if kind == "bounds" and "ranking" in self._has_warned:
            return  # without a ranking, variables at their bounds add no information
        if kind not in self._has_warned:
            self._has_warned.add(kind)
            self.collapses.append(Collapse(step, message.split(". ")[0]))
            rank_zero_warn(f"Training has collapsed by step {step}: {message}")

    # ------------------------------------------------------------------ resuming

    def state_dict(self) -> dict[str, Any]:
        """Return the observations so far, so that a resumed run neither forgets a collapse nor repeats its warning."""
        return {
            "collapses": [list(collapse) for collapse in self.collapses],
            "has_ranked": [self._has_ranked_training, self._has_ranked_validation],
            "last_step": self._last_step,
            "times_in_a_row": dict(self._times_in_a_row),
            "has_warned": sorted(self._has_warned),
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continue with the observations of the interrupted run."""
        self.collapses = [Collapse(*collapse) for collapse in state_dict["collapses"]]
        self._has_ranked_training, self._has_ranked_validation = state_dict["has_ranked"]
        self._last_step = state_dict["last_step"]
        self._times_in_a_row = Counter(state_dict["times_in_a_row"])
        self._has_warned = set(state_dict["has_warned"])
