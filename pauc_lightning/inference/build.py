"""Builds the classes that a run's config names."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from pauc_lightning.errors import InputError


def build(base: type, setting: Any, what: str) -> Any:
    """Build an object from its class path and arguments, as the command line does.

    Args:
        base: The class that it derives from.
        setting: ``{"class_path": ..., "init_args": ...}``.
        what: The setting's name, for messages.
    """
    from jsonargparse import ArgumentError, ArgumentParser

    if not isinstance(setting, Mapping) or "class_path" not in setting:
        raise InputError(
            f"the run's config.yaml has no class for `{what}`, got {setting!r}: restore the file."
        )
    parser = ArgumentParser(exit_on_error=False)
    parser.add_subclass_arguments(base, what, fail_untyped=False)
    try:
        parsed = parser.parse_object({what: copy.deepcopy(dict(setting))})
        return parser.instantiate_classes(parsed)[what]
    except InputError:
        raise
    except ArgumentError as error:
        raise InputError(
            f"`{what}` cannot be built as in the run's config.yaml ({' '.join(str(error).split())[:300]}): use the "
            "version of the class that it was trained with."
        ) from error
    except Exception as error:  # whatever a class of the user's own raises
        cause = _first_cause(error)
        if isinstance(cause, InputError):
            raise cause from error
        raise InputError(
            f"{setting['class_path']} cannot be built as in the run's config.yaml ({type(cause).__name__}: {cause}): "
            "use the version of the class that it was trained with."
        ) from error


def _first_cause(error: BaseException) -> BaseException:
    while error.__cause__ is not None:
        error = error.__cause__
    return error
