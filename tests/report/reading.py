"""Reads a report as a browser would: its elements, its text, and what it refers to."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {"br", "hr", "img", "meta", "link", "input"}


@dataclass
class Element:
    """An element of a page."""

    name: str
    attributes: dict[str, str]
    children: list[Element | str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """All text inside, with single spaces."""
        parts = (child if isinstance(child, str) else child.text for child in self.children)
        return " ".join("".join(parts).split())

    def all(self, name: str = "", class_: str = "") -> list[Element]:
        """All elements inside of a name and a class, in the order of the page."""
        found = []
        for child in self.children:
            if isinstance(child, Element):
                is_named = not name or child.name == name
                if is_named and (not class_ or class_ in child.attributes.get("class", "").split()):
                    found.append(child)
                found += child.all(name, class_)
        return found

    def one(self, name: str = "", class_: str = "", id: str = "") -> Element:
        """The only element inside of a name, a class and an id."""
        found = [one for one in self.all(name, class_) if not id or one.attributes.get("id") == id]
        assert len(found) == 1, f"{len(found)} elements {name}.{class_}#{id}"
        return found[0]

    def rows(self) -> list[list[str]]:
        """The cells of a table, the header first."""
        return [[cell.text for cell in row.children if isinstance(cell, Element)] for row in self.all("tr")]


class _Builder(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.root = Element("", {})
        self.open = [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)), f"an attribute is given twice: {tag} {names}"
        element = Element(tag, {name: value or "" for name, value in attrs})
        self.open[-1].children.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_endtag(self, tag: str) -> None:
        assert self.open[-1].name == tag, f"</{tag}> ends <{self.open[-1].name}>"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        self.open[-1].children.append(data)


def parse(page: str) -> Element:
    """Parse a page; every element must be closed in the right order."""
    builder = _Builder()
    builder.feed(page)
    builder.close()
    assert len(builder.open) == 1, f"<{builder.open[-1].name}> is not closed"
    return builder.root
