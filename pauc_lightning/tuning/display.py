"""Shows a search while it runs: a live table on a terminal, a line per finished trial elsewhere."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from pauc_lightning.durations import in_words
from pauc_lightning.experiments.live import Progress
from pauc_lightning.tuning.study import Search, Watcher
from pauc_lightning.tuning.trial import Trial

_PER_SECOND = 4
_BAR_WIDTH = 24


class LineWatcher(Watcher):
    """Prints one line for each trial that has ended, for log files and pipes."""

    _search: Search | None = None

    def notes(self, text: str) -> None:
        """Print it."""
        print(text, flush=True)

    def begins(self, search: Search) -> None:
        """Say how many trials were finished before."""
        self._search = search
        if search.n_earlier:
            print(f"{search.n_earlier} trials are finished already.", flush=True)

    def ends(self, title: str, method: str | None = None, trial: Trial | None = None) -> None:
        """Print the line."""
        if trial is None or method is None or self._search is None:
            print(f"{title}: done", flush=True)
        elif trial.state != "running":
            lane = next(lane for lane in self._search.lanes if lane.method == method)
            best = lane.best
            so_far = f"; best {best.value:.4f} in trial {best.number}" if best is not None else ""
            left = time_left(self._search)
            print(
                f"[{_counted(self._search)}] {method}, trial {trial.number}: {summary(trial)}{so_far} "
                f"({in_words(trial.seconds)}{f'; {left}' if left else ''})",
                flush=True,
            )


class LiveWatcher(Watcher):
    """Draws the table so far, the running trainings and the time left, and redraws them in place.

    Args:
        console: The terminal. It must have its own stream, because the output of trainings is captured.
    """

    def __init__(self, console: Console) -> None:
        self.search: Search | None = None
        self.running: dict[str, Progress | None] = {}
        self._live = Live(
            _Frame(self),
            console=console,
            refresh_per_second=_PER_SECOND,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )

    @contextlib.contextmanager
    def shown(self) -> Iterator[None]:
        """Within the block, draw from a thread of its own."""
        self._live.start(refresh=True)
        try:
            yield
        finally:
            self._live.stop()

    def notes(self, text: str) -> None:
        """Print it above the table."""
        self._live.console.print(Text(text))

    def begins(self, search: Search) -> None:
        """Draw the table from now on."""
        self.search = search

    def starts(self, title: str) -> None:
        """Add a training."""
        self.running[title] = None

    def progresses(self, title: str, progress: Progress) -> None:
        """Move its bar."""
        self.running[title] = progress

    def ends(self, title: str, method: str | None = None, trial: Trial | None = None) -> None:
        """Remove a training."""
        self.running.pop(title, None)
        self._live.refresh()


@contextlib.contextmanager
def watching(console: Console) -> Iterator[Watcher]:
    """Choose the display: live on a terminal, lines elsewhere."""
    if not console.is_terminal or console.is_dumb_terminal:
        yield LineWatcher()
        return
    watcher = LiveWatcher(console)
    with watcher.shown():
        yield watcher


def summary(trial: Trial) -> str:
    """The outcome of a trial in a few words."""
    if trial.state == "failed":
        return f"failed: {trial.failure}"
    if trial.state == "pruned":
        run = trial.runs[-1]
        return f"pruned after validation {run.pruned_at} of seed {run.seed} at {run.value:.4f}"
    return f"{trial.value:.4f}{', collapsed' if trial.state == 'collapsed' else ''}"


def time_left(search: Search) -> str:
    """The estimated time of the remaining trials in words; empty if nothing is known or left."""
    seconds = search.request.seconds
    until = None if seconds is None else max(0.0, seconds - search.elapsed)
    if search.request.trials is None:
        return f"at most {in_words(until)} left" if until else ""
    remaining = {lane.method: search.request.trials - len(lane.ended) for lane in search.lanes}
    if not any(count > 0 for count in remaining.values()):
        return ""
    unknown = [lane for lane in search.lanes if not lane.ended and remaining[lane.method] > 0]
    seconds_left = (max(0, remaining[lane.method]) * lane.expected_seconds for lane in search.lanes)
    expected = sum(seconds_left) / search.slots
    if until is not None and until < expected:
        return f"at most {in_words(until)} left"
    if unknown:
        return f"at least {in_words(expected)} left" if expected > 0 else "estimating the time left"
    return f"about {in_words(expected)} left"


def _counted(search: Search) -> str:
    done = sum(len(lane.ended) for lane in search.lanes)
    trials = search.request.trials
    return str(done) if trials is None else f"{done}/{trials * len(search.lanes)}"


class _Frame:
    """A drawing of the search's current state."""

    def __init__(self, watcher: LiveWatcher) -> None:
        self._watcher = watcher

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        search = self._watcher.search
        above: list[RenderableType] = (
            [] if search is None else [self._header(search), Text(), self._table(search), Text()]
        )
        running = list(self._watcher.running.items())
        below = [self._running(title, progress) for title, progress in running]
        yield Group(*above, *(below or [Text("starting ...", style="dim")]))

    def _header(self, search: Search) -> Text:
        parts = [f"{_counted(search)} trials done"]
        if search.n_earlier:
            parts.append(f"{search.n_earlier} from earlier")
        parts.append(f"{in_words(search.elapsed)} so far")
        left = time_left(search)
        return Text(" · ".join([*parts, left] if left else parts), style="bold")

    def _table(self, search: Search) -> Table:
        grid = Table(box=None, pad_edge=False, header_style="dim")
        for title in ("validation part", "trials", "pruned", "failed", "as configured", "best"):
            grid.add_column(title, justify="left" if title.startswith("val") else "right")
        for lane in search.lanes:
            ended, best = lane.ended, lane.best
            default = next((trial for trial in ended if trial.number == 0), None)
            states = [trial.state for trial in ended]
            grid.add_row(
                lane.method,
                str(len(ended)),
                str(states.count("pruned")),
                str(states.count("failed") + states.count("collapsed")),
                "·"
                if default is None
                else default.state
                if default.value is None
                else f"{default.value:.4f}",
                "·" if best is None else f"{best.value:.4f}",
            )
        return grid

    def _running(self, title: str, progress: Progress | None) -> RenderableType:
        line = Table.grid(padding=(0, 1))
        if progress is None:
            line.add_row(Text(f"▸ {title}"), Text("starting ...", style="dim"))
            return line
        parts: list[RenderableType] = [Text(f"▸ {title}")]
        parts.append(ProgressBar(total=1.0, completed=progress.fraction, width=_BAR_WIDTH))
        parts.append(Text(f"epoch {progress.epoch} of {progress.epochs}"))
        if progress.value is not None:
            parts.append(Text(f"validation pAUC {progress.value:.4f}"))
        line.add_row(*parts)
        return line
