"""Validate the model that a method starts from, so that a run never ends with a worse one."""

from __future__ import annotations

import math

from lightning.pytorch import Callback, LightningModule, Trainer

from pauc_lightning.callbacks.position import validation_is_due
from pauc_lightning.methods import PartialAUCModule


class StartValidation(Callback):
    """Validates once right before the method's first step: the end of the warm-up, or the weights of ``init_weights``.

    The model selection then has the starting point among its candidates. It is left out if the epoch that ended there
    was validated, if the weights are random, and in a run that has no validation. In ``metrics.csv`` the row belongs
    to the epoch before the method's first: −1 if that is the run's first.

    A resumed run does not repeat it: a checkpoint says whether its method has made a step.
    """

    def on_train_epoch_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Validate if the method begins with this epoch."""
        if not isinstance(pl_module, PartialAUCModule) or not self._is_wanted(trainer, pl_module):
            return
        connector = trainer._logger_connector
        first_loop_iter = connector._first_loop_iter
        trainer.validating = True
        pl_module.is_validating_start = True
        try:
            trainer.fit_loop.epoch_loop.val_loop.run()
        finally:
            pl_module.is_validating_start = False
            trainer.training = True
            connector._first_loop_iter = first_loop_iter

    @staticmethod
    def _is_wanted(trainer: Trainer, module: PartialAUCModule) -> bool:
        is_trained = module.warmup_epochs > 0 or module.init_weights is not None
        is_start = not module.is_warming_up and not bool(module.objective_initialized)
        if not (is_trained and is_start and trainer.enable_validation) or trainer.fast_dev_run:  # type: ignore[attr-defined]
            return False
        return module.warmup_epochs == 0 or not _ends_with_validation(trainer, module.warmup_epochs)


def _ends_with_validation(trainer: Trainer, epochs: int) -> bool:
    """Return whether Lightning validates at the end of that many epochs; the same in a run that is resumed there."""
    if trainer.val_check_batch is not None and math.isinf(trainer.val_check_batch):
        every = trainer.check_val_every_n_epoch
        return every is None or epochs % every == 0
    n_batches = int(trainer.num_training_batches)
    return validation_is_due(trainer, epochs - 1, n_batches, epochs * n_batches)
