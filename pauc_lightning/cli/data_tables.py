"""The tables of ``pauc data``: parts and classes of a data set, beside the paper's numbers."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from pauc_lightning.data.base import ClassCounts, LongTailDataModule
from pauc_lightning.data.image_files import shown
from pauc_lightning.data.published import Published

_WIDTH = 100  # columns if the output is not a terminal
_FEW_CLASSES = 20
_AT_EACH_END = 3  # classes of an excerpt besides the positive ones


def print_tables(data: LongTailDataModule, all_classes: bool = False) -> None:
    """Print the sizes of parts and classes, beside the paper's if it uses these data, and why they differ.

    Args:
        data: The data set.
        all_classes: Whether to list every class; by default, more than 20 are abridged.
    """
    is_terminal = sys.stdout.isatty()
    # In a notebook, rich would show every line as a block of HTML, which cannot be redirected either.
    console = Console(
        highlight=False,
        width=None if is_terminal else _WIDTH,
        force_terminal=is_terminal,
        force_jupyter=False,
    )
    for i, block in enumerate(_blocks(data, all_classes)):
        if i:
            console.print()
        console.print(block)


def describe(data: LongTailDataModule, all_classes: bool = False) -> str:
    """The output of :func:`print_tables` as plain text."""
    console = Console(highlight=False, width=_WIDTH, color_system=None)
    with console.capture() as capture:
        for block in _blocks(data, all_classes):
            console.print(block)
    return capture.get()


def _blocks(data: LongTailDataModule, all_classes: bool) -> Iterator[RenderableType]:
    published: Published | None = getattr(data, "published", None)
    yield _title(data, published)
    yield _parts(data, published)
    yield from _classes(data, all_classes)
    yield from (Text(note) for note in data.notes())
    if published is not None:
        yield Text(_differences(data, published))


def _title(data: LongTailDataModule, published: Published | None) -> Text:
    names = _class_names(data)
    positives = ", ".join(f"{names[i]} ({i})" if names else str(i) for i in data.positive_ids)
    title = type(data).__name__ + (f" = {published.name} of the paper" if published else "")
    return Text(f"{title}; positive: {positives}", style="bold")


def _class_names(data: LongTailDataModule) -> list[str]:
    return [shown(name) for name in data.source.class_names]


def _table(*columns: str, left: int = 1) -> Table:
    """A table without lines; the first ``left`` columns hold text, the others numbers."""
    table = Table(box=None, header_style="bold", padding=(0, 2, 0, 0), pad_edge=False)
    for i, name in enumerate(columns):
        table.add_column(
            name, justify="left" if i < left else "right", overflow="fold" if i < left else "ellipsis"
        )
    return table


def _parts(data: LongTailDataModule, published: Published | None) -> Table:
    paper = ("paper pos.", "paper neg.") if published is not None else ()
    table = _table("part", "positives", "negatives", "total", *paper)
    for name, (n_pos, n_neg) in _part_counts(data).items():
        numbers = [n_pos, n_neg, n_pos + n_neg]
        if published is not None and published.counted == name:
            numbers += [published.n_pos, published.n_neg]
        table.add_row(name, *(f"{number:,}" for number in numbers))
    return table


def _part_counts(data: LongTailDataModule) -> dict[str, tuple[int, int]]:
    """Positives and negatives of each part, and of all parts."""
    counts = {}
    for name, part in data.split.items():
        n_pos = int(data.targets[part].sum())
        counts[name] = (n_pos, len(part) - n_pos)
    counts["all"] = (sum(n for n, _ in counts.values()), sum(n for _, n in counts.values()))
    return counts


def _classes(data: LongTailDataModule, all_classes: bool) -> Iterator[RenderableType]:
    counts, names = data.class_counts, _class_names(data)
    table = _table("", "class", *(["name"] if names else []), "train", "val", "test", left=3 if names else 2)
    is_everything = all_classes or len(counts) <= _FEW_CLASSES
    n_listed, is_gap = 0, False
    for i, row in enumerate(counts):
        if is_everything or row.is_positive or min(i, len(counts) - 1 - i) < _AT_EACH_END:
            table.add_row(*_class_row(row, names))
            n_listed, is_gap = n_listed + 1, False
        elif not is_gap:
            table.add_row("", "...")
            is_gap = True
    yield table
    if n_listed < len(counts):
        yield Text(f"{n_listed} of {len(counts)} classes; --all_classes lists all", style="dim")


def _class_row(row: ClassCounts, names: list[str]) -> list[str | Text]:
    name = [Text(names[row.label])] if names else []  # brackets in a name are not rich's markup
    numbers = [f"{number:,}" for number in (row.train, row.val, row.test)]
    return ["+" if row.is_positive else "", str(row.label), *name, *numbers]


def _differences(data: LongTailDataModule, published: Published) -> str:
    n_pos, n_neg = _part_counts(data)[published.counted]
    if (n_pos, n_neg) == (published.n_pos, published.n_neg):
        verdict = "The counts are the paper's."
    else:
        positives, negatives = n_pos - published.n_pos, n_neg - published.n_neg
        verdict = f"Difference from the paper: {positives:+,} positives, {negatives:+,} negatives."
    return f"{verdict} {published.remark}"
