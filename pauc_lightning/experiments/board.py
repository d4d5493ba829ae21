"""The progress of a comparison: the state that every display shows."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pauc_lightning.experiments.cells import Cell, Run
from pauc_lightning.experiments.live import Progress
from pauc_lightning.experiments.outcome import Outcome
from pauc_lightning.experiments.plan import Plan
from pauc_lightning.experiments.table import Table
from pauc_lightning.experiments.timing import Stopwatch, TimeLeft


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


class Board:
    """Keeps track of the finished, running and remaining cells.

    Args:
        plan: The comparison.
        missing: The cells to train, in order.
        earlier: Outcomes of the runs that were finished before.
        clock: Returns the time in seconds.
    """

    def __init__(
        self,
        plan: Plan,
        missing: Sequence[Cell],
        earlier: dict[Run, Outcome],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.plan = plan
        self.finished: list[Finished] = []
        self.running: Cell | None = None
        self.progress: Progress | None = None
        self.n_cells = len(missing)
        self.n_earlier = len(earlier)
        self._remaining = list(missing)
        self._outcomes = dict(earlier)
        self._watch = Stopwatch()
        self._clock = clock
        self._started = self._cell_started = clock()

    def start(self, cell: Cell) -> None:
        """Record that a cell starts."""
        self.running, self.progress = cell, None
        self._cell_started = self._clock()

    def update(self, progress: Progress) -> None:
        """Record the progress of the running cell."""
        self.progress = progress

    def finish(self, outcome: Outcome, warnings: Sequence[str] = ()) -> Finished:
        """Record that the running cell has ended."""
        cell = self.running
        assert cell is not None
        done = Finished(cell, outcome, self._clock() - self._cell_started, tuple(warnings))
        if outcome.failure is None:
            self._watch.add(cell.kind, self.plan.epochs_of(cell), done.seconds)
        if isinstance(cell, Run):
            self._outcomes[cell] = outcome
        self.finished.append(done)
        self._remaining.remove(cell)
        self.running = self.progress = None
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
        cells = [(cell.kind, self.plan.epochs_of(cell)) for cell in self._remaining]
        running = self._clock() - self._cell_started if self.running is not None else 0.0
        return self._watch.left(cells, running)

    @property
    def table(self) -> Table:
        """The table of the results so far."""
        plan = self.plan
        return Table(plan.methods, plan.regions, plan.seeds, self.outcome, plan.baseline)

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
