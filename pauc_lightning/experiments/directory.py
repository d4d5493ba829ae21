"""The directory of a comparison: which runs it holds, and whether they belong to the plan."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from pauc_lightning.checkpoint_io import read_checkpoint
from pauc_lightning.errors import InputError
from pauc_lightning.experiments.cells import Cell, Run, WarmUp
from pauc_lightning.experiments.outcome import Record
from pauc_lightning.experiments.plan import Plan, method_config
from pauc_lightning.files import write_text

_RESULTS = "test_metrics.json"
_LAST = Path("checkpoints/last.ckpt")
_LOCK_SECONDS = 10
"""Seconds to wait for the lock: the data-loading workers of a killed process hold it for up to 5 s."""


class ComparisonDirectory:
    """Finds the runs of a comparison in its directory.

    ``comparison.json`` holds the settings, which prevents mixing runs made with different ones.
    ``<warm-up>/finished.json`` names the checkpoint at the warm-up's end. A run is finished when it has been tested.

    Args:
        path: The directory; it need not exist.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._note = path / "comparison.json"
        self._lock = path / ".lock"
        self._new: list[Path] = []

    # ------------------------------------------------------------------ one process at a time

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Lock the directory against other comparisons; the system releases the lock if the process is killed.

        Raises:
            InputError: If another process holds the directory, or it cannot be created.
        """
        self._new = [folder for folder in (self.path, *self.path.parents) if not folder.exists()]
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(
                f"`--out {self.path}` cannot be created ({error.strerror}): give another --out."
            ) from error
        lock = FileLock(self._lock)
        try:
            lock.acquire(timeout=_LOCK_SECONDS)
        except Timeout:
            raise InputError(
                f"`--out {self.path}` is in use by another `pauc compare`: wait until it has ended, or give "
                "another --out."
            ) from None
        except (OSError, NotImplementedError):
            pass  # no locks on this file system, or it is read-only, which the first write reports
        try:
            yield
        finally:
            lock.release()

    # ------------------------------------------------------------------ settings

    def check(self, plan: Plan) -> None:
        """Reject a directory whose runs were made with other settings. Nothing is written.

        Only finished runs count, so a mistake can be corrected in the same directory.
        """
        nearest = next((folder for folder in (self.path, *self.path.parents) if folder.exists()), Path())
        if not nearest.is_dir():
            raise InputError(f"`--out {self.path}`: {nearest} is a file. Give the name of a directory.")
        has_any = self._holds(f"*/*/{_RESULTS}", "warmup-*/finished.json")
        earlier = _read_json(self._note) if has_any and self._note.is_file() else {}
        settings = _settings(plan)
        for key in settings if earlier else ():
            if settings[key] != earlier.get(key):
                raise InputError(
                    f"`--out {self.path}` holds a comparison with other settings ({key}: {earlier.get(key)}, now "
                    f"{settings[key]}). Give another --out. Methods, regions and seeds may differ: they are added."
                )
        texts = earlier.get("files", {})
        for path, has_runs in self._files_in_use(plan, has_any).items():
            if has_runs and texts.get(str(path)) != _text(path):
                raise InputError(
                    f"`--out {self.path}` holds runs made with another version of {path}, or with an unrecorded "
                    f"one. Give another --out, or undo the change (the old content, if known, is in {self._note})."
                )
        for seed in plan.seeds if plan.warmup_epochs > 0 else ():
            self._check_warm_up(WarmUp(seed), plan)

    def write_note(self, plan: Plan) -> None:
        """Record the settings and the contents of the config files."""
        texts = _read_json(self._note).get("files", {}) if self._note.is_file() else {}
        texts |= {str(path): _text(path) for path in self._files_in_use(plan, has_any=True)}
        write_text(self._note, json.dumps({**_settings(plan), "files": texts}, indent=2) + "\n")

    def withdraw_note(self) -> None:
        """Leave the file system as it was before, because the first training rejected the plan."""
        if self._holds(f"*/*/{_RESULTS}", "warmup-*/finished.json"):
            return
        self._note.unlink(missing_ok=True)
        if self._new:  # nobody else uses a directory that did not exist
            with contextlib.suppress(OSError):  # Windows keeps a file that is open
                self._lock.unlink(missing_ok=True)
        for folder in self._new:
            if any(folder.iterdir()):
                return
            folder.rmdir()

    def _holds(self, *patterns: str) -> bool:
        return any(True for pattern in patterns for _ in self.path.glob(pattern))

    def _files_in_use(self, plan: Plan, has_any: bool) -> dict[Path, bool]:
        """Map the config files of the plan to whether finished runs have used them."""
        is_used = {Path(config): has_any for config in plan.configs}
        is_used |= {method_config(method): self._holds(f"{method}-*/*/{_RESULTS}") for method in plan.methods}
        is_used[method_config("ce")] = self._holds(f"ce-*/*/{_RESULTS}", "warmup-*/finished.json")
        return is_used

    # ------------------------------------------------------------------ warm-ups

    def warm_up_checkpoint(self, warm_up: WarmUp) -> Path | None:
        """Find the checkpoint at the end of a finished warm-up; None if it is not finished."""
        note = self.path / warm_up.name / "finished.json"
        if not note.is_file():
            return None
        # Earlier versions noted the path from the directory they were started in.
        return self.path / warm_up.name / Path(*Path(_read_json(note)["checkpoint"]).parts[-3:])

    def finish_warm_up(self, warm_up: WarmUp, write: bool) -> Path:
        """Check that the newest run of a warm-up has reached its end, note it, and return its last checkpoint."""
        folder, record = self._newest(warm_up.name)
        if folder is None or record is None:
            raise InputError(
                f"the {warm_up.title} did not reach its end. Type the same command to repeat it."
            )
        checkpoint = folder / _LAST
        at = _position(checkpoint)
        if at["steps"] != record.steps:
            raise InputError(
                f"{checkpoint} was saved at step {at['steps']}, not at the warm-up's end (step {record.steps}), where "
                "the methods start. Leave out the --checkpoint options."
            )
        if write:
            content = {"checkpoint": str(checkpoint.relative_to(self.path / warm_up.name)), **at}
            write_text(self.path / warm_up.name / "finished.json", json.dumps(content, indent=2) + "\n")
        return checkpoint

    def _newest(self, name: str) -> tuple[Path | None, Record | None]:
        """Find the newest directory whose training reached its end, and its record."""
        folders = list((self.path / name).glob("version_*/"))
        with_record = [(folder, record) for folder in folders if (record := Record.read(folder)) is not None]
        if not with_record:
            return None, None
        return max(with_record, key=lambda pair: pair[0].stat().st_mtime)

    def _check_warm_up(self, warm_up: WarmUp, plan: Plan) -> None:
        """Reject a warm-up whose checkpoint is not at its end: earlier versions started at its best epoch."""
        checkpoint = self.warm_up_checkpoint(warm_up)
        if checkpoint is None:
            return
        note = _read_json(self.path / warm_up.name / "finished.json")
        at = _position(checkpoint)
        is_old = "steps" not in note
        if at["epoch"] + 1 < plan.warmup_epochs if is_old else at["steps"] != note["steps"]:
            end = f"epoch {plan.warmup_epochs}" if is_old else f"step {note['steps']}"
            where = f"epoch {at['epoch'] + 1}" if is_old else f"step {at['steps']}"
            raise InputError(
                f"`--out {self.path}` holds a comparison whose {warm_up.title} has its checkpoint at {where}, not at "
                f"its end ({end}){', as an earlier version of pauc made it' if is_old else ''}: its methods started "
                "elsewhere. Give another --out."
            )

    # ------------------------------------------------------------------ runs

    def finished(self, run: Run) -> Path | None:
        """Find the newest directory of a finished run; None if there is none."""
        finished = list((self.path / run.name).glob(f"version_*/{_RESULTS}"))
        return max(finished, key=lambda path: path.stat().st_mtime).parent if finished else None

    def result(self, run: Run) -> float | None:
        """Read the test result of a finished run; None if it is not finished."""
        folder = self.finished(run)
        return None if folder is None else float(_read_json(folder / _RESULTS)["pauc"])

    def record(self, cell: Cell) -> Record | None:
        """Read how the training of a finished cell ended, if that was recorded."""
        if isinstance(cell, Run):
            folder = self.finished(cell)
        else:
            checkpoint = self.warm_up_checkpoint(cell)
            folder = None if checkpoint is None else checkpoint.parents[1]
        return None if folder is None else Record.read(folder)

    def log(self, cell: Cell) -> Path:
        """The file with the output of the cell's latest training."""
        return self.path / cell.name / "log.txt"

    def missing(self, plan: Plan) -> list[Cell]:
        """List the cells to train in order, each warm-up before the runs that start from it."""
        missing: list[Cell] = []
        for seed in plan.seeds:
            runs = [run for run in plan.runs if run.seed == seed and self.finished(run) is None]
            is_needed = bool(runs) and plan.warmup_epochs > 0
            if is_needed and self.warm_up_checkpoint(WarmUp(seed)) is None:
                missing.append(WarmUp(seed))
            missing += runs
        return missing


