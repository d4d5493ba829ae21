"""Log how the training part is ranked after each epoch, and where the objective's variables should be."""

from __future__ import annotations

import torch
from lightning.pytorch import Callback, LightningModule, Trainer
from torch import Tensor

from pauc_lightning.arguments import check_integer
from pauc_lightning.methods import PartialAUCModule
from pauc_lightning.methods.closed_form_start import score_training_set
from pauc_lightning.metrics.functional import binary_partial_auc
from pauc_lightning.objectives import MinimaxObjective
from pauc_lightning.objectives.saddle_point import exact_point, saddle_point


class TrainingCurve(Callback):
    """Scores the training part after each epoch, without augmentation, and logs its partial AUC as ``train/pauc``.

    For PAUCI and UPAUCI it also logs, for each variable such as ``a``: its value (``train/end_a``), its value at the
    objective's saddle point for the scores at that moment (``train/saddle_a``), and the one in closed form that belongs
    to exact selection (``train/exact_a``). Logged during a warm-up is the partial AUC alone. The pass over the training
    part makes an epoch longer, by about a third for a network without augmentation; nothing about the training changes.

    Args:
        every_n_epochs: Epochs between two passes.
    """

    def __init__(self, every_n_epochs: int = 1) -> None:
        check_integer("every_n_epochs", every_n_epochs, at_least=1)
        self.every_n_epochs = every_n_epochs

    def on_train_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Score the training part; all ranks take part."""
        if (trainer.current_epoch + 1) % self.every_n_epochs or not isinstance(pl_module, PartialAUCModule):
            return
        scored = score_training_set(pl_module, is_start=False)
        if scored is None:
            return
        region = pl_module.region
        pauc = binary_partial_auc(scored.logits.double(), scored.target, region.max_fpr, region.min_tpr)
        values: dict[str, Tensor | float] = {"train/pauc": pauc.float()}
        objective = pl_module.objective
        if isinstance(objective, MinimaxObjective) and not pl_module.is_warming_up:
            scores = pl_module.objective_input(scored.logits.double())
            with torch.no_grad():
                for kind, point in (
                    ("end", objective.variables()),
                    ("saddle", saddle_point(objective, scores, scored.target)),
                    ("exact", exact_point(objective, scores, scored.target)),
                ):
                    values |= {f"train/{kind}_{name}": float(value) for name, value in point.items()}
        pl_module.log_dict(values)
