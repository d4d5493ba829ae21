"""A run in TensorBoard: event files in the run's directory."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from lightning.fabric.utilities.logger import _convert_params, _flatten_dict
from lightning.pytorch.loggers import TensorBoardLogger
from lightning.pytorch.utilities import rank_zero_only

from pauc_lightning.cli.panels import panel_name
from pauc_lightning.cli.sent_steps import SentSteps, earlier_rows
from pauc_lightning.distributed import is_main_process
from pauc_lightning.errors import InputError

FOLDER = "tensorboard"


def check_installed() -> None:
    """Refuse ``--tensorboard=true`` if TensorBoard is missing, before anything is written."""
    if find_spec("tensorboard") is None:
        raise InputError(
            "`--tensorboard=true` needs the package tensorboard: run `pip install 'pauc-lightning[tensorboard]'`."
        )


class RunTensorBoardLogger(TensorBoardLogger):
    """Writes ``tensorboard/`` in the run's directory; a resumed run continues its curves.

    TensorBoard hides what a killed run wrote after the checkpoint that it is continued from.

    Args:
        directory: The run's directory.
        first_step: The step from which a run is continued; 0 for a new run.
        variables: Names of the method's variables, which get a section of their own.
        labels: Data, method, region and so on, for the table of hyperparameters.
        monitor: The metric that decides which epoch is best, for the same table.
    """

    def __init__(
        self,
        directory: Path,
        first_step: int = 0,
        variables: Collection[str] = (),
        labels: Mapping[str, Any] | None = None,
        monitor: str = "val/pauc",
    ) -> None:
        super().__init__(
            directory, name="", version=FOLDER, default_hp_metric=False, purge_step=first_step or None
        )
        self._variables = frozenset(variables)
        self._labels = dict(labels or {})
        self._monitor = monitor
        self._is_new = first_step == 0
        self._sent = SentSteps({} if self._is_new else _last_steps(directory / FOLDER, before=first_step))
        if is_main_process():
            for step, row in earlier_rows(directory, first_step):  # if this run was not logged here so far
                self.log_metrics(row, step)

    @rank_zero_only
    def log_metrics(self, metrics: Mapping[str, float], step: int | None = None) -> None:
        """Write a row, without what has been written of it already."""
        row = {panel_name(name, self._variables): value for name, value in metrics.items()}
        super().log_metrics(row if step is None else self._sent.new(row, step), step)

    def is_new(self, name: str, step: int) -> bool:
        """Whether an image or a histogram of this name has not been written at this step."""
        return bool(self._sent.new({name: None}, step))

    @rank_zero_only
    def log_hyperparams(
        self, params: Any, metrics: dict[str, Any] | None = None, step: int | None = None
    ) -> None:
        """Write the settings once, with the partial AUC beside them in TensorBoard's table."""
        is_known = bool(self.hparams) or not self._is_new
        super().log_hyperparams(params, metrics, step)
        if is_known or metrics is not None:
            return
        from torch.utils.tensorboard.summary import hparams

        settings = self._sanitize_params(_flatten_dict({**self._labels, **_convert_params(params)}))
        # Only the names of the metrics count: their values are the curves of these names.
        for summary in hparams(settings, {self._monitor: 0.0, "test/pauc": 0.0}):
            self.experiment._get_file_writer().add_summary(summary)


def _last_steps(folder: Path, before: int) -> dict[str, int]:
    """The last step of everything in the event files, as far as it is kept."""
    from tensorboard.backend.event_processing.event_file_loader import EventFileLoader

    last: dict[str, int] = {}
    for path in sorted(folder.glob("events.out.tfevents.*")):
        for event in EventFileLoader(str(path)).Load():
            if event.step < before:
                for value in event.summary.value:
                    last[value.tag] = max(event.step, last.get(value.tag, -1))
    return last
