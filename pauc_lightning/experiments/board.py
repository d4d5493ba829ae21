"""The progress of a comparison: the state that every display shows."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from pauc_lightning.experiments.best_of import BestOf
from pauc_lightning.experiments.cells import Cell, Run, Task
from pauc_lightning.experiments.live import Progress
from pauc_lightning.experiments.outcome import Outcome
from pauc_lightning.experiments.plan import Plan
from pauc_lightning.experiments.table import Table
from pauc_lightning.experiments.timing import Remaining, Stopwatch, TimeLeft


@dataclass(frozen=True)
class Finished:
    """A cell that has been trained, or has failed.

    Args:
        cell: The cell.
        outcome: Its outcome; a warm-up has no value.
        seconds: How long it took.
        warnings: Warnings that no earlier cell gave.
    """

    cell: Cell
    outcome: Outcome
    seconds: float
    warnings: tuple[str, ...] = ()

    @property
    def summary(self) -> str:
        """The outcome in a few words."""
        if self.outcome.failure is not None:
            return f"failed: {self.outcome.failure}"
        text = "done" if self.outcome.value is None else f"{self.outcome.value:.4f}"
        collapse = self.outcome.collapse
        return text if collapse is None else f"{text}, collapsed by step {collapse.step}"


@dataclass
class Running:
    """A cell that is being trained.

    Args:
        started: When it was started.
        is_continued: Whether an interrupted training goes on, which takes less time than a whole one.
        progress: Its latest progress.
    """

    started: float
    is_continued: bool = False
    progress: Progress | None = None


class Board:
    """Keeps track of the finished, running and remaining cells.

    Args:
        plan: The comparison.
        missing: The cells to train, in order.
        earlier: Outcomes of the runs that were finished before.
        slots: The number of cells that are trained at a time.
        clock: Returns the time in seconds.
    """

    def __init__(
        self,
        plan: Plan,
        missing: Sequence[Cell],
        earlier: Mapping[Run, Outcome],
        slots: int = 1,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.plan = plan
        self.finished: list[Finished] = []
        self.running: dict[Cell, Running] = {}
        self.n_cells = len(missing)
        self.n_earlier = len(earlier)
        self._remaining = list(missing)
        self._outcomes = dict(earlier)
        self._slots = slots
        self._watch = Stopwatch()
        self._clock = clock
        self._started = clock()

    def start(self, cell: Cell, is_continued: bool = False) -> None:
        """Record that a cell starts."""
        self.running[cell] = Running(self._clock(), is_continued)

    def update(self, cell: Cell, progress: Progress) -> None:
        """Record the progress of a running cell."""
        if cell in self.running:
            self.running[cell].progress = progress

    def finish(self, cell: Cell, outcome: Outcome, warnings: Sequence[str] = ()) -> Finished:
        """Record that a cell has ended, or that it cannot be trained."""
        running = self.running.pop(cell, None)
        seconds = 0.0 if running is None else self._clock() - running.started
        done = Finished(cell, outcome, seconds, tuple(warnings))
        if outcome.failure is None and running is not None and not running.is_continued:
            self._watch.add(cell.kind, self.plan.epochs_of(cell), seconds)
        if isinstance(cell, Run):
            self._outcomes[cell] = outcome
        self.finished.append(done)
        self._remaining.remove(cell)
        return done

    @property
    def elapsed(self) -> float:
        """Seconds since the comparison started."""
        return self._clock() - self._started

    @property
    def left(self) -> TimeLeft | None:
        """The estimated time left; None if nothing remains."""
        if not self._remaining:
            return None
        return self._watch.left([self._as_remaining(cell) for cell in list(self._remaining)], self._slots)

    def _as_remaining(self, cell: Cell) -> Remaining:
        running = self.running.get(cell)
        seconds = None if running is None else self._clock() - running.started
        return Remaining(cell, cell.kind, self.plan.epochs_of(cell), seconds, self.plan.warm_up_of(cell))

    def table(self, task: Task) -> Table:
        """The table of a task's results so far."""
        plan = self.plan
        return Table(
            plan.labels,
            plan.regions,
            plan.seeds,
            BestOf(plan.best_of, self.outcome).extended(self.outcome),
            plan.baseline,
            task,
            from_initial_weights=plan.methods_from_initial_weights,
            best_of=plan.best_of,
        )

    def outcome(self, run: Run) -> Outcome:
        """The outcome of a run; empty until it is known."""
        return self._outcomes.get(run, Outcome())

    @property
    def n_failed(self) -> int:
        """Number of failed cells."""
        return sum(done.outcome.failure is not None for done in self.finished)

    @property
    def n_collapsed(self) -> int:
        """Number of cells that collapsed in training."""
        return sum(done.outcome.collapse is not None for done in self.finished)
