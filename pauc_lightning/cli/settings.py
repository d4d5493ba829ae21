"""Settings that parse but cannot work, refused before anything is built or written."""

from __future__ import annotations

from jsonargparse import Namespace

from pauc_lightning.errors import InputError

_LARGEST_SEED = 2**32 - 1


def check_settings(command: str, config: Namespace) -> None:
    """Raise :class:`InputError` for what Lightning would accept and then ignore, or fail on much later.

    Args:
        command: fit, validate, test or predict.
        config: Its parsed settings.
    """
    _check_seed(config.get("seed_everything"))
    _check_names(config)
    trainer = config["trainer"]
    if trainer.get("gradient_clip_val") is not None:
        raise InputError(
            f"`trainer.gradient_clip_val={trainer['gradient_clip_val']}` has no effect here, as the "
            "methods step their optimizers themselves: use --model.gradient_clip_norm instead."
        )
    if trainer.get("accumulate_grad_batches", 1) != 1:
        raise InputError(
            "`trainer.accumulate_grad_batches` has no effect here, as the methods step their optimizers "
            "themselves: use a larger --data.batch_size instead."
        )
    if command == "fit":
        _check_length(trainer)
    elif not config.get("ckpt_path"):
        model = config.get("model")
        if not (model and model.get("init_args", {}).get("init_weights")):
            raise InputError(
                f"`pauc {command}` needs a trained model: name its run, as in `pauc {command} "
                "runs/<name>/version_<n>`, or give --ckpt_path=<file.ckpt>."
            )


def _check_seed(seed: object) -> None:
    if isinstance(seed, bool) or not isinstance(seed, int):
        return  # true asks Lightning to choose one
    if not 0 <= seed <= _LARGEST_SEED:
        raise InputError(f"`seed_everything` must be from 0 to {_LARGEST_SEED}, got {seed}.")


def _check_names(config: Namespace) -> None:
    if not config.get("run_dir"):
        raise InputError("`run_dir` is empty: give the directory that holds all runs, such as `runs`.")
    name = config.get("run_name")
    if name is not None and (not name.strip() or name in (".", "..") or "/" in name or "\0" in name):
        raise InputError(
            f"`run_name` becomes a directory in `run_dir`, so it must not be empty or contain a slash, got {name!r}."
        )


def _check_length(trainer: Namespace) -> None:
    max_epochs, max_steps = trainer.get("max_epochs"), trainer.get("max_steps")
    for name, value in (("max_epochs", max_epochs), ("max_steps", max_steps)):
        if value is not None and (value == 0 or value < -1):
            raise InputError(
                f"`trainer.{name}={value}` trains nothing: give a positive number, or -1 for no such limit."
            )
    if trainer.get("limit_train_batches") == 0:
        raise InputError(
            "`trainer.limit_train_batches=0` trains nothing: give a positive number, or leave it out."
        )
