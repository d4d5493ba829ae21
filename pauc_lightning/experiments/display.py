"""Shows a comparison while it runs: a live table on a terminal, a line per finished cell elsewhere."""

from __future__ import annotations

from collections.abc import Collection
from types import TracebackType

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table as RichTable
from rich.text import Text

from pauc_lightning.durations import in_words
from pauc_lightning.experiments.board import Board, Finished, Running
from pauc_lightning.experiments.cells import Cell, Run, Task
from pauc_lightning.experiments.table import COLLAPSED, FAILED, Table

_PER_SECOND = 4
_BAR_WIDTH = 24
_MOST_PROBLEMS = 5
_MOST_RUNNING = 8
_MOST_TABLES = 3
_STYLES = {"best": "bold", "second": "underline", "": ""}


class Display:
    """The base class of the displays.

    Args:
        board: The state to show.
    """

    def __init__(self, board: Board) -> None:
        self.board = board

    def __enter__(self) -> Display:
        """Start the display."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop showing."""

    def started(self) -> None:
        """Show that a training has started."""

    def finished(self, done: Finished) -> None:
        """Show a cell that has ended."""


class LineDisplay(Display):
    """Prints one line for each cell that has ended, for log files and pipes."""

    def __enter__(self) -> Display:
        """Say how many runs were finished before."""
        board = self.board
        if board.n_earlier:
            print(f"{board.n_earlier} of {len(board.plan.runs)} runs are finished already.", flush=True)
        return self

    def finished(self, done: Finished) -> None:
        """Print the line and the cell's warnings."""
        board = self.board
        took = in_words(done.seconds) + (f"; {board.left}" if board.left is not None else "")
        print(
            f"[{len(board.finished)}/{board.n_cells}] {done.cell.title}: {done.summary} ({took})",
            *(f"  warning: {warning}" for warning in done.warnings),
            sep="\n",
            flush=True,
        )


class LiveDisplay(Display):
    """Draws the table so far, the running cells and the time left, and redraws them in place.

    Args:
        board: The state to show.
        console: The terminal. It must have its own stream, because the runs' output is captured.
    """

    def __init__(self, board: Board, console: Console) -> None:
        super().__init__(board)
        self._live = Live(
            _Frame(board),
            console=console,
            refresh_per_second=_PER_SECOND,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )

    def __enter__(self) -> Display:
        """Draw, and keep drawing from a thread of its own."""
        self._live.start(refresh=True)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Remove the drawing; what follows is printed in its place."""
        self._live.stop()

    def started(self) -> None:
        """Show it at once: a short training may be over before the next regular refresh."""
        self._live.refresh()

    def finished(self, done: Finished) -> None:
        """Print the cell's warnings above the drawing."""
        for warning in done.warnings:
            self._live.console.print(Text(f"{done.cell.title} warns: {warning}", style="yellow"))
        self._live.refresh()


def display_for(board: Board, console: Console) -> Display:
    """Choose the display: live on a terminal, lines elsewhere."""
    is_live = console.is_terminal and not console.is_dumb_terminal
    return LiveDisplay(board, console) if is_live else LineDisplay(board)


def rich_table(table: Table, explained: Collection[str] = ()) -> RenderableType:
    """Lay out a finished table for a terminal, with its legend and footnotes.

    Args:
        table: The table.
        explained: Sentences of the legend that stand below an earlier table.
    """
    grid = RichTable(box=None, pad_edge=False, header_style="bold")
    for number, title in enumerate(table.header()):
        grid.add_column(title, justify="left" if number == 0 else "right", overflow="fold")
    for row in table.rows():
        grid.add_row(*(Text(entry.text, style=_STYLES[entry.rank]) for entry in row))
    legend = " ".join(sentence for sentence in terminal_legend(table) if sentence not in explained)
    below = [*([Text(legend, style="dim")] if legend else []), *map(Text, table.footnotes())]
    return Group(grid, *below)


def terminal_legend(table: Table) -> list[str]:
    """The sentences of the legend."""
    ranks = ["Best values are bold, second best underlined."] if table.is_ranked else []
    return [*table.legend(), *ranks]


class _Frame:
    """A drawing of the board's current state."""

    def __init__(self, board: Board) -> None:
        self._board = board

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        tables = [part for task in self._tasks() for part in (self._table(task), Text())]
        yield Group(self._header(), Text(), *tables, *self._now(), *self._problems())

    def _header(self) -> Text:
        board = self._board
        parts = [f"{len(board.finished)} of {board.n_cells} trainings done"]
        if board.n_earlier:
            parts.append(f"{board.n_earlier} runs from earlier")
        if board.n_failed:
            parts.append(f"{board.n_failed} failed")
        if board.n_collapsed:
            parts.append(f"{board.n_collapsed} collapsed")
        parts.append(f"{in_words(board.elapsed)} so far")
        if board.left is not None:
            parts.append(str(board.left))
        return Text(" · ".join(parts), style="bold")

    def _tasks(self) -> list[Task]:
        """The tasks to show: all if they are few, otherwise those of the running cells first."""
        running = [cell.task for cell in list(self._board.running)]
        return list(dict.fromkeys([*running, *self._board.plan.tasks]))[:_MOST_TABLES]

    def _table(self, task: Task) -> RichTable:
        """The partial AUC on the test part; a dot stands for runs that are still to come."""
        board = self._board
        table = board.table(task)
        grid = RichTable(box=None, pad_edge=False, header_style="dim")
        grid.add_column(task.title or "test part")
        for region in board.plan.regions:
            grid.add_column(region.title, justify="right", overflow="fold")
        for method in table.methods:
            cells = (table.result(method, region) or "·" for region in board.plan.regions)
            grid.add_row(method, *map(Text, cells))
        return grid

    def _now(self) -> list[RenderableType]:
        """The running cells, and below each its progress."""
        running = list(self._board.running.items())
        if not running:
            what = "collecting the results ..." if self._board.left is None else "starting ..."
            return [Text(what, style="dim")]
        hidden = len(running) - _MOST_RUNNING
        more = [Text(f"  and {hidden} more", style="dim")] if hidden > 0 else []
        return [*(self._cell(*item) for item in running[:_MOST_RUNNING]), *more]

    def _cell(self, cell: Cell, running: Running) -> RenderableType:
        progress = running.progress
        if progress is None:
            return Group(Text(f"▸ {cell.title}"), Text("  starting ...", style="dim"))
        parts: list[RenderableType] = [Text(" ")]
        if progress.fraction >= 1 and isinstance(cell, Run):
            parts.append(Text("testing ...", style="dim"))
        else:
            parts.append(ProgressBar(total=1.0, completed=progress.fraction, width=_BAR_WIDTH))
            parts.append(Text(f"epoch {progress.epoch} of {progress.epochs}"))
        if progress.value is not None:
            parts.append(Text(f"validation pAUC {progress.value:.4f}"))
        line = RichTable.grid(padding=(0, 1))
        line.add_row(*parts)
        return Group(Text(f"▸ {cell.title}"), line)

    def _problems(self) -> list[Text]:
        found = [
            Text(
                f"{FAILED if done.outcome.failure else COLLAPSED} {done.cell.title}: {done.summary}",
                style="red",
            )
            for done in self._board.finished
            if done.outcome.failure is not None or done.outcome.collapse is not None
        ]
        hidden = len(found) - _MOST_PROBLEMS
        more = [Text(f"  and {hidden} more before these", style="dim")] if hidden > 0 else []
        return [*more, *found[-_MOST_PROBLEMS:]]
