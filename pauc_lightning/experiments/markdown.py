"""Tables of a comparison as Markdown."""

from __future__ import annotations

from collections.abc import Collection

from pauc_lightning.experiments.table import Entry, Table

_RANKED = {"best": "**{}**", "second": "<u>{}</u>", "": "{}"}


def as_markdown(table: Table, explained: Collection[str] = ()) -> str:
    """Write a table, below it the legend and the footnotes.

    Args:
        table: The table.
        explained: Sentences of the legend that stand below an earlier table.
    """
    rows = [table.header(), *([_cell(entry) for entry in row] for row in table.rows())]
    lines = ["| " + " | ".join(cells) + " |" for cells in rows]
    lines.insert(1, "|" + "---|" * len(rows[0]))
    legend = " ".join(sentence for sentence in markdown_legend(table) if sentence not in explained)
    footnotes = table.footnotes()
    return "\n".join([*lines, *(["", legend] if legend else []), *(["", *footnotes] if footnotes else [])])


def _cell(entry: Entry) -> str:
    return _RANKED[entry.rank].format(entry.text.replace("|", r"\|"))


def markdown_legend(table: Table) -> list[str]:
    """The sentences of the legend."""
    ranks = ["**Best** and <u>second best</u> of each column are marked."] if table.is_ranked else []
    return [*table.legend(), *ranks]
