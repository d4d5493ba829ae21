"""Stop a run after the current batch on Ctrl-C or SIGTERM, so that its state can be saved."""

from __future__ import annotations

import signal
import threading
from collections.abc import Mapping
from types import FrameType, MappingProxyType
from typing import Any

from lightning.pytorch import Callback, LightningModule, Trainer
from lightning.pytorch.utilities import rank_zero_info


class RunInterrupted(Exception):
    """Raised when a signal has stopped training between two batches.

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

    _DEFAULTS: Mapping[signal.Signals, Any] = MappingProxyType(
        {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}
    )

    def __init__(self) -> None:
        self._received = 0
        self._taken: list[signal.Signals] = []

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Take over the signals from Lightning, which restores the original handlers when training is over.

        Lightning's handler of SIGTERM calls a collective at whatever moment the signal arrives, which can hang.
        """
        self._received = 0
        self._taken = []
        if threading.current_thread() is threading.main_thread():
            # Ignored signals stay ignored; shells make background jobs ignore Ctrl-C.
            self._taken = [s for s in self._DEFAULTS if signal.getsignal(s) is not signal.SIG_IGN]
            for signum in self._taken:
                signal.signal(signum, self._remember)

    def _remember(self, signum: int, frame: FrameType | None) -> None:
        self._received = signum
        for taken in self._taken:
            signal.signal(taken, self._DEFAULTS[taken])
        rank_zero_info(
            f"\nReceived {signal.Signals(signum).name}: stopping after this batch (again: stop at once)."
        )

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Stop if any process received a signal."""
        received = bool(self._received)
        if trainer.world_size > 1:
            received = trainer.strategy.reduce_boolean_decision(received, all=False)
        if received:
            raise RunInterrupted(self._received or signal.SIGTERM)