def _settings(plan: Plan) -> dict[str, Any]:
    return {
        "config": list(plan.configs),
        "options": _options_in_order(plan.extra),
        "epochs": plan.epochs,
        "warmup_epochs": plan.warmup_epochs,
    }


def _options_in_order(extra: Sequence[str]) -> list[str]:
    """Sort the options, with their values, by name.

    Example:
        >>> _options_in_order(["--b", "1", "--a=2"])
        ['--a=2', '--b 1']
    """
    options: list[list[str]] = []
    for text in extra:
        if text.startswith("-") or not options:
            options.append([])
        options[-1].append(text)
    return sorted(" ".join(option) for option in options)


def _text(path: Path) -> str:
    return path.read_text(errors="replace") if path.is_file() else ""


def _read_json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text())
        if not isinstance(content, dict):
            raise ValueError("not an object")
    except (ValueError, OSError) as error:
        raise InputError(f"{path} is damaged or cannot be read ({error}): give another --out.") from error
    return content


def _position(checkpoint: Path) -> dict[str, int]:
    """Read the epoch and step at which a checkpoint was saved."""
    try:
        content = read_checkpoint(checkpoint)
        return {"epoch": int(content["epoch"]), "steps": int(content["global_step"])}
    except (InputError, KeyError) as error:
        raise InputError(
            f"The methods cannot start from {checkpoint}: {error} Give another --out to start again."
        ) from error
