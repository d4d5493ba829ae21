"""What a comparison shows while it runs."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from pauc_lightning.experiments.board import Board
from pauc_lightning.experiments.cells import Cell, Run, WarmUp
from pauc_lightning.experiments.display import Display, LineDisplay, LiveDisplay, display_for
from pauc_lightning.experiments.live import Progress, observed_by, report
from pauc_lightning.experiments.outcome import Collapse, Outcome
from pauc_lightning.experiments.plan import Plan
from pauc_lightning.experiments.timing import Remaining, Stopwatch
from pauc_lightning.experiments.variant import Variant
from pauc_lightning.region import Region

REGION = Region(0.3)
CELLS: list[Cell] = [
    WarmUp(0),
    *(Run(method, REGION, seed) for seed in (0, 1) for method in ("ce", "pauci")),
]


class Clock:
    """A clock that the test sets."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def board(clock: Clock) -> Board:
    plan = Plan(
        configs=(),
        methods={"ce": Variant(), "pauci": Variant()},
        regions=(REGION,),
        seeds=(0, 1),
        warmup_epochs=4,
        epochs=10,
        baseline="ce",
        train_part=False,
        out=Path("out"),
        extra=(),
    )
    return Board(plan, CELLS, {}, clock=clock)


def train(board: Board, clock: Clock, cell: Cell, seconds: float, outcome: Outcome) -> None:
    board.start(cell)
    clock.now += seconds
    board.finish(cell, outcome)


def test_the_time_left_comes_from_finished_cells_of_the_same_kind(board: Board, clock: Clock) -> None:
    board.start(CELLS[0])
    assert str(board.left) == "estimating the time left"
    clock.now = 8
    board.finish(CELLS[0], Outcome())
    assert str(board.left) == "estimating the time left"  # no method has been trained yet
    train(board, clock, CELLS[1], 30, Outcome(0.5))
    assert str(board.left) == "at least 30 s left"  # ce with seed 1; nothing is known of pauci
    train(board, clock, CELLS[2], 50, Outcome(0.6))
    assert str(board.left) == "about 80 s left"
    board.start(CELLS[3])
    clock.now += 20
    assert str(board.left) == "about 60 s left"
    clock.now += 60  # slower than the first one: nothing is left of it, the next is still to come
    assert str(board.left) == "about 50 s left"
    board.finish(CELLS[3], Outcome(0.5))
    train(board, clock, CELLS[4], 50, Outcome(0.5))
    assert board.left is None
    assert board.elapsed == clock.now


def test_a_failed_cell_says_nothing_about_the_time_of_others(board: Board, clock: Clock) -> None:
    train(board, clock, CELLS[0], 8, Outcome())
    train(board, clock, CELLS[1], 1, Outcome(failure="the disk is full."))
    assert str(board.left) == "estimating the time left"
    assert board.n_failed == 1


def drawn(board: Board, width: int = 100) -> str:
    """The text of the live display, in the last frame."""
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, color_system=None, width=width)
    with LiveDisplay(board, console):
        pass
    return screen.getvalue().replace("\x1b[?25l", "")


def test_the_live_display_shows_what_runs_what_is_done_and_what_went_wrong(
    board: Board, clock: Clock
) -> None:
    assert "0 of 5 trainings done · 1 s so far · estimating the time left" in drawn(board)
    train(board, clock, CELLS[0], 8, Outcome())
    train(board, clock, CELLS[1], 30, Outcome(0.71234, Collapse(7, "all scores are 1")))
    train(board, clock, CELLS[2], 30, Outcome(failure="the disk is full."))
    board.start(CELLS[3])
    assert "starting ..." in drawn(board)
    with observed_by(lambda progress: board.update(CELLS[3], progress)):
        report(Progress(epoch=3, epochs=10, fraction=0.25, value=0.8125))
    frame = drawn(board)
    assert "3 of 5 trainings done · 1 failed · 1 collapsed · 68 s so far · at least 30 s left" in frame
    lines = [" ".join(line.split()) for line in frame.splitlines()]
    assert "ce 0.7123 (1 of 2 seeds) †" in lines
    assert "pauci failed ‡" in lines
    assert "▸ ce, OPAUC (FPR ≤ 0.3), seed 1" in lines
    assert any("epoch 3 of 10 validation pAUC 0.8125" in line for line in lines)
    assert "† ce, OPAUC (FPR ≤ 0.3), seed 0: 0.7123, collapsed by step 7" in lines
    assert "‡ pauci, OPAUC (FPR ≤ 0.3), seed 0: failed: the disk is full." in lines


