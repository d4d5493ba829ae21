"""Help that a person can read: lists of subclasses without torch's hundreds."""

from __future__ import annotations

import re
import textwrap

_SUBCLASSES = re.compile(r"^( +)([^\n]*?)known\s+subclasses:\s+(.*?)\)", flags=re.DOTALL | re.MULTILINE)
_MANY = 15


def shorten(text: str) -> str:
    """Leave only this project's backbones in long lists of known subclasses.

    Example:
        >>> names = ", ".join(f"torch.nn.Layer{i}" for i in range(20))
        >>> print(shorten(f"    (known subclasses: {names}, pauc_lightning.models.SmallCNN)"))
            (known subclasses: pauc_lightning.models.SmallCNN, or the import
            path of a class of yours)
    """

    def replace(match: re.Match[str]) -> str:
        indent, before, names = match.groups()
        classes = re.sub(r"\s", "", names).split(",")
        ours = [name for name in classes if name.startswith("pauc_lightning.models.")]
        if len(classes) <= _MANY or not ours:
            return match.group(0)
        sentence = f"{before}known subclasses: {', '.join(ours)}, or the import path of a class of yours)"
        width = max(70, len(indent) + 56)
        return textwrap.fill(
            sentence, width, initial_indent=indent, subsequent_indent=indent, break_long_words=False
        )

    return _SUBCLASSES.sub(replace, text)
