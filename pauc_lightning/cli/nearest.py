"""What was probably meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def nearest(name: str, valid: Iterable[str], prefix: str = "") -> str:
    """A question that names the most similar valid name, after a space; nothing if none is similar.

    Example:
        >>> nearest("comapre", ["compare", "fit"])
        ' Did you mean `compare`?'
    """
    options = {option.lower(): option for option in valid}
    close = difflib.get_close_matches(name.lower(), list(options), n=1, cutoff=0.5)
    return f" Did you mean `{prefix}{options[close[0]]}`?" if close else ""