def test_progress_is_reported_within_the_block_only() -> None:
    seen: list[Progress] = []
    with observed_by(seen.append):
        report(Progress(1, 2))
    report(Progress(2, 2))
    assert seen == [Progress(1, 2)]


def test_a_line_for_each_finished_cell_elsewhere(
    board: Board, clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    with LineDisplay(board) as display:
        for cell, outcome in zip(CELLS[:3], (Outcome(), Outcome(0.7), Outcome(failure="no.")), strict=True):
            board.start(cell)
            board.update(cell, Progress(1, 10))
            clock.now += 30
            display.finished(board.finish(cell, outcome, ["the moon is full"] if outcome.value else []))
    assert capsys.readouterr().out.splitlines() == [
        "[1/5] warm-up, seed 0: done (30 s; estimating the time left)",
        "[2/5] ce, OPAUC (FPR ≤ 0.3), seed 0: 0.7000 (30 s; at least 30 s left)",
        "  warning: the moon is full",
        "[3/5] pauci, OPAUC (FPR ≤ 0.3), seed 0: failed: no. (30 s; at least 30 s left)",
    ]


@pytest.mark.parametrize(
    ("is_terminal", "term", "kind"),
    [(True, "xterm", LiveDisplay), (True, "dumb", LineDisplay), (False, "xterm", LineDisplay)],
)
def test_the_display_fits_the_place(board: Board, is_terminal: bool, term: str, kind: type[Display]) -> None:
    console = Console(file=io.StringIO(), force_terminal=is_terminal, _environ={"TERM": term})
    assert type(display_for(board, console)) is kind


def test_several_cells_run_at_a_time(clock: Clock, board: Board) -> None:
    """Two slots: both cells are shown, and the time left is that of the busier slot."""
    cells: list[Cell] = [WarmUp(0), WarmUp(1), *CELLS[1:]]
    two = Board(board.plan, cells, {}, slots=2, clock=clock)
    for warm_up in cells[:2]:
        two.start(warm_up)
    two.update(cells[1], Progress(epoch=2, epochs=4, fraction=0.5))
    frame = drawn(two)
    assert "▸ warm-up, seed 0" in frame
    assert "▸ warm-up, seed 1" in frame
    assert "epoch 2 of 4" in frame
    clock.now += 8
    for warm_up in reversed(cells[:2]):  # in any order
        two.finish(warm_up, Outcome())
    for cell, seconds in ((cells[2], 10.0), (cells[3], 20.0)):
        two.start(cell)
        clock.now += seconds
        two.finish(cell, Outcome(0.5))
    # Left are ce (10 s) and pauci (20 s) with the other seed, side by side.
    assert str(two.left) == "about 20 s left"
    two.start(cells[4])
    two.start(cells[5])
    clock.now += 5
    assert str(two.left) == "about 15 s left"


def test_a_continued_cell_says_nothing_about_the_time_of_others(board: Board, clock: Clock) -> None:
    train(board, clock, CELLS[0], 8, Outcome())
    board.start(CELLS[1], is_continued=True)
    clock.now += 1
    board.finish(CELLS[1], Outcome(0.5))
    assert str(board.left) == "estimating the time left"


def test_a_run_waits_for_its_warm_up_in_the_estimate() -> None:
    watch = Stopwatch()
    watch.add("warm-up", 1, 10.0)
    watch.add("ce", 1, 5.0)
    cells = [Remaining("w", "warm-up", 1, running=4.0), Remaining("r", "ce", 1, after="w")]
    assert watch.left(cells, slots=2).seconds == 6.0 + 5.0
