"""The facts about the training data that a run stores in a small file, so that it can score new data without them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pauc_lightning.errors import InputError
from pauc_lightning.files import write_text

FILE_NAME = "preprocessing.json"
"""Name of the file in a run's directory."""

_FORMAT = "pauc-lightning preprocessing, version 1"
_ALWAYS = ("data", "train_size", "prior", "input_shape")


def save_preprocessing(path: Path, state: Mapping[str, Any]) -> None:
    """Write the ``training_state`` of a data module; JSON keeps all digits of its numbers."""
    write_text(path, json.dumps({"format": _FORMAT, **state}, indent=1, ensure_ascii=False) + "\n")


def load_preprocessing(path: Path) -> dict[str, Any]:
    """Read a file written by :func:`save_preprocessing`."""
    try:
        content = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise InputError(
            f"`preprocessing={path}` cannot be read ({error}): give the {FILE_NAME} of a run."
        ) from error
    if not isinstance(content, dict) or content.get("format") != _FORMAT:
        raise InputError(f"`preprocessing={path}` was not written by a run: give the {FILE_NAME} of a run.")
    lacking = [key for key in _ALWAYS if key not in content]
    if lacking:
        raise InputError(f"`preprocessing={path}` is damaged (it lacks {lacking}): train the model again.")
    del content["format"]
    return content
