"""Reads config files; an error names the file and the line, before the parser sees the file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml

from pauc_lightning.config_files import find_config
from pauc_lightning.errors import InputError


def given_configs(arguments: Sequence[str]) -> Iterator[Path]:
    """The config files named by ``-c`` and ``--config``."""
    for option, following in zip(arguments, [*arguments, ""][1:], strict=True):
        name, is_attached, attached = option.partition("=")
        if name in ("-c", "--config"):
            yield Path(attached if is_attached else following)


def find_and_check(arguments: Sequence[str]) -> list[str]:
    """Replace the name of each config file by its path, and check the file.

    Example:
        >>> found = find_and_check(["fit", "-c", "digits", "--config=upauci"])
        >>> [Path(argument).name for argument in found]
        ['fit', '-c', 'digits.yaml', '-c', 'upauci.yaml']
    """
    result: list[str] = []
    remaining = iter(arguments)
    for argument in remaining:
        name, is_attached, value = argument.partition("=")
        if name not in ("-c", "--config"):
            result.append(argument)
            continue
        value = value if is_attached else next(remaining, "")
        if not value or value.startswith("-"):
            raise InputError(f"`{name}` needs a config file: `{name} digits` or `{name} my.yaml`.")
        path = find_config(value)
        read_config(path)
        result += ["-c", str(path)]
    return result


def read_config(path: Path, quoted: str | None = None) -> dict[str, Any]:
    """The settings in a YAML file; :class:`InputError` names the file and the offending line.

    Args:
        path: The file.
        quoted: How messages name it; if left out, as an argument of ``-c``.
    """
    quoted = quoted or f"`-c {path}`"
    if not path.exists():
        raise InputError(f"{quoted}: no such file. Check the path.")
    if path.is_dir():
        raise InputError(f"{quoted} is a directory: give a YAML file. For a run, use `pauc test {path}`.")
    try:
        content = yaml.load(path.read_text(encoding="utf-8"), _StrictLoader)
    except OSError as error:
        raise InputError(
            f"{quoted} cannot be read: {error.strerror}. Change its permissions, or give another file."
        ) from error
    except UnicodeDecodeError as error:
        raise InputError(
            f"{quoted} is not a text file (byte {error.start} is not UTF-8): give a YAML file."
        ) from error
    except yaml.YAMLError as error:
        raise InputError(f"{quoted} is not valid YAML: {_problem(error)}. Correct that line.") from error
    if content is None:
        return {}
    if not isinstance(content, dict):
        raise InputError(
            f"{quoted} holds a {type(content).__name__}, not settings: write `key: value` lines, such as "
            "`data:` and `model:` sections."
        )
    return content


class _StrictLoader(yaml.SafeLoader):  # type: ignore[misc]  # ships no types
    """Refuses duplicate keys in a mapping; YAML would silently take the last one."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: dict[Any, int] = {}
        for key_node, _ in node.value:
            if key_node.tag == "tag:yaml.org,2002:merge":
                continue
            key, line = key_node.value, key_node.start_mark.line + 1
            if isinstance(key, str) and key in seen:
                raise yaml.constructor.ConstructorError(
                    None,
                    None,
                    f"the key `{key}` is given twice, in lines {seen[key]} and {line}",
                    key_node.start_mark,
                )
            if isinstance(key, str):
                seen[key] = line
        mapping: dict[Any, Any] = super().construct_mapping(node, deep)
        return mapping


def _problem(error: yaml.YAMLError) -> str:
    """What is wrong and where, in one line."""
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or getattr(error, "reason", None) or str(error).splitlines()[0]
    return f"{problem} (line {mark.line + 1}, column {mark.column + 1})" if mark is not None else str(problem)
