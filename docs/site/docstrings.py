"""Translates the Sphinx markup of the docstrings to Markdown for the site."""

from __future__ import annotations

import re
from typing import Any

from griffe import Extension, Object

TRANSLATIONS = (
    (r":(?:class|func|meth|attr|mod|data|obj):`~?(?:[\w.]*\.)?(\w+)`", r"`\1`"),
    (r"`([^`<]+?)\s*<(https?://[^>]+)>`__?", r"[\1](\2)"),
    (r":math:`([^`]+)`", r"$\1$"),
    (r"^\.\. math:: *((?:.+\n?)+)", r"$$\n\1$$\n"),
    (r"^Example:$", "Examples:"),  # the section that the parser of Google docstrings knows
    (r"^={3,}[= ]+\n(?:.+\n?)*", lambda table: "```\n" + table[0].rstrip("\n") + "\n```\n"),
)
"""Patterns and their replacements; docstrings come without their indentation."""


class SiteDocstrings(Extension):
    """Translates every docstring before it is parsed."""

    def on_instance(self, *, obj: Object, **_: Any) -> None:
        """Apply all translations."""
        if obj.docstring is not None:
            for pattern, replacement in TRANSLATIONS:
                obj.docstring.value = re.sub(pattern, replacement, obj.docstring.value, flags=re.MULTILINE)
