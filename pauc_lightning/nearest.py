"""Suggestions for misspelled names."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def nearest(name: str, valid: Iterable[str], prefix: str = "") -> str:
    """`` Did you mean ...?`` with the most similar valid name; the empty string if none is similar.

    Example:
        >>> nearest("comapre", ["compare", "fit"])
        ' Did you mean `compare`?'
    """
    options = {option.lower(): option for option in valid}
    close = difflib.get_close_matches(name.lower(), list(options), n=1, cutoff=0.5)
    return f" Did you mean `{prefix}{options[close[0]]}`?" if close else ""
