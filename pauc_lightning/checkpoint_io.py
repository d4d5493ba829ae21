"""Checkpoint files: written atomically, and checked before they are used."""

from __future__ import annotations

import difflib
import pickle
import zipfile
from pathlib import Path
from typing import Any, BinaryIO

import torch
from lightning.fabric.plugins import TorchCheckpointIO
from torch import Tensor

from pauc_lightning.errors import InputError
from pauc_lightning.files import complete_binary_file

_ZIP_START = b"PK\x03\x04"
_FULL_STATE = ("loops", "optimizer_states", "callbacks")
"""Entries that a resumed run needs besides the weights."""


class AtomicCheckpointIO(TorchCheckpointIO):
    """Writes Lightning's checkpoint files atomically, and checks them when they are read.

    Use it as ``Trainer(plugins=[AtomicCheckpointIO()])``. A checkpoint is written beside its target, which it replaces
    when it is complete and on the disk: a kill or a full disk leaves the previous checkpoint as it was. Reading
    anything but a complete checkpoint raises an :class:`InputError`, and never executes a pickle.
    """

    def save_checkpoint(
        self, checkpoint: dict[str, Any], path: Any, storage_options: Any | None = None
    ) -> None:
        """Write ``checkpoint`` to a local file, atomically."""
        if storage_options is not None:
            raise InputError(f"`storage_options` must be None for local files, got {storage_options!r}.")
        write_checkpoint(checkpoint, Path(path))

    def load_checkpoint(
        self,
        path: Any,
        map_location: Any = lambda storage, location: storage,
        weights_only: bool | None = None,
    ) -> dict[str, Any]:
        """Read the checkpoint at ``path``; only tensors and plain values are loaded, regardless of ``weights_only``."""
        return read_checkpoint(path, map_location)


def write_checkpoint(checkpoint: dict[str, Any], path: Path) -> None:
    """Write a checkpoint atomically."""
    with complete_binary_file(path) as file:
        recorder = _ErrorRecorder(file)
        try:
            torch.save(checkpoint, recorder)  # type: ignore[arg-type]  # all it needs is `write` and `flush`
        except RuntimeError:
            # torch replaces the system's error by one that does not say what happened.
            if recorder.error is not None:
                raise recorder.error from None
            raise


def read_checkpoint(
    path: str | Path, map_location: Any = "cpu", *, to_resume: bool = False
) -> dict[str, Any]:
    """Return the content of a checkpoint; for any other file, raise an :class:`InputError` that says what it is.

    The checksums of all its parts are verified, which ``torch.load`` does not do, and no pickle is executed: anything
    but tensors and plain values is refused.

    Args:
        path: The file.
        map_location: Where its tensors go, as in ``torch.load``.
        to_resume: Whether a run is to be resumed from it, which needs more than the weights.
    """
    path = Path(path)
    _check_readable(path)
    _check_whole(path)
    try:
        content = torch.load(path, map_location=map_location, weights_only=True)
    except pickle.UnpicklingError as error:
        raise InputError(
            f"`{path}` holds Python objects that would have to be executed, so it is not loaded: give a checkpoint "
            "that `pauc fit` wrote."
        ) from error
    except (RuntimeError, EOFError, KeyError, ValueError, AttributeError) as error:
        raise _damaged(path) from error
    return _check_content(path, content, to_resume)


def check_checkpoint(path: str | Path, *, to_resume: bool = False) -> None:
    """Raise :class:`InputError` unless ``path`` is a complete checkpoint; see :func:`read_checkpoint`."""
    read_checkpoint(path, to_resume=to_resume)


class _ErrorRecorder:
    """A file that remembers why a write failed."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.error: OSError | None = None

    def write(self, data: Any) -> int:
        try:
            return self._file.write(data)
        except OSError as error:
            self.error = error
            raise

    def flush(self) -> None:
        """Do nothing: the file is flushed when it is complete."""


def _check_readable(path: Path) -> None:
    if path.is_dir():
        inside = [name for name in ("checkpoints/last.ckpt", "last.ckpt") if (path / name).is_file()]
        advice = f"give the file `{path / inside[0]}`" if inside else "give the path of a .ckpt file"
        raise InputError(f"`{path}` is a directory, not a checkpoint: {advice}.")
    try:
        with path.open("rb"):
            return
    except PermissionError as error:
        raise InputError(
            f"`{path}` may not be read (no permission): change its permissions, or give another checkpoint."
        ) from error
    except (FileNotFoundError, NotADirectoryError) as error:
        raise InputError(f"`{path}`: no such file. {_nearest(path)}") from error
    except OSError as error:
        raise InputError(
            f"`{path}` cannot be read ({error.strerror}): check the disk, or give another checkpoint."
        ) from error


def _nearest(path: Path) -> str:
    """Suggest the most similar checkpoint in the same directory."""
    try:
        present = sorted(file.name for file in path.parent.iterdir() if file.suffix == ".ckpt")
    except OSError:
        return f"There is no directory `{path.parent}` either. Checkpoints lie in <run>/checkpoints/."
    if not present:
        return f"There are no checkpoints in `{path.parent}`. They lie in <run>/checkpoints/."
    name = difflib.get_close_matches(path.name, present, n=1, cutoff=0)[0]
    return f"Did you mean `{path.parent / name}`?"


def _check_whole(path: Path) -> None:
    """Verify the checksums of all parts of the checkpoint, which is a zip archive."""
    with path.open("rb") as file:
        start = file.read(len(_ZIP_START))
    if not start:
        raise _damaged(path, "it is empty")
    if start != _ZIP_START and not zipfile.is_zipfile(path):
        raise InputError(
            f"`{path}` is not a checkpoint: give the path of a .ckpt file that `pauc fit` wrote."
        )
    try:
        with zipfile.ZipFile(path) as archive:
            bad_part = archive.testzip()
    except Exception as error:  # a damaged archive makes zipfile raise many things
        raise _damaged(path) from error
    if bad_part is not None:
        raise _damaged(path)


def _damaged(path: Path, how: str = "it was cut or changed after it was written") -> InputError:
    others = [
        name for name in ("last.ckpt", "best.ckpt") if name != path.name and (path.parent / name).is_file()
    ]
    advice = f", for example `{path.parent / others[0]}`" if others else ""
    return InputError(f"`{path}` is damaged ({how}): use another checkpoint{advice}.")


def _check_content(path: Path, content: Any, to_resume: bool) -> dict[str, Any]:
    if not isinstance(content, dict) or not content:
        raise InputError(
            f"`{path}` is not a checkpoint but holds a {type(content).__name__}: give a .ckpt file that `pauc fit` "
            "wrote."
        )
    if "state_dict" not in content:
        if all(isinstance(value, Tensor) for value in content.values()):
            raise InputError(
                f"`{path}` holds weights only (a bare state_dict), not a checkpoint: give a .ckpt file that "
                "`pauc fit` wrote."
            )
        keys = ", ".join(map(repr, list(content)[:5]))
        raise InputError(
            f"`{path}` is not a checkpoint but a dictionary with the keys {keys}: give a .ckpt file that `pauc fit` "
            "wrote."
        )
    missing = [key for key in _FULL_STATE if key not in content]
    if to_resume and missing:
        raise InputError(
            f"`{path}` holds weights only, so no run can go on from it ({', '.join(missing)} missing): start a new "
            f"run from these weights with --model.init_weights={path}."
        )
    return content
