"""The logger of a run: metrics.csv in the run's own directory."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lightning.fabric.loggers.logger import rank_zero_experiment
from lightning.pytorch.loggers import CSVLogger
from lightning.pytorch.loggers.csv_logs import ExperimentWriter

from pauc_lightning.distributed import is_main_process
from pauc_lightning.files import complete_file


class RunLogger(CSVLogger):
    """Writes metrics.csv; a resumed run continues its file, so the curve stays in one piece.

    Args:
        folder: The directory that holds the runs of one name, or the run itself if ``claim`` is None.
        claim: Creates the run's directory in ``folder`` and returns its number. Called once, by the main process,
            when the directory is first needed. None means that ``folder`` is the run to continue.
        first_step: The step from which a run is continued; rows logged at or after it are dropped.
    """

    def __init__(self, folder: Path, claim: Callable[[Path], int] | None = None, first_step: int = 0) -> None:
        super().__init__(folder, name="", version=None if claim is not None else "")
        self._folder = folder
        self._claim = claim
        self._first_step = first_step

    @property
    def version(self) -> int | str:
        """The number in the directory's name. The main process broadcasts the directory to the others."""
        if self._version is None:
            if not is_main_process() or self._claim is None:
                return 0
            self._version = self._claim(self._folder)
        return self._version

    @property
    def is_claimed(self) -> bool:
        """Whether this run has created its directory."""
        return self._claim is not None and self._version is not None

    @property
    @rank_zero_experiment
    def experiment(self) -> ExperimentWriter:
        """The writer of the file, created when it is first used."""
        if not isinstance(self._experiment, _ContinuedWriter):
            self._experiment = _ContinuedWriter(self.log_dir, self._first_step)
        return self._experiment


class _ContinuedWriter(ExperimentWriter):
    """An ExperimentWriter that keeps the rows before ``first_step`` and replaces repeated rows.

    A run that was killed after a validation but before the next checkpoint validates again. The new row of the same
    step and columns replaces the old one.
    """

    def __init__(self, log_dir: str, first_step: int) -> None:
        super().__init__(log_dir)
        self._written: list[dict[str, Any]] = []
        self._is_file_valid = False
        path = Path(self.metrics_file_path)
        if path.is_file():
            with path.open(newline="") as file:
                rows = list(csv.DictReader(file))
            self._written = [row for row in rows if _is_whole(row) and int(row["step"]) < first_step]
            self.metrics_keys = sorted(set().union(*self._written))

    def log_metrics(self, metrics_dict: dict[str, float], step: int | None = None) -> None:
        """Record a row, replacing an earlier one of the same step and columns."""
        super().log_metrics(metrics_dict, step)
        row = self.metrics[-1]
        # Only the last rows can be repeated: a validation after the checkpoint, or rows written because of it.
        for old in self._written[-4:]:
            if old == row:
                self.metrics.pop()  # in the file already
                return
            if int(old["step"]) == row["step"] and _columns(old) == set(row):
                self._written.remove(old)
                self._is_file_valid = False

    def save(self) -> None:
        """Append the new rows to the file, or rewrite it if its header or an earlier row has changed."""
        if not self.metrics:
            return
        if self._record_new_keys() or not self._is_file_valid:
            with complete_file(Path(self.metrics_file_path)) as file:
                writer = csv.DictWriter(file, fieldnames=self.metrics_keys)
                writer.writeheader()
                writer.writerows([*self._written, *self.metrics])
            self._is_file_valid = True
        else:
            with open(self.metrics_file_path, "a", newline="") as file:
                csv.DictWriter(file, fieldnames=self.metrics_keys).writerows(self.metrics)
        self._written.extend(self.metrics)
        self.metrics = []

    def _check_log_dir_exists(self) -> None:
        """Do nothing: the directory belongs to this run, and its earlier rows are kept."""


def _is_whole(row: dict[str | None, Any]) -> bool:
    """Whether a row is complete: a kill may have cut the last one."""
    return None not in row and None not in row.values() and str(row.get("step", "")).isdecimal()


def _columns(row: dict[str, Any]) -> set[str]:
    return {key for key, value in row.items() if value != ""}
