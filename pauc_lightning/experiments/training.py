"""Trains the missing cells of a comparison on an executor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from pauc_lightning.errors import InputError
from pauc_lightning.experiments.board import Board
from pauc_lightning.experiments.cells import Cell, WarmUp
from pauc_lightning.experiments.commands import fit_arguments, resume_arguments
from pauc_lightning.experiments.directory import ComparisonDirectory
from pauc_lightning.experiments.display import Display
from pauc_lightning.experiments.executors import Ended, Executor, Failure, Job, JobsStopped
from pauc_lightning.experiments.inner_run import Said
from pauc_lightning.experiments.live import Progress
from pauc_lightning.experiments.outcome import Outcome
from pauc_lightning.experiments.plan import Plan
from pauc_lightning.experiments.schedule import Schedule
from pauc_lightning.files import write_text


@dataclass(frozen=True)
class _Started:
    """A cell whose job has been started."""

    cell: Cell
    is_continued: bool


class Training:
    """Starts ready cells as slots become free, and takes their ends in any order.

    Args:
        plan: The comparison.
        directory: Its directory, which is held.
        common: The file with the experiment's settings for every run, if it has any.
        executor: Runs the jobs.
        added: Returns further options of a cell, such as those that a search has found.
    """

    def __init__(
        self,
        plan: Plan,
        directory: ComparisonDirectory,
        common: Path | None,
        executor: Executor,
        added: Callable[[Cell], Sequence[str]] = lambda cell: (),
    ) -> None:
        self.failures: dict[Cell, str] = {}
        self.warnings: dict[str, Cell] = {}
        self._plan = plan
        self._directory = directory
        self._common = common
        self._executor = executor
        self._added = added
        self._running: dict[str, _Started] = {}
        self._n_ended = 0

    def run(self, missing: Sequence[Cell], board: Board, display: Display) -> None:
        """Train the cells.

        Raises:
            InputError: If the very first one, a warm-up, is rejected: then nothing can be trained.
            KeyboardInterrupt: If the user interrupts.
        """
        schedule = Schedule(missing, self._plan.warm_up_of)
        while True:
            while len(self._running) < self._executor.slots and (cell := schedule.next()) is not None:
                self._start(cell, board)
                display.started()
            if not self._running:
                return
            for ended in self._wait(board):
                self._end(ended, schedule, board, display)

    # ------------------------------------------------------------------ start

    def _start(self, cell: Cell, board: Board, anew: bool = False) -> None:
        """Start a cell, or continue it where it was interrupted."""
        plan, directory = self._plan, self._directory
        start, warm_up = None, plan.warm_up_of(cell)
        if warm_up is not None:
            start = directory.warm_up_checkpoint(warm_up)
            assert start is not None
        arguments = fit_arguments(plan, cell, start, self._common, self._added(cell))
        interrupted = None if anew else directory.interrupted(cell, arguments, plan.threads)
        if interrupted is None:
            directory.begin(cell, arguments, plan.threads)
        else:
            arguments = resume_arguments(interrupted)
        job = Job(cell.folder.as_posix(), tuple(arguments), plan.threads)
        self._running[job.name] = _Started(cell, is_continued=interrupted is not None)
        board.start(cell, is_continued=interrupted is not None)
        self._executor.start(job)

    def _wait(self, board: Board) -> Sequence[Ended]:
        def on_progress(job: Job, progress: Progress) -> None:
            if job.name in self._running:
                board.update(self._running[job.name].cell, progress)

        try:
            return self._executor.wait(on_progress)
        except JobsStopped as stopped:
            for ended in stopped.ended:
                self._write_log(self._running[ended.job.name].cell, ended.said)
            raise

    # ------------------------------------------------------------------ end

    def _end(self, ended: Ended, schedule: Schedule, board: Board, display: Display) -> None:
        started = self._running.pop(ended.job.name)
        cell, said, failure = started.cell, ended.said, ended.failure
        if failure is not None and failure.is_mistake and started.is_continued:
            self._start(
                cell, board, anew=True
            )  # it cannot be continued, for example because the data have changed
            return
        if failure is None:
            try:
                outcome = self._finish(cell)
            except InputError as error:
                failure = Failure(str(error), is_mistake=True)
                said = Said(f"{said.text}{error}\n", said.warnings)
        self._n_ended += 1
        if failure is None:
            schedule.trained(cell)
        else:
            self._directory.give_up(cell)
            if self._is_hopeless(cell, failure):
                raise InputError(failure.reason)
            self.failures[cell] = f"{failure.reason.rstrip('.')}. Its log is {self._directory.log(cell)}."
            outcome = Outcome(failure=self.failures[cell])
        self._write_log(cell, said)
        new = [warning for warning in said.warnings if warning not in self.warnings]
        self.warnings |= dict.fromkeys(new, cell)
        display.finished(board.finish(cell, outcome, new))
        if failure is not None:
            for run in schedule.failed(cell):
                self.failures[run] = (
                    f"not run, because its {run.warm_up.title}, failed: {self.failures[cell]}"
                )
                display.finished(board.finish(run, Outcome(failure=self.failures[run])))

    def _is_hopeless(self, cell: Cell, failure: Failure) -> bool:
        """Whether the other cells would fail for the same reason."""
        is_first = self._n_ended == 1 and isinstance(cell, WarmUp)
        return is_first and failure.is_mistake and len(self._plan.tasks) == 1

    def _finish(self, cell: Cell) -> Outcome:
        if isinstance(cell, WarmUp):
            self._directory.finish_warm_up(cell)
        elif self._directory.result(cell) is None:
            raise InputError("it ended without a test result.")
        return self._directory.outcome(cell)

    def _write_log(self, cell: Cell, said: Said) -> None:
        write_text(self._directory.log(cell), said.text)
