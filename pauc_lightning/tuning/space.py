"""Search spaces: which options of a method are varied, and in which ranges.

A space is a YAML file beside the method's config, ``configs/method/<method>.search.yaml``::

    model.learning_rate: {log: [0.001, 1.0], first: [0.1, 1.0]}
    model.omega: {linear: [0, 4]}
    model.unweighted_epochs: {integer: [3, 20]}
    model.weights: {choice: [closed_form, ascent]}

``first`` are values that are tried before anything is proposed, each with the other options as configured: a step size
whose default is far off needs them in a short search. Settings that belong together are a list under ``first`` itself,
tried in its order before those of single options::

    first:
      - {model.optimizer: SGD, model.learning_rate: 1.0}
      - {model.surrogate: sigmoid, model.learning_rate: 0.1}

An option of the data may be ``optional: true``, as not all data modules have it: it is left out where it has no effect.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

import yaml

from pauc_lightning.cli.configs import read_config
from pauc_lightning.config_files import SEARCH_SUFFIX, config_folders
from pauc_lightning.errors import InputError
from pauc_lightning.nearest import nearest
from pauc_lightning.tuning.data_options import check_is_known

Value: TypeAlias = bool | int | float | str | None
"""The value of an option."""

_FORMS = (
    "{log: [low, high]}, {linear: [low, high]}, {integer: [low, high]} or {choice: [a, b, ...]}, with "
    "`first: [a, ...]` for values to try first and `optional: true` for an option that not all data have"
)
_FIRST, _OPTIONAL = "first", "optional"
_KINDS = ("log", "linear", "integer", "choice")
_AS_TYPED = "write the option as on the command line, model.<option> or data.<option>."
_SET_BY_THE_SEARCH = {
    "model.class_path": "it is the method",
    "model.backbone": "all methods share the backbone; vary an option of it, such as model.backbone.dropout",
    "model.max_fpr": "it is given by --region",
    "model.min_tpr": "it is given by --region",
    "model.warmup_epochs": "it is given by --warmup_epochs",
    "model.init_weights": "trials start from the common warm-up",
    "data.class_path": "all trials have the same data",
    "data.seed": "it is given by --seeds",
}
_LARGEST = sys.float_info.max
"""Infinite numbers, and integers that are no floats, are larger."""
_DIGITS = 3
"""Significant digits of a proposed number: more cannot be told apart, and fewer can be read."""


@dataclass(frozen=True)
class Range:
    """Numbers from ``low`` to ``high``.

    Args:
        low: The smallest.
        high: The largest.
        is_log: Whether the logarithm is what matters, as for step sizes.
        is_integer: Whether the numbers are whole.
    """

    low: float
    high: float
    is_log: bool = False
    is_integer: bool = False

    def __contains__(self, value: object) -> bool:
        """Whether the value lies in the range."""
        if (
            not isinstance(value, (int, float))
            or isinstance(value, bool)
            or not self.low <= value <= self.high
        ):
            return False
        return not self.is_integer or value == int(value)

    def rounded(self, value: float) -> float | int:
        """Round to a few digits, but not out of the range.

        Example:
            >>> Range(0.001, 1.0, is_log=True).rounded(0.0123456)
            0.0123
        """
        if self.is_integer:
            return int(value)
        return min(self.high, max(self.low, float(f"{value:.{_DIGITS}g}")))

    def __str__(self) -> str:
        """Describe the range for people, and as the directory of a search records it."""
        kind = "whole numbers" if self.is_integer else "logarithmic" if self.is_log else "linear"
        return f"{self.low:g} to {self.high:g} ({kind})"

    def in_yaml(self) -> str:
        """Describe the range for people."""
        return str(self)


@dataclass(frozen=True)
class Choice:
    """One of several values.

    Args:
        values: The values.
    """

    values: tuple[Value, ...]

    def __contains__(self, value: object) -> bool:
        """Whether the value is among them."""
        return any(value == other and type(value) is type(other) for other in self.values)

    def __str__(self) -> str:
        """Describe the choice as the directory of a search records it; the words must stay as they are."""
        return f"one of {', '.join(map(str, self.values))}"

    def in_yaml(self) -> str:
        """Describe the choice as it is written in a search file."""
        return f"one of {', '.join(map(_as_in_yaml, self.values))}"


Dimension: TypeAlias = Range | Choice


@dataclass(frozen=True)
class Space:
    """What a search varies.

    Args:
        dimensions: The range of each option, by its name on the command line, such as ``model.omega``.
        file: The file that it was read from; None if it is the one of methods without a file.
        lines: The line of each option in the file.
        first: Settings to try first; options that one leaves out are as configured.
        optional: Options that are left out where they have no effect.
    """

    dimensions: Mapping[str, Dimension]
    file: Path | None = None
    lines: Mapping[str, int] | None = None
    first: tuple[Mapping[str, Value], ...] = ()
    optional: frozenset[str] = frozenset()

    def where(self, key: str) -> str:
        """Say where an option is given, for messages."""
        if self.file is None or self.lines is None:
            return f"The search space, `{key}`"
        return f"{self.file}, line {self.lines[key]}, `{key}`"

    def left_out(self, data: Mapping[str, Any]) -> dict[str, str]:
        """Find the optional options that have no effect on these data, and why, in words.

        Args:
            data: The section ``data`` of the settings of ``pauc fit``.

        Raises:
            InputError: If no data module has one of them, or nothing else is varied.
        """
        settings = data.get("init_args") or data
        found = {}
        for key in filter(self.optional.__contains__, self.dimensions):
            name = key.replace(".init_args.", ".").split(".")[1]
            if name not in settings:
                check_is_known(self.where(key), name, data)
                found[key] = "the data have no such option"
            elif name == "positive_fraction" and settings.get("sampler") == "shuffled":  # refused together
                found[key] = "the batches are shuffled"
        if len(found) == len(self.dimensions):
            raise InputError(
                f"{self.file} varies nothing on these data: it has only {', '.join(found)}, and "
                f"{' and '.join(dict.fromkeys(found.values()))}. Add an option of the method."
            )
        return found

    def without(self, keys: Collection[str]) -> Space:
        """Leave out options, also from the settings to try first."""
        left = [{key: value for key, value in one.items() if key not in keys} for one in self.first]
        return replace(
            self,
            dimensions={key: d for key, d in self.dimensions.items() if key not in keys},
            first=tuple(one for one in left if one),
        )

    def noted(self) -> dict[str, Any]:
        """What is recorded in the directory of a search, so that trials of different spaces are never mixed."""
        return {
            "search space": {key: str(dimension) for key, dimension in self.dimensions.items()},
            "first values": [dict(settings) for settings in self.first],
        }


FALLBACK = Space(
    {
        "model.learning_rate": Range(1e-4, 1.0, is_log=True),
        "model.weight_decay": Range(1e-5, 0.1, is_log=True),
    },
    first=({"model.learning_rate": 0.1}, {"model.learning_rate": 1.0}),
)
"""The space of a method without a file."""


def space_of(method: str, configs: Sequence[Path] = ()) -> Space:
    """Find the search space of a method.

    Args:
        method: The method's name; ``configs/method/<method>.search.yaml`` here comes first, then the one that comes
            with the project.
        configs: The method's config files; the search file of one of them, the last first, comes next. It is found
            by the config's name as above if the config is one of a method, or else beside it.

    Returns:
        What to vary; the learning rate and the weight decay if there is no file.
    """
    candidates = [folder / "method" / f"{method}{SEARCH_SUFFIX}" for folder in config_folders()]
    for path in reversed(configs):
        folders = config_folders() if path.parent.parent in config_folders() else ()
        beside = (*(folder / path.parent.name for folder in folders), path.parent)
        candidates += [folder / f"{path.stem}{SEARCH_SUFFIX}" for folder in beside]
    found = next((path for path in candidates if path.is_file()), None)
    return FALLBACK if found is None else read_space(found)


def read_space(path: Path) -> Space:
    """Read a search space.

    Raises:
        InputError: If the file is malformed; the sentence names the line and the option.
    """
    content = read_config(path, quoted=f"`{path}`")
    if not content:
        raise InputError(f"{path} varies nothing: write lines such as `model.weight_decay: {_example()}`.")
    lines = _lines(path)
    where = {key: f"{path}, line {line}, `{key}`" for key, line in lines.items()}
    together = content.pop(_FIRST, [])
    dimensions = {key: _dimension(where[key], key, form) for key, form in content.items()}
    if not dimensions:
        raise InputError(f"{path} varies nothing: write lines such as `model.weight_decay: {_example()}`.")
    alone = tuple(
        {key: value} for key, form in content.items() for value in _first(where[key], form, dimensions[key])
    )
    optional = frozenset(key for key, form in content.items() if _is_optional(where[key], key, form))
    first = (*_first_together(where.get(_FIRST, ""), together, dimensions), *alone)
    return Space(dimensions, path, lines, first, optional)


def _lines(path: Path) -> dict[str, int]:
    """The line of each key, those of merged mappings included."""
    loader = yaml.SafeLoader(path.read_text(encoding="utf-8"))
    try:
        node = loader.get_single_node()
        loader.flatten_mapping(node)
    finally:
        loader.dispose()
    for key, _ in node.value:
        if key.tag != "tag:yaml.org,2002:str":  # null, true, a number
            raise InputError(f"{path}, line {key.start_mark.line + 1}, `{key.value}`: {_AS_TYPED}")
    return {key.value: key.start_mark.line + 1 for key, _ in node.value}


def _example() -> str:
    return "{log: [0.00001, 0.001]}"


def _dimension(where: str, key: str, form: Any) -> Dimension:
    if key.partition(".")[0] not in ("model", "data") or "." not in key:
        raise InputError(f"{where}: {_AS_TYPED}")
    short = key.replace(".init_args.", ".")
    if short in _SET_BY_THE_SEARCH:
        raise InputError(f"{where} cannot be searched: {_SET_BY_THE_SEARCH[short]}. Delete the line.")
    kinds = [kind for kind in form if kind not in (_FIRST, _OPTIONAL)] if isinstance(form, dict) else []
    unknown = next((kind for kind in kinds if kind not in _KINDS), None)
    if unknown is not None:
        guess = nearest(str(unknown), (*_KINDS, _FIRST, _OPTIONAL))
        raise InputError(f"{where}: there is no `{unknown}`.{guess} Write {_FORMS}.")
    if len(kinds) != 1:
        raise InputError(f"{where}: write {_FORMS}, not `{form}`.")
    kind, values = kinds[0], form[kinds[0]]
    if not isinstance(values, list) or len(values) < 2:
        raise InputError(f"{where}: `{kind}` needs a list of at least two values, not `{values}`.")
    return _choice(where, values) if kind == "choice" else _range(where, kind, values)


def _is_optional(where: str, key: str, form: dict[str, Any]) -> bool:
    """Whether the option is left out where it has no effect."""
    given = form.get(_OPTIONAL, False)
    if not isinstance(given, bool):
        raise InputError(f"{where}: `{_OPTIONAL}` is true or false, not `{given}`.")
    if given and not key.startswith("data."):
        raise InputError(f"{where}: only options of the data can be `{_OPTIONAL}`. Delete that word.")
    return given


def _first(where: str, form: dict[str, Any], dimension: Dimension) -> list[Value]:
    """The values to try first."""
    values = form.get(_FIRST, [])
    if not isinstance(values, list):
        raise InputError(f"{where}: `{_FIRST}` needs a list of values, not `{values}`.")
    found = [_number_if_it_is_one(value) for value in values]
    for value in found:
        if value not in dimension:
            raise InputError(f"{where}: `{value}` under `{_FIRST}` is not among {dimension.in_yaml()}.")
    return found


def _first_together(where: str, settings: Any, dimensions: Mapping[str, Dimension]) -> list[dict[str, Value]]:
    """The settings of several options to try first."""
    example = "a list of settings, such as `- {model.learning_rate: 0.1}`"
    if not isinstance(settings, list) or not all(isinstance(one, dict) and one for one in settings):
        raise InputError(f"{where} needs {example}, not `{settings}`.")
    found = [{str(key): _number_if_it_is_one(value) for key, value in one.items()} for one in settings]
    for key, value in (item for one in found for item in one.items()):
        if key not in dimensions:
            raise InputError(
                f"{where}: `{key}` is not among the options that are varied: {', '.join(dimensions)}."
                f"{nearest(key, dimensions)}"
            )
        if value not in dimensions[key]:
            raise InputError(f"{where}: `{key}: {value}` is not among {dimensions[key].in_yaml()}.")
    return found


def _choice(where: str, values: list[Any]) -> Choice:
    values = [_number_if_it_is_one(value) for value in values]
    for position, value in enumerate(values):
        if not (value is None or isinstance(value, (bool, int, float, str))):
            raise InputError(
                f"{where}: `{value}` cannot be chosen; write numbers, words, true, false or null."
            )
        if isinstance(value, float) and not math.isfinite(value):
            raise InputError(
                f"{where}: `{value}` is no finite number; write null for an option without a value."
            )
        if any(_is_same(value, other) for other in values[:position]):
            raise InputError(f"{where}: `{_as_in_yaml(value)}` is given twice. Give it once.")
    return Choice(tuple(values))


def _is_same(value: Value, other: Value) -> bool:
    """Whether two values are equal; 1 is 1.0, but not true."""
    return value == other and isinstance(value, bool) == isinstance(other, bool)


def _as_in_yaml(value: Value) -> str:
    words = {None: "null", True: "true", False: "false"}
    return words[value] if value is None or isinstance(value, bool) else str(value)


def _range(where: str, kind: str, values: list[Any]) -> Range:
    ends = [_number_if_it_is_one(value) for value in values]
    are_numbers = all(isinstance(end, (int, float)) and not isinstance(end, bool) for end in ends)
    if len(ends) != 2 or not are_numbers or not all(abs(end) <= _LARGEST for end in ends):
        raise InputError(f"{where}: `{kind}` needs two numbers, the lowest and the highest, not `{values}`.")
    low, high = ends
    if low >= high:
        raise InputError(f"{where}: the lowest value comes first, and `{low}` is not below `{high}`.")
    if kind == "log" and low <= 0:
        raise InputError(
            f"{where}: a logarithmic range begins above 0, not at `{low}`; write linear instead."
        )
    if kind == "integer" and (low != int(low) or high != int(high)):
        raise InputError(f"{where}: `integer` needs whole numbers, not `{values}`.")
    return Range(low, high, is_log=kind == "log", is_integer=kind == "integer")


def _number_if_it_is_one(value: Any) -> Any:
    """Convert what YAML 1.1 reads as text although people mean a number, such as 1e-5."""
    if isinstance(value, str):
        try:
            return float(value)
        except ValueError:
            return value
    return value
