"""The building blocks of the page: sections, figures, tables, and notes about missing parts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pauc_lightning.report.html import Child, Html, element
from pauc_lightning.report.subject import Missing


def section(title: str, *children: Child, id: str, level: int = 2) -> Html:
    """A section with its heading."""
    return element("section", element(f"h{level}", title), children, id=id)


def figure(svg: Html, title: str, caption: Child = None, legend: Sequence[Html] = ()) -> Html:
    """A chart with its title above, its legend and its explanation below."""
    return element(
        "figure",
        element("p", title, class_="title"),
        svg,
        element("p", legend, class_="legends") if legend else None,
        element("figcaption", caption) if caption else None,
    )


def figures(*children: Html | None) -> Html:
    """Charts side by side, as many as fit."""
    return element("div", [child for child in children if child is not None], class_="figures")


def table(headers: Sequence[str], rows: Iterable[Sequence[Child]], caption: str, class_: str = "") -> Html:
    """A table whose first column names the rows.

    Args:
        headers: The names of the columns. In a table of the class ``stacked`` they are repeated beside the cells where
            the page is too narrow for columns.
        rows: The cells.
        caption: What it shows.
        class_: Classes of the stylesheet.
    """
    head = element("tr", [element("th", header, scope="col") for header in headers])
    body = [
        element(
            "tr",
            element("th", first, scope="row"),
            [element("td", cell, data_column=name) for cell, name in zip(others, headers[1:], strict=True)],
        )
        for first, *others in rows
    ]
    return element(
        "div",
        element(
            "table",
            element("caption", caption),
            element("thead", head),
            element("tbody", body),
            class_=class_ or None,
        ),
        class_="scroll",
    )


def key(kind: str, name: str) -> Html:
    """An entry of a legend: a small sign in the look of a class of the stylesheet, and its name."""
    return element("span", element("i", class_=f"key {kind}", aria_hidden="true"), name, class_="legend")


def beside(*children: Child) -> Html:
    """Text or a table in the place of a chart."""
    return element("div", children, class_="beside")


def note(*children: Child) -> Html:
    """A remark that a reader should not miss."""
    return element("p", children, class_="note")


def absent(missing: Missing) -> Html:
    """Say why a part is not there, and what to type to make it."""
    remedy = (" It is made by ", element("code", missing.command), ".") if missing.command else ()
    return note(missing.sentence, remedy)


def command(line: str) -> Html:
    """A command to type."""
    return element("pre", element("code", line), class_="command")
