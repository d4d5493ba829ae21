"""A progress bar beside Lightning's, for work within a training step."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sized
from typing import TypeVar

from lightning.pytorch import Trainer
from lightning.pytorch.callbacks import RichProgressBar, TQDMProgressBar

Item = TypeVar("Item")


def shown_progress(trainer: Trainer, items: Iterable[Item], description: str) -> Iterator[Item]:
    """Yield the items and show how many are done, in the style of the trainer's progress bar.

    Nothing is shown if the trainer has no progress bar, if it is disabled, or on processes other than the first.

    Args:
        trainer: The trainer, fitting.
        items: The items.
        description: The text beside the bar.
    """
    bar = trainer.progress_bar_callback
    total = len(items) if isinstance(items, Sized) else None
    if isinstance(bar, RichProgressBar) and bar.is_enabled and bar.progress is not None:
        return _in_rich(bar, items, description, total)
    if isinstance(bar, TQDMProgressBar) and bar.is_enabled:
        from tqdm import tqdm

        return iter(tqdm(items, desc=description, total=total, leave=False, position=1))
    return iter(items)


def _in_rich(
    bar: RichProgressBar, items: Iterable[Item], description: str, total: int | None
) -> Iterator[Item]:
    """Add a line to the bar's display; a second display at the same time is not possible."""
    display = bar.progress
    assert display is not None
    task = display.add_task(description, total=float("inf") if total is None else total)
    try:
        for item in items:
            yield item
            display.update(task, advance=1)
            bar.refresh()
    finally:
        display.remove_task(task)
        bar.refresh()
