"""Turns the exceptions that users can cause or cure into one sentence."""

from __future__ import annotations

import errno
import os
import re
import sys
import traceback
from collections.abc import Iterator

from pauc_lightning.errors import InputError

_COMMAND_LINE = ("jsonargparse", "lightning.pytorch.cli", "pauc_lightning.cli")

_DISK = {
    errno.ENOSPC: "the disk is full. Free some space",
    errno.EDQUOT: "your disk quota is used up. Free some space",
    errno.EFBIG: "the file would exceed the allowed size. Raise the limit (ulimit -f)",
    errno.EROFS: "the file system is read-only. Choose another place, for example with --run_dir",
    errno.EACCES: "permission denied. Choose another place, for example with --run_dir, or change the permissions",
    errno.EPERM: "permission denied. Choose another place, for example with --run_dir, or change the permissions",
    errno.ENOTDIR: "a part of the path is a file, not a directory. Choose another path",
    errno.EEXIST: "a file of that name is in the way. Choose another path",
    errno.EISDIR: "this is a directory, not a file. Choose another path",
    errno.ENAMETOOLONG: "the name is too long. Choose a shorter one, for example with --run_name",
    errno.ENOENT: "no such file or directory. Check the path",
}


def sentence(error: BaseException) -> str | None:
    """The sentence for the user, or None for a bug of this project, which deserves its traceback."""
    for cause in _chain(error):
        if isinstance(cause, (InputError, *_lightnings_own())):
            return _shortened(str(cause)) or str(cause)
    for cause in _chain(error):
        if isinstance(cause, OSError) and cause.errno in _DISK:
            where = f"`{os.fsdecode(cause.filename)}`: " if cause.filename else ""
            return f"{where}{_DISK[cause.errno]}, then start the same command again."
        if isinstance(cause, MemoryError) or "can't allocate memory" in str(cause):
            return "There is not enough memory: lower `data.batch_size`, `data.eval_batch_size` or `data.num_workers`."
    return None


def _lightnings_own() -> tuple[type[Exception], ...]:
    """Lightning's exception for settings that do not go together, if Lightning has been imported at all."""
    module = sys.modules.get("lightning.fabric.utilities.exceptions")
    return () if module is None else (module.MisconfigurationException,)


def _shortened(message: str) -> str | None:
    """A shorter sentence for Lightning's message that ``max_epochs`` lies before the checkpoint's epoch."""
    found = re.search(r"checkpoint with current_epoch=(\d+), but .*max_epochs=(\d+)", message)
    if found is None:
        return None
    done, wanted = found.groups()
    return f"`trainer.max_epochs={wanted}`, but the run has done {done} epochs already: give a larger number."


def not_built(error: BaseException) -> str:
    """The sentence for a class whose constructor raised an exception."""
    *_, cause = _chain(error)
    name = _class_being_built(cause)
    what = f"{name} cannot" if name else "A class cannot"
    reason = " ".join(str(cause).split()).rstrip(".")
    if isinstance(cause, ImportError):
        return f"{what} be built because a package is missing: {reason}. Install it, or leave the class out."
    return (
        f"{what} be built with the settings given ({type(cause).__name__}: {reason}). Correct them; with "
        "PAUC_TRACEBACK=1 before the command the traceback is shown."
    )


def _class_being_built(error: BaseException) -> str | None:
    """The outermost class whose constructor was running, not counting those of the command line."""
    for frame, _ in traceback.walk_tb(error.__traceback__):
        module = frame.f_globals.get("__name__", "")
        if frame.f_code.co_name == "__init__" and not module.startswith(_COMMAND_LINE):
            return type(frame.f_locals.get("self")).__name__
    return None


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """The exception and its causes: the parser wraps what constructors raise."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        yield error
        seen.add(id(error))
        error = error.__cause__ or error.__context__
