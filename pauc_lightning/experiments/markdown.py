"""Tables of a comparison as Markdown."""

from __future__ import annotations

from pauc_lightning.experiments.table import Entry, Table

_RANKED = {"best": "**{}**", "second": "<u>{}</u>", "": "{}"}


def as_markdown(table: Table) -> str:
    """Write a table, below it the legend and the footnotes."""
    rows = [table.header(), *([_cell(entry) for entry in row] for row in table.rows())]
    lines = ["| " + " | ".join(cells) + " |" for cells in rows]
    lines.insert(1, "|" + "---|" * len(rows[0]))
    legend, footnotes = " ".join([*table.legend(), *_ranks(table)]), table.footnotes()
    return "\n".join([*lines, *(["", legend] if legend else []), *(["", *footnotes] if footnotes else [])])


def _cell(entry: Entry) -> str:
    return _RANKED[entry.rank].format(entry.text.replace("|", r"\|"))


def _ranks(table: Table) -> list[str]:
    is_any = any(rank for region in table.regions for rank in table.ranks(region).values())
    return ["**Best** and <u>second best</u> of each column are marked."] if is_any else []
