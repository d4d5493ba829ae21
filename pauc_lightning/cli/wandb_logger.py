"""The logger of a run in Weights & Biases."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import wandb
from lightning.pytorch.loggers import WandbLogger
from lightning.pytorch.utilities import rank_zero_only

from pauc_lightning.cli.panels import panel_name
from pauc_lightning.cli.sent_steps import SentSteps, earlier_rows
from pauc_lightning.cli.wandb_files import OnDisk, read_run
from pauc_lightning.cli.wandb_run import WandbRun, contents, end_earlier_runs, not_reached
from pauc_lightning.distributed import is_main_process

_STEP = "trainer/global_step"


class RunWandbLogger(WandbLogger):
    """Sends a run to W&B; a resumed run continues its curves there, with each point once.

    W&B only appends, so steps that a killed run had sent stay as they were and are not sent again. What the kill kept
    from W&B is sent from metrics.csv. The folder ``wandb`` in the run's directory tells which steps these are.

    The summary holds ``val/pauc`` by its maximum, the last ``test/...``, and the best epoch so far: ``best/pauc``,
    ``best/epoch`` and ``best/step``.

    Args:
        run: The run in W&B; if the directory has one already, that is continued.
        directory: The run's directory.
        offline: Write to disk only, for a later ``wandb sync``.
        first_step: The step from which a run is continued; 0 for a new run.
        variables: Names of the method's variables, which get a section of their own.
        monitor: The metric that decides which epoch is best.
        mode: Whether the largest ("max") or the smallest ("min") value is best.
        settings: All settings of the command.

    Raises:
        InputError: If W&B cannot be reached or there is no key; ``directory`` is left as it was.
    """

    def __init__(
        self,
        run: WandbRun,
        directory: Path,
        offline: bool,
        first_step: int = 0,
        variables: Collection[str] = (),
        monitor: str = "val/pauc",
        mode: str = "max",
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        end_earlier_runs(directory)
        run = run.continued_in(directory)
        super().__init__(save_dir=directory, offline=offline, **run.init_arguments(offline))
        self._run = run
        self._directory = directory
        self._variables = frozenset(variables)
        self._monitor = monitor
        self._mode = mode
        self._best = -math.inf
        if is_main_process():
            self._start(first_step, settings or {})

    def _start(self, first_step: int, settings: Mapping[str, Any]) -> None:
        """Start the run in W&B before training: a missing key or connection is found at once."""
        before = contents(self._directory)
        known = read_run(self._directory)
        is_known = self._run.is_noted_in(self._directory)
        try:
            board: Any = self.experiment  # connects when it is first read
        except wandb.errors.Error as error:
            raise not_reached(error, self._directory, before) from error
        self._run.write(self._directory, board.id)
        self._sent = SentSteps((known or OnDisk()).last_steps)
        self._first_row: int | None = (known or OnDisk()).rows
        board.config.update({**self._run.labels, "settings": dict(settings)}, allow_val_change=True)
        board.define_metric(self._monitor, step_metric=_STEP, step_sync=True, summary=self._mode)
        for step, row in earlier_rows(self._directory, first_step):
            if known is None and is_known:
                # Somebody has removed the files, perhaps after a sync: W&B may have the row.
                self._note_best({**row, _STEP: step})
            else:
                self.log_metrics(row, step)

    @rank_zero_only
    def log_hyperparams(self, params: Any) -> None:
        """Send the method's settings, without the note that Lightning keeps among them for itself."""
        super().log_hyperparams({name: value for name, value in params.items() if name != "_instantiator"})

    @rank_zero_only
    def log_metrics(self, metrics: Mapping[str, Any], step: int | None = None) -> None:
        """Send a row, without what has been sent of it already."""
        row = {panel_name(name, self._variables): value for name, value in metrics.items()}
        if step is not None:
            epoch = {"epoch": row.pop("epoch")} if "epoch" in row else {}
            self._note_best({**row, **epoch, _STEP: step})
            row = self._sent.new(row, step)
            if not row:
                return
            row = {**row, **epoch, _STEP: step}
        if self._first_row is None:
            self.experiment.log(row)
        else:
            # Offline, W&B does not know how many rows an earlier part of this run has.
            number, self._first_row = max(self._first_row, self.experiment.step), None
            self.experiment.log(row, step=number, commit=True)

    def _note_best(self, row: Mapping[str, Any]) -> None:
        if self._monitor not in row:
            return
        value = float(row[self._monitor])
        score = value if self._mode == "max" else -value
        if score > self._best:  # never for NaN
            self._best = score
            name = self._monitor.partition("/")[2] or self._monitor
            best = {f"best/{name}": value, "best/epoch": row.get("epoch"), "best/step": row[_STEP]}
            self.experiment.summary.update(best)

    @rank_zero_only
    def finalize(self, status: str) -> None:
        """Mark a run that ended in an error as failed; a finished one stays open for its test."""
        super().finalize(status)
        if status == "failed" and self._experiment is not None:
            self._experiment.finish(exit_code=1)
