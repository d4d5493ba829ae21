"""The directory of a comparison: which cells it holds, and whether they belong to the plan."""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from pauc_lightning.checkpoint_io import read_checkpoint
from pauc_lightning.cli.configs import given_configs
from pauc_lightning.data.table_reader import few
from pauc_lightning.errors import InputError
from pauc_lightning.experiments import lock
from pauc_lightning.experiments.axes import WARM_UP
from pauc_lightning.experiments.cells import Cell, Run, WarmUp
from pauc_lightning.experiments.data_files import data_files
from pauc_lightning.experiments.note import Note, common_settings, read_json
from pauc_lightning.experiments.outcome import RESULTS, Outcome, Record, read_result
from pauc_lightning.experiments.plan import Plan
from pauc_lightning.files import write_text

_FINISHED, _STARTED = "finished.json", "started.json"
_LAST = Path("checkpoints/last.ckpt")
_COMMON = "common.yaml"
TASKS = ("", "*/", "*/*/")
"""Cells lie directly in the directory, or below a data set or backbone, or below both."""
_RUN = re.compile(r"(.+)-(?:auc|[ot]pauc_.+)-seed\d+")


class ComparisonDirectory:
    """Finds the cells of a comparison in its directory.

    ``comparison.json`` holds the settings. ``<cell>/started.json`` tells with which settings a cell was started last,
    so that an interrupted one is continued only with the same. ``<warm-up>/finished.json`` names the checkpoint at the
    warm-up's end. A run is finished when it has been tested.

    Args:
        path: The directory; it need not exist.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.note = Note(path)
        self._new: list[Path] = []

    # ------------------------------------------------------------------ one process at a time

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Lock the directory against other comparisons; the system releases the lock if the process is killed.

        Raises:
            InputError: If another process holds the directory, or it cannot be created.
        """
        with lock.held(self.path, "`pauc compare`") as self._new:
            yield

    # ------------------------------------------------------------------ settings

    def check(self, plan: Plan) -> None:
        """Reject a directory whose runs were made with other settings. Nothing is written.

        Only finished runs count, so a mistake can be corrected in the same directory.
        """
        nearest = next((folder for folder in (self.path, *self.path.parents) if folder.exists()), Path())
        if not nearest.is_dir():
            raise InputError(f"`--out {self.path}`: {nearest} is a file. Give the name of a directory.")
        used = self._used(plan)
        if self.note.is_missed(plan, used):
            raise InputError(self._why_no_note())
        self.note.check(plan, used)
        for warm_up in plan.warm_ups:
            self._check_warm_up(warm_up, plan)

    def write_settings(self, plan: Plan) -> Path | None:
        """Record the settings, and write those that go to every run to a file; return it, if there are any."""
        self.note.write(plan)
        text = common_settings(plan)
        if not text:
            return None
        write_text(self.path / _COMMON, text)
        return self.path / _COMMON

    def withdraw_settings(self) -> None:
        """Leave the file system as it was before, because the first training rejected the plan."""
        if next(self._finished_cells(), None) is not None:
            return
        for name in (self.note.path.name, _COMMON):
            (self.path / name).unlink(missing_ok=True)
        if self._new:  # nobody else uses a directory that did not exist
            with contextlib.suppress(OSError):  # Windows keeps a file that is open
                (self.path / lock.NAME).unlink(missing_ok=True)
        for folder in self._new:
            if any(folder.iterdir()):
                return
            folder.rmdir()

    def _finished_cells(self) -> Iterator[Path]:
        """Yield the directories of all finished cells, below that of the comparison."""
        for tasks in TASKS:
            for pattern, levels in (
                (f"{tasks}*/version_*/{RESULTS}", 1),
                (f"{tasks}warmup-*/{_FINISHED}", 0),
            ):
                for path in self.path.glob(pattern):
                    yield path.relative_to(self.path).parents[levels]

    def _why_no_note(self) -> str:
        """Say whose the finished cells are if no note of this directory records them."""
        name = self.note.path.name
        others = sorted(path.parent for level in TASKS[1:] for path in self.path.glob(f"{level}{name}"))
        cells = [self.path / cell for cell in self._finished_cells()]
        if others and not any(set(cell.parents).isdisjoint(others) for cell in cells):
            return (
                f"`--out {self.path}` holds other comparisons: {few(others)}. Continue one with --out {others[0]}, or "
                "give another --out."
            )
        return (
            f"`--out {self.path}` holds finished runs, but no {name}, which says with which settings they were made: "
            "put it back, or give another --out."
        )

    def _used(self, plan: Plan) -> dict[str, set[str]]:
        """The labels of the finished cells, by axis."""
        used: dict[str, set[str]] = {"methods": set(), "data": set(), "backbones": set(), WARM_UP: set()}
        for cell in self._finished_cells():
            *task, name = cell.parts
            found = _RUN.fullmatch(name)
            if found:
                used["methods"].add(found[1])
            else:
                used[WARM_UP].add(WARM_UP)
            if plan.data:
                used["data"].update(task[:1])
            if plan.backbones:
                used["backbones"].update(task[-1:])
        return used

    # ------------------------------------------------------------------ started cells

    def begin(self, cell: Cell, arguments: Sequence[str], threads: int) -> None:
        """Note with which settings a cell is started, and in which directory."""
        content = {"settings": _digest(arguments, threads), "version": self._next_version(cell)}
        write_text(self.path / cell.folder / _STARTED, json.dumps(content, indent=2) + "\n")

    def give_up(self, cell: Cell) -> None:
        """Forget that a cell was started, because it failed: it starts anew the next time."""
        (self.path / cell.folder / _STARTED).unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # something else is in it
            (self.path / cell.folder).rmdir()

    def interrupted(self, cell: Cell, arguments: Sequence[str], threads: int) -> Path | None:
        """Find the directory of a cell that was interrupted and can be continued.

        Args:
            cell: The cell.
            arguments: The command that trains it; only a cell started by the same command is continued.
            threads: The number of threads.
        """
        note = self.path / cell.folder / _STARTED
        if not note.is_file():
            return None
        started = read_json(note, "delete it, and the training starts anew")
        folder = note.parent / f"version_{started.get('version')}"
        if started.get("settings") != _digest(arguments, threads) or not (folder / "config.yaml").is_file():
            return None
        try:
            read_checkpoint(folder / _LAST, to_resume=True)
        except InputError:  # there is none, or it is damaged
            return None
        return folder

    def _next_version(self, cell: Cell) -> int:
        names = (path.name.removeprefix("version_") for path in (self.path / cell.folder).glob("version_*"))
        return max((int(name) for name in names if name.isdecimal()), default=-1) + 1

    # ------------------------------------------------------------------ warm-ups

    def warm_up_checkpoint(self, warm_up: WarmUp) -> Path | None:
        """Find the checkpoint at the end of a finished warm-up; None if it is not finished."""
        folder = self.path / warm_up.folder
        if not (folder / _FINISHED).is_file():
            return None
        checkpoint = read_json(folder / _FINISHED).get("checkpoint")
        if not isinstance(checkpoint, str):
            raise InputError(f"{folder / _FINISHED} is damaged (it names no checkpoint): give another --out.")
        # Earlier versions noted the path from the directory they were started in.
        return folder / Path(*Path(checkpoint).parts[-3:])

    def finish_warm_up(self, warm_up: WarmUp) -> None:
        """Check that the newest run of a warm-up has reached its end, and note its last checkpoint."""
        folder, record = self._newest(warm_up)
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
        content = {"checkpoint": str(checkpoint.relative_to(self.path / warm_up.folder)), **at}
        write_text(self.path / warm_up.folder / _FINISHED, json.dumps(content, indent=2) + "\n")

    def _newest(self, cell: Cell) -> tuple[Path | None, Record | None]:
        """Find the newest directory whose training reached its end, and its record."""
        folders = list((self.path / cell.folder).glob("version_*/"))
        with_record = [(folder, record) for folder in folders if (record := Record.read(folder)) is not None]
        if not with_record:
            return None, None
        return max(with_record, key=lambda pair: pair[0].stat().st_mtime)

    def _check_warm_up(self, warm_up: WarmUp, plan: Plan) -> None:
        """Reject a warm-up whose checkpoint is not at its end: earlier versions started at its best epoch."""
        checkpoint = self.warm_up_checkpoint(warm_up)
        if checkpoint is None:
            return
        note = read_json(self.path / warm_up.folder / _FINISHED)
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
        finished = list((self.path / run.folder).glob(f"version_*/{RESULTS}"))
        return max(finished, key=lambda path: path.stat().st_mtime).parent if finished else None

    def result(self, run: Run) -> float | None:
        """Read the test result of a finished run; None if it is not finished."""
        folder = self.finished(run)
        return None if folder is None else read_result(folder)

    def record(self, cell: Cell) -> Record | None:
        """Read how the training of a finished cell ended, if that was recorded."""
        if isinstance(cell, Run):
            folder = self.finished(cell)
        else:
            checkpoint = self.warm_up_checkpoint(cell)
            folder = None if checkpoint is None else checkpoint.parents[1]
        return None if folder is None else Record.read(folder)

    def outcome(self, cell: Cell) -> Outcome:
        """Read the outcome of a finished cell; empty if it is not finished."""
        record = self.record(cell)
        collapse = record.collapses[0] if record is not None and record.collapses else None
        value = self.result(cell) if isinstance(cell, Run) else None
        if value is None or record is None:
            return Outcome(value, collapse)
        return Outcome(value, collapse, is_start=record.best_is_start, validation=record.best_value)

    def log(self, cell: Cell) -> Path:
        """The file with the output of the cell's latest training."""
        return self.path / cell.folder / "log.txt"

    def missing(self, plan: Plan) -> list[Cell]:
        """List the cells to train in order, each warm-up before the runs that start from it."""
        missing: list[Cell] = []
        unfinished = [run for run in plan.runs if self.finished(run) is None]
        for warm_up in dict.fromkeys(run.warm_up for run in unfinished):
            runs = [run for run in unfinished if run.warm_up == warm_up]
            # A search is for all methods at a time, also for those whose runs are finished.
            is_wanted = any(plan.warm_up_of(run) for run in (runs if plan.tuning is None else plan.runs))
            if is_wanted and self.warm_up_checkpoint(warm_up) is None:
                missing.append(warm_up)
            missing += runs
        return missing


def _digest(arguments: Sequence[str], threads: int) -> str:
    """A checksum of a command and of the config and data files that it names."""
    digest = hashlib.sha256(json.dumps([list(arguments), threads, data_files(arguments)]).encode())
    for path in given_configs(arguments):
        digest.update(path.read_bytes() if path.is_file() else b"")
    return digest.hexdigest()


def _position(checkpoint: Path) -> dict[str, int]:
    """Read the epoch and step at which a checkpoint was saved."""
    try:
        content = read_checkpoint(checkpoint)
        return {"epoch": int(content["epoch"]), "steps": int(content["global_step"])}
    except (InputError, KeyError) as error:
        raise InputError(
            f"The methods cannot start from {checkpoint}: {error} Give another --out to start again."
        ) from error
