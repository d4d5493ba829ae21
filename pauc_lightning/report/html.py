"""HTML that is escaped by construction: every text goes through :func:`element`."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import TypeAlias

VOID = frozenset({"br", "hr", "img", "meta"})
"""Elements without an end tag."""


class Html(str):
    """Text that is HTML already. Any other string is escaped before it becomes part of a page."""

    __slots__ = ()


Child: TypeAlias = "str | Iterable[Child] | None"
Attribute: TypeAlias = str | int | float | bool | None


def element(name: str, /, *children: Child, **attributes: Attribute) -> Html:
    """Write an element.

    Args:
        name: The tag's name.
        children: Texts, which are escaped, and other elements; None is left out.
        attributes: Attributes. A trailing underscore is removed (``class_``), others become dashes. True writes the
            name only, None and False nothing.

    Example:
        >>> element("p", "a < b, ", element("b", "bold"), class_="note", data_n=2, hidden=False)
        '<p class="note" data-n="2">a &lt; b, <b>bold</b></p>'
    """
    words = [name, *(word for pair in attributes.items() for word in _attribute(*pair))]
    start = f"<{' '.join(words)}>"
    return Html(start if name in VOID else f"{start}{joined(children)}</{name}>")


def joined(children: Child) -> Html:
    """Write children one after another, without an element around them."""
    if children is None:
        return Html("")
    if isinstance(children, str):
        return children if isinstance(children, Html) else Html(escape(children))
    return Html("".join(map(joined, children)))


def _attribute(name: str, value: Attribute) -> Iterable[str]:
    written = name.rstrip("_").replace("_", "-")
    if value is True:
        yield written
    elif value is not None and value is not False:
        yield f'{written}="{escape(str(value))}"'
