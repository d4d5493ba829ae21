"""The parser's names of types, in a user's words."""

from __future__ import annotations

import re

REGIONS = "a list of regions, such as [{max_fpr: 0.3}, {max_fpr: 0.3, min_tpr: 0.7}]"
_TYPES = {
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "str": "text",
    "NoneType": "null",
    "list": "a list, such as [a, b]",
    "collections.abc.Sequence": "a list, such as [a, b]",
    "collections.abc.Iterable": "a list, such as [a, b]",
    "dict": "a mapping, such as {a: 1}",
}


def accepted(types: str) -> str:
    """The types of a message in words."""
    if "Region" in types:
        return f"{REGIONS}, or null"
    names = dict.fromkeys(literals(types))
    words = [f"one of {', '.join(names)}"] if names else []
    # "a number or null", whatever order the release of jsonargparse lists the members of a Union in
    classes = sorted(re.findall(r"<class '([\w.]+)'>", types), key="NoneType".__eq__)
    words += [_TYPES.get(name, f"a {name.rpartition('.')[2]}") for name in classes]
    if re.search(r"\b(list|tuple|Sequence|Iterable)\[", types):
        words.append(_TYPES["list"])
    return " or ".join(dict.fromkeys(words)) or types


def literals(types: str) -> list[str]:
    """The values of all ``Literal[...]``."""
    groups = re.findall(r"Literal\[(.*?)\]", types)
    return [name.strip("' ") for group in groups for name in group.split(",")]
