"""One value of an axis of a comparison: a label, and the options that it adds to ``pauc fit``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, cast, get_args

import yaml

from pauc_lightning.errors import InputError

Start: TypeAlias = Literal["warmup", "initial"]
"""Where a method starts: at the end of the common warm-up, or at its initial weights."""
_SECTIONS = ("model", "data", "trainer", "checkpoint", "figures", "predictions")


@dataclass(frozen=True)
class Variant:
    """The configs and options of a method, a data set or a backbone, besides those that all runs share.

    Args:
        configs: Config files.
        options: Options of ``pauc fit`` from the experiment's file, such as ``--model.descent_lr=0.1``.
        last: Options for this value from the command line, which win over those for all runs.
        start: Where the method starts; no other axis has another start than the default.
    """

    configs: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    last: tuple[str, ...] = ()
    start: Start = "warmup"

    def as_dict(self) -> dict[str, Any]:
        """What comparison.json records; the last option of a name counts, wherever it came from."""
        chosen = {option.partition("=")[0]: option for option in (*self.options, *self.last)}
        start = {} if self.start == "warmup" else {"start": self.start}  # earlier versions had no other one
        return {"config": list(self.configs), "options": sorted(chosen.values()), **start}


def read_start(where: str, given: Any) -> Start:
    """Check where a method is to start.

    Args:
        where: What was written, for the message.
        given: The value.
    """
    for start in get_args(Start):
        if given == start:
            return cast(Start, start)
    raise InputError(
        f"`{where}`: a method starts at the end of the common warm-up (`start: warmup`) or at its initial weights "
        "(`start: initial`)."
    )


def option_texts(settings: Mapping[str, Any]) -> tuple[str, ...]:
    """Write settings as options; a section such as ``model:`` may hold its settings as in a config file.

    Example:
        >>> option_texts({"model.descent_lr": 1e-5, "data": {"init_args": {"positive_classes": [3, 8]}}})
        ('--model.descent_lr=1.0e-05', '--data.init_args.positive_classes=[3, 8]')
    """
    return tuple(f"--{name}={_text(value)}" for name, value in _flat("", settings))


def class_option(option: str, given: str | Mapping[str, Any]) -> str:
    """Write the choice of a class, with its arguments if there are any, as an option.

    Example:
        >>> class_option("model.backbone", {"class_path": "MLPScorer", "init_args": {"hidden": [7]}})
        '--model.backbone={class_path: MLPScorer, init_args: {hidden: [7]}}'
    """
    return f"--{option}={given if isinstance(given, str) else _text(dict(given))}"


def _flat(prefix: str, settings: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for key, value in settings.items():
        name = f"{prefix}.{key}" if prefix else str(key)
        is_section = name in _SECTIONS or key == "init_args"
        if is_section and isinstance(value, Mapping) and "class_path" not in value:
            yield from _flat(name, value)
        else:
            yield name, value


def _text(value: Any) -> str:
    """Write a value as it would be typed."""
    if isinstance(value, str):
        return value
    text: str = yaml.safe_dump(value, default_flow_style=True, sort_keys=False, width=10**9)
    return text.removesuffix("...\n").strip()


def split_option(text: str) -> tuple[str, str] | None:
    """Split ``name=value``; None if it is not written so."""
    name, is_given, value = text.removeprefix("--").partition("=")
    return (name, value) if is_given and name else None


def option_names(options: Sequence[str]) -> Iterator[str]:
    """Yield the names in a list of options, however they are written.

    Example:
        >>> list(option_names(["--data.init_args.seed=3", "--trainer.callbacks+=Timer", "--run_dir", "here"]))
        ['data.seed', 'trainer.callbacks', 'run_dir']
    """
    for text in options:
        if text.startswith("--"):
            yield text[2:].split("=", 1)[0].rstrip("+").replace(".init_args.", ".")
