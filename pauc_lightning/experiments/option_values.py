"""Values of options that several commands share, read from text and checked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import yaml

from pauc_lightning.arguments import percent_hint
from pauc_lightning.cli.nearest import nearest
from pauc_lightning.config_files import find_config, list_configs
from pauc_lightning.errors import InputError
from pauc_lightning.experiments.variant import option_names, split_option
from pauc_lightning.region import Region

LARGEST_SEED = 2**32 - 1
EXECUTORS = ("process", "processes", "ray", "slurm")


def whole_number(option: str, text: str, least: int, most: int | None = None) -> int:
    """Read a whole number within bounds."""
    try:
        number = int(text)
    except ValueError:
        number = least - 1
    if number < least or (most is not None and number > most):
        upper = "" if most is None else f" and at most {most}"
        raise InputError(f"`{option} {text}`: give a whole number that is at least {least}{upper}.")
    return number


def minutes(option: str, text: str) -> float:
    """Read a time in minutes."""
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < float("inf"):
        raise InputError(f"`{option} {text}`: give a number above 0.")
    return number


def region(option: str, text: str) -> Region:
    """Read ``max_fpr`` or ``max_fpr,min_tpr``.

    Example:
        >>> region("--region", "0.3,0.7")
        Region(max_fpr=0.3, min_tpr=0.7, min_fpr=0.0)
    """
    try:
        rates = [float(part) for part in text.split(",")]
    except ValueError:
        rates = []
    if len(rates) not in (1, 2):
        form = "write max_fpr, such as 0.3, or max_fpr,min_tpr, such as 0.3,0.7"
        raise InputError(f"`{option} {text}`: {'; '.join(filter(None, (form, percent_hint(text))))}.")
    try:
        return Region(*rates)
    except InputError as error:
        raise InputError(f"`{option} {text}`: {error}") from error


def check_repeats(option: str, texts: Sequence[str], values: Sequence[object] | None = None) -> None:
    """Reject a value that is given twice.

    Args:
        option: The option.
        texts: The values as typed.
        values: What they mean, if different texts may mean the same.
    """
    meant = texts if values is None else values
    for position, value in enumerate(meant):
        if value in meant[:position]:
            first = texts[list(meant).index(value)]
            same = "" if first == texts[position] else f", which is the same as {first},"
            raise InputError(
                f"`{option} {' '.join(texts)}`: {texts[position]}{same} is given twice. Give it once."
            )


def executor_kind(given: str | None, processes: int | None) -> str:
    """Choose the executor: the one that is named, else this process or several."""
    kind = given or ("process" if processes in (None, 1) else "processes")
    if kind == "process" and processes not in (None, 1):
        raise InputError(
            f"`--executor process` trains one run at a time: leave out --processes {processes}, or the executor."
        )
    return kind


def executor_options(words: Sequence[str]) -> dict[str, Any]:
    """Read the options of an executor.

    Example:
        >>> executor_options(["gpus_per_job=0.5", "address=local"])
        {'gpus_per_job': 0.5, 'address': 'local'}
    """
    options: dict[str, Any] = {}
    for word in words:
        found = split_option(word)
        if found is None:
            raise InputError(f"`--executor_options {word}`: write name=value, such as gpus_per_job=1.")
        try:
            options[found[0]] = yaml.safe_load(found[1])
        except yaml.YAMLError as error:
            raise InputError(
                f"`--executor_options {word}`: `{found[1]}` cannot be read. Give a number or a word, such as "
                "gpus_per_job=1."
            ) from error
    return options


def check_misspelled(extra: Sequence[str], own: Sequence[str]) -> None:
    """Reject an option that looks like a misspelled one of the command; others go to ``pauc fit``.

    Args:
        extra: The options that the command does not know.
        own: The names of those that it does.
    """
    for name in option_names(extra):
        close = get_close_matches(name, own, n=1, cutoff=0.75)  # strict, as it may be an option of pauc fit
        if close:
            raise InputError(f"`--{name}` is not an option. Did you mean `--{close[0]}`?")


def taken_by(name: str, own: Iterable[str]) -> str | None:
    """Find the command's own option that an option of ``pauc fit`` would set, by its whole name or by its beginning.

    A single letter is no beginning: ``model.m`` is an option of its own.

    Example:
        >>> [taken_by(name, ["model.max_fpr"]) for name in ("model.max_fpr", "model.max", "model.m", "model.k")]
        ['model.max_fpr', 'model.max_fpr', None, None]
    """
    for taken in own:
        is_beginning = (
            taken.startswith(name)
            and taken.count(".") == name.count(".")
            and len(name.rpartition(".")[2]) > 1
        )
        if taken == name or is_beginning:
            return taken
    return None


def check_is_name(option: str, name: str) -> None:
    """Reject the path of a method's config."""
    if Path(name).name != name:
        raise InputError(
            f"`{option} {name}`: give a name, not a path. Own files go to configs/method/<name>.yaml."
        )


def method_config(name: str, option: str = "--methods") -> Path:
    """Find a method's config file: in ``configs/method`` here, or among those that come with the project."""
    check_is_name(option, name)
    try:
        return find_config(f"method/{name}")
    except InputError as error:
        known = sorted(
            {Path(name).name for _, name, _ in list_configs() if Path(name).parent.name == "method"}
        )
        raise InputError(
            f"`{option} {name}`: no such method.{nearest(name, known)} Known: {', '.join(known)}."
        ) from error
