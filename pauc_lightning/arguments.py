"""Checks of constructor arguments. Their errors name the argument, the value received and what is accepted."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from numbers import Integral, Real
from os import PathLike
from typing import Any

from pauc_lightning.errors import InputError


def check_number(
    name: str,
    value: Any,
    *,
    at_least: float | None = None,
    above: float | None = None,
    at_most: float | None = None,
    below: float | None = None,
    hint: str = "",
) -> None:
    """Raise :class:`InputError` unless the value is a finite number within the given bounds.

    Args:
        name: The argument, as the user wrote it.
        value: The value that the user gave.
        at_least: Smallest accepted value.
        above: Exclusive lower bound.
        at_most: Largest accepted value.
        below: Exclusive upper bound.
        hint: The remedy, added after a colon.

    Example:
        >>> check_number("kappa", 2, above=0)
        >>> check_number("kappa", float("nan"), above=0, hint="try 2")
        Traceback (most recent call last):
        pauc_lightning.errors.InputError: `kappa` must be a finite number above 0, got nan: try 2.
    """
    try:
        number = float(value) if isinstance(value, Real) and not isinstance(value, bool) else math.nan
    except OverflowError:  # an integer too large for a float
        number = math.inf
    if not (
        math.isfinite(number)
        and (at_least is None or number >= at_least)
        and (above is None or number > above)
        and (at_most is None or number <= at_most)
        and (below is None or number < below)
    ):
        bounds = _bounds(at_least, above, at_most, below)
        _refuse(name, f"a finite number{bounds}", value, percent_hint(value) or hint)


def percent_hint(value: object) -> str:
    """The remedy where a number was wanted and a percentage was given; empty for other values.

    Example:
        >>> percent_hint("5%"), percent_hint("0.05")
        ('for 5 % write 0.05', '')
    """
    found = re.search(r"(\d+(?:\.\d+)?) ?%", value) if isinstance(value, str) else None
    return f"for {found[1]} % write {float(found[1]) / 100:.15g}" if found else ""


def check_integer(
    name: str, value: Any, *, at_least: int, at_most: int | None = None, hint: str = ""
) -> None:
    """Raise :class:`InputError` unless the value is an integer within the bounds; the float 2.0 is refused as well.

    Example:
        >>> check_integer("width", 2.5, at_least=1)
        Traceback (most recent call last):
        pauc_lightning.errors.InputError: `width` must be a whole number, at least 1, got 2.5.
    """
    is_whole = isinstance(value, Integral) and not isinstance(value, bool)
    if not is_whole or value < at_least or (at_most is not None and value > at_most):
        bounds = f"at least {at_least}" if at_most is None else f"from {at_least} to {at_most}"
        _refuse(name, f"a whole number, {bounds}", value, hint)


def check_flag(name: str, value: Any) -> None:
    """Raise :class:`InputError` unless the value is a bool; the string ``"false"`` would count as true."""
    if not isinstance(value, bool):
        _refuse(name, "true or false", value, "")


def check_choice(name: str, value: Any, choices: Sequence[str]) -> None:
    """Raise :class:`InputError` unless the value is one of ``choices``."""
    if not isinstance(value, str) or value not in choices:
        _refuse(name, f"one of {', '.join(choices)}", value, "")


def check_path(name: str, value: Any) -> None:
    """Raise :class:`InputError` unless the value can name a file; the empty string would mean the current directory."""
    if not isinstance(value, (str, PathLike)) or not str(value).strip() or "\0" in str(value):
        _refuse(name, "the path of a file or folder", value, "")


def check_prior(prior: Any) -> None:
    """Raise :class:`InputError` unless the prior is None or strictly between 0 and 1."""
    if prior is not None:
        hint = "it is the fraction of positives in the training batches; leave it out to use each batch's own"
        check_number("prior", prior, above=0, below=1, hint=hint)


def _bounds(at_least: float | None, above: float | None, at_most: float | None, below: float | None) -> str:
    if (at_least is not None or above is not None) and (at_most is not None or below is not None):
        low = f"[{at_least:g}" if at_least is not None else f"({above:g}"
        high = f"{at_most:g}]" if at_most is not None else f"{below:g})"
        return f" in {low}, {high}"
    words = (("of at least", at_least), ("above", above), ("of at most", at_most), ("below", below))
    return "".join(f" {word} {bound:g}" for word, bound in words if bound is not None)


def _refuse(name: str, accepted: str, value: Any, hint: str) -> None:
    raise InputError(f"`{name}` must be {accepted}, got {value!r}{f': {hint}' if hint else ''}.")
