"""Ctrl-C and SIGTERM end a run at the next batch, with a checkpoint to go on from."""

from __future__ import annotations

import signal
import threading
from types import FrameType
from typing import Any

from lightning.pytorch import Callback, LightningModule, Trainer
from lightning.pytorch.utilities import rank_zero_info


class RunInterrupted(Exception):
    """Training was stopped by a signal, between two batches.

    Args:
        signum: The signal.
    """

    def __init__(self, signum: int) -> None:
        super().__init__(signum)
        self.signum = signum


class GracefulStop(Callback):
    """Stop training after the current batch when the process gets SIGINT (Ctrl-C) or SIGTERM.

    The exception reaches the checkpoint callback's ``on_exception``, which saves the last state. A second signal
    stops at once. With several processes all of them stop after the same batch, whichever got the signal.
    """

    _SIGNALS = (signal.SIGINT, signal.SIGTERM)

    def __init__(self) -> None:
        self._received = 0

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Take over the signals from Lightning, which gives them back to their owners when training is over.

        Its own handler of SIGTERM calls a collective at whatever moment the signal arrives, which can hang.
        """
        self._received = 0
        if threading.current_thread() is threading.main_thread():
            for signum in self._SIGNALS:
                signal.signal(signum, self._remember)

    def _remember(self, signum: int, frame: FrameType | None) -> None:
        self._received = signum
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        rank_zero_info(
            f"\nReceived {signal.Signals(signum).name}: stopping after this batch (again: stop at once)."
        )

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Stop, if any process was told to."""
        received = bool(self._received)
        if trainer.world_size > 1:
            received = trainer.strategy.reduce_boolean_decision(received, all=False)
        if received:
            raise RunInterrupted(self._received or signal.SIGTERM)
