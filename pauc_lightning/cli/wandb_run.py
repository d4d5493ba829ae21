"""A run in Weights & Biases, beside the run's own directory."""

from __future__ import annotations

import secrets
import shutil
from pathlib import Path

import wandb
from lightning.pytorch.loggers import WandbLogger

from pauc_lightning.cli.runs import release
from pauc_lightning.distributed import is_main_process
from pauc_lightning.errors import InputError
from pauc_lightning.files import write_text

_SECONDS = 30
"""Seconds to wait for W&B before the run is refused."""


def wandb_logger(directory: Path, name: str, project: str, offline: bool) -> WandbLogger:
    """The logger of a run; a resumed run continues its curves in W&B.

    Args:
        directory: The run's directory, which keeps the identity of the run in W&B.
        name: The run's name in W&B.
        project: The project it belongs to.
        offline: Write to disk only, for a later ``wandb sync``.

    Raises:
        InputError: If W&B cannot be reached or there is no key; ``directory`` is left as it was.
    """
    wandb.finish()  # an earlier run of this process would continue otherwise
    known = directory / "wandb_id.txt"
    identity = known.read_text().strip() if known.is_file() else secrets.token_hex(4)
    logger = WandbLogger(
        name=name,
        id=identity,
        resume="allow",
        project=project,
        save_dir=directory,
        offline=offline,
        # Otherwise the mode of an earlier run of this process would apply.
        settings=wandb.Settings(init_timeout=_SECONDS, mode="offline" if offline else "online"),
    )
    if is_main_process():
        _connect(logger, directory)
        write_text(known, identity + "\n")
    return logger


def _connect(logger: WandbLogger, directory: Path) -> None:
    """Start the run in W&B before training: a missing key or connection is found at once."""
    before = set(directory.iterdir()) if directory.is_dir() else set()
    try:
        logger.experiment  # noqa: B018  # connects when it is first read
    except wandb.errors.Error as error:
        wandb.teardown()
        for left in set(directory.iterdir()) - before:
            shutil.rmtree(left) if left.is_dir() else left.unlink()
        release(directory)
        raise InputError(
            f"`--wandb=online`: W&B cannot be reached or does not know you ({' '.join(str(error).split())}). Run "
            "`wandb login` first, or use --wandb=offline and `wandb sync` later."
        ) from error
