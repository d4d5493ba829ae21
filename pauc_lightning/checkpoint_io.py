"""Checkpoints on disk: written all or nothing, and checked before anything is made of them."""

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
"""What a run needs, besides the weights, to go on."""


class AtomicCheckpointIO(TorchCheckpointIO):
    """Lightning's checkpoint files, except that they are written atomically and checked when they are read.

    Give it to ``Trainer(plugins=[AtomicCheckpointIO()])``. Writing goes to a file beside the target, which takes its
    place when it is complete and on the disk: neither a kill nor a full disk touches the checkpoint that was there.
    Reading ends in an :class:`InputError` for whatever is not a whole checkpoint, and never executes a pickle.
    """

    def save_checkpoint(
        self, checkpoint: dict[str, Any], path: Any, storage_options: Any | None = None
    ) -> None:
        """Write ``checkpoint`` to a local file, all of it or nothing."""
        if storage_options is not None:
            raise InputError(f"`storage_options` must be None for local files, got {storage_options!r}.")
        write_checkpoint(checkpoint, Path(path))

    def load_checkpoint(
        self,
        path: Any,
        map_location: Any = lambda storage, location: storage,
        weights_only: bool | None = None,
    ) -> dict[str, Any]:
        """The checkpoint at ``path``; only tensors and plain values are loaded, whatever ``weights_only`` says."""
        return read_checkpoint(path, map_location)


def write_checkpoint(checkpoint: dict[str, Any], path: Path) -> None:
    """Write a checkpoint, all of it or nothing."""
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
    """The content of a checkpoint, or an :class:`InputError` that says what else the file is.

    The check sums of all its parts are compared, which ``torch.load`` does not do, and no pickle is executed: what is
    not made of tensors and plain values is refused.

    Args:
        path: The file.
        map_location: Where its tensors go, as in ``torch.load``.
        to_resume: Whether a run is to be continued with it, which takes more than the weights.
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
    """Raise :class:`InputError` unless ``path`` is a whole checkpoint; see :func:`read_checkpoint`."""
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
        """Nothing: the file is flushed when it is complete."""


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
    """What is there instead: the most similar checkpoint in the same directory."""
    try:
        present = sorted(file.name for file in path.parent.iterdir() if file.suffix == ".ckpt")
    except OSError:
        return f"There is no directory `{path.parent}` either. Checkpoints lie in <run>/checkpoints/."
    if not present:
        return f"There are no checkpoints in `{path.parent}`. They lie in <run>/checkpoints/."
    name = difflib.get_close_matches(path.name, present, n=1, cutoff=0)[0]
    return f"Did you mean `{path.parent / name}`?"


def _check_whole(path: Path) -> None:
    """Compare the check sums of all parts of the zip archive that a checkpoint is."""
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
