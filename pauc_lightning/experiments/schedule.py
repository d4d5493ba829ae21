"""The order in which the cells of a comparison are trained."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pauc_lightning.experiments.cells import Cell, Run, WarmUp


def common_warm_up(cell: Cell) -> WarmUp | None:
    """The warm-up that a cell waits for if every run starts from one."""
    return cell.warm_up if isinstance(cell, Run) else None


class Schedule:
    """Hands out cells, each run only after its warm-up has been trained.

    Args:
        missing: The cells to train, in the order of preference. A run whose warm-up is not among them is ready.
        warm_up_of: Returns the warm-up that a cell waits for; None if it waits for none.

    Example:
        >>> from pauc_lightning.region import Region
        >>> first, second = WarmUp(0), WarmUp(1)
        >>> run = Run("ce", Region(), 0)
        >>> schedule = Schedule([first, run, second])
        >>> schedule.next() == first, schedule.next() == second, schedule.next()
        (True, True, None)
        >>> schedule.trained(first)
        >>> schedule.next() == run
        True
    """

    def __init__(
        self, missing: Sequence[Cell], warm_up_of: Callable[[Cell], WarmUp | None] = common_warm_up
    ) -> None:
        self._warm_up_of = warm_up_of
        self._waiting = list(missing)
        self._pending = {cell for cell in missing if isinstance(cell, WarmUp)}

    def next(self) -> Cell | None:
        """Hand out the next cell that is ready; None if none is."""
        for cell in self._waiting:
            if self._warm_up_of(cell) not in self._pending:
                self._waiting.remove(cell)
                return cell
        return None

    def trained(self, cell: Cell) -> None:
        """Note that a cell has been trained: the runs that waited for it are ready."""
        self._pending.discard(cell)

    def failed(self, cell: Cell) -> list[Run]:
        """Note that a cell has failed; return the runs that cannot be trained, and hand them out no more."""
        if not isinstance(cell, WarmUp):
            return []
        lost = [run for run in self._waiting if isinstance(run, Run) and self._warm_up_of(run) == cell]
        self._waiting = [other for other in self._waiting if other not in lost]
        return lost
