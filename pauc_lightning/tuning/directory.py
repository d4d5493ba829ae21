"""The directory of a search: its settings, warm-ups and trials."""

from __future__ import annotations

import contextlib
import json
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pauc_lightning.config_files import find_config
from pauc_lightning.errors import InputError
from pauc_lightning.experiments import lock
from pauc_lightning.experiments.data_files import data_files
from pauc_lightning.experiments.outcome import Record
from pauc_lightning.files import write_text
from pauc_lightning.tuning.record import read_record
from pauc_lightning.tuning.request import TuneRequest
from pauc_lightning.tuning.space import Space
from pauc_lightning.tuning.trial import Trial, TrialRun

_LAST = Path("checkpoints/last.ckpt")


class TuningDirectory:
    """Keeps the trials of a search.

    ``tuning.json`` holds the settings, which prevents mixing trials made with different ones.
    ``<method>/trial<n>/trial.json`` holds a trial from its proposal on, so one that was killed is repeated with the
    same settings.

    Args:
        path: The directory; it need not exist.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._note = path / "tuning.json"
        self._new: list[Path] = []

    # ------------------------------------------------------------------ one process at a time

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Lock the directory against other searches; the system releases the lock if the process is killed.

        Raises:
            InputError: If another process holds the directory, or it cannot be created.
        """
        with lock.held(self.path, "search") as self._new:
            yield

    def withdraw(self) -> None:
        """Leave the file system as it was before, because the first training rejected the request."""
        if self._new and not self._has_results():
            shutil.rmtree(self.path)
            for folder in self._new[1:]:
                if any(folder.iterdir()):
                    return
                folder.rmdir()

    # ------------------------------------------------------------------ settings

    def check_and_note(self, request: TuneRequest, spaces: dict[str, Space]) -> None:
        """Reject a directory whose trials were made with other settings; record the settings.

        Raises:
            InputError: If something other than methods, trials or the time differs.
        """
        now = _settings(request)
        earlier = _read_json(self._note) if self._note.is_file() and self._has_results() else {}
        methods = dict(earlier.get("methods", {}))
        for path, checksum in now["data_files"].items() if earlier else ():
            if earlier.get("data_files", {}).get(path, checksum) != checksum:
                raise InputError(
                    f"`--out {self.path}` holds trials made with other data: {path} has changed since. Give another "
                    "--out, or restore the file."
                )
        for key in now if earlier else ():
            changed = _changed_file(now[key], earlier.get(key)) if key == "config_files" else None
            if changed is not None:
                raise InputError(
                    f"`--out {self.path}` holds trials made with another version of {changed}. Give another --out, or "
                    f"undo the change (the old content is in {self._note})."
                )
            if key == "warm_ups" and self._has_used_no_warm_up(methods):
                continue
            if key != "data_files" and now[key] != earlier.get(key):
                raise InputError(
                    f"`--out {self.path}` holds a search with other settings ({key}: {earlier.get(key)}, now "
                    f"{now[key]}). Give another --out. Methods and trials may be added."
                )
        for method in request.methods:
            settings = _method_settings(request, method, spaces[method])
            if method in methods and methods[method] != settings and self.trials(method):
                keys = dict.fromkeys([*settings, *methods[method]])
                what = next(key for key in keys if settings.get(key) != methods[method].get(key))
                raise InputError(
                    f"`--out {self.path}` holds trials of {method} with another {what}. Give another --out, or undo "
                    f"the change (the old one is in {self._note})."
                )
            methods[method] = settings
        write_text(self._note, json.dumps({**now, "methods": methods}, indent=2) + "\n")

    def check_space(self, method: str, space: Space) -> None:
        """Reject a search space other than that of the trials of a method, for searches that are compared with these.

        Args:
            method: The method.
            space: Its space. Optional options count only where the trials have them, as other data may not.

        Raises:
            InputError: If there are trials of the method with another space.
        """
        if not self._note.is_file() or Trial.read(self.trial_folder(method, 0)) is None:
            return
        earlier = _read_json(self._note).get("methods", {}).get(method, {})
        now = space.without(space.optional - set(earlier.get("search space", ()))).noted()
        what = next((key for key in now if now[key] != earlier.get(key, now[key])), None)
        if what is not None:
            raise InputError(
                f"{self.path} holds trials of {method} with another {what}, and what was searched in different ways "
                f"cannot be compared. Give another --out, or undo the change (the old one is in {self._note})."
            )

    def _has_used_no_warm_up(self, methods: Mapping[str, Mapping[str, Any]]) -> bool:
        """Whether all trials started from initial weights, so that warm-ups may still be added."""
        return not list(self.path.glob("warmup-*/")) and all(
            settings.get("start") == "initial" for method, settings in methods.items() if self.trials(method)
        )

    def _has_results(self) -> bool:
        return any(
            True
            for pattern in ("*/trial*/trial.json", "warmup-*/finished.json")
            for _ in self.path.glob(pattern)
        )

    # ------------------------------------------------------------------ warm-ups

    def warm_up(self, seed: int) -> Path | None:
        """Find the checkpoint at the end of a finished warm-up; None if it is not finished."""
        folder = self.path / f"warmup-seed{seed}"
        note = folder / "finished.json"
        if not note.is_file():
            return None
        checkpoint = folder / str(_read_json(note)["checkpoint"])
        if not checkpoint.is_file():
            raise InputError(
                f"{checkpoint} is missing, where the trials start: delete {folder} to train it again."
            )
        return checkpoint

    def finish_warm_up(self, seed: int) -> Path:
        """Note that a warm-up has ended, and return its last checkpoint."""
        folder = self.path / f"warmup-seed{seed}"
        ended = [
            run
            for run in folder.glob("version_*/")
            if Record.read(run) is not None and (run / _LAST).is_file()
        ]
        if not ended:
            raise InputError(
                f"the warm-up, seed {seed}, left no checkpoint: leave out the --checkpoint options."
            )
        run = max(ended, key=lambda run: run.stat().st_mtime)
        write_text(
            folder / "finished.json",
            json.dumps({"checkpoint": (run.relative_to(folder) / _LAST).as_posix()}) + "\n",
        )
        return run / _LAST

    # ------------------------------------------------------------------ trials

    def trial_folder(self, method: str, number: int) -> Path:
        """The directory of a trial."""
        return self.path / method / f"trial{number:03d}"

    def trials(self, method: str) -> list[Trial]:
        """Read the trials of a method, in order; a gap ends them."""
        found: list[Trial] = []
        while (trial := Trial.read(self.trial_folder(method, len(found)))) is not None:
            found.append(trial)
        return found

    def keep(self, method: str, trial: Trial) -> None:
        """Write a trial."""
        trial.write(self.trial_folder(method, trial.number))

    def clear_run(self, method: str, number: int, seed: int) -> None:
        """Remove what a killed training of a trial has left."""
        shutil.rmtree(self.trial_folder(method, number) / f"seed{seed}", ignore_errors=True)

    def run_folder(self, method: str, number: int, seed: int) -> Path:
        """The run's directory of a trial's training that has ended, or would have."""
        return self.trial_folder(method, number) / f"seed{seed}" / "version_0"

    def finished_run(self, method: str, number: int, seed: int, seconds: float = 0.0) -> TrialRun | None:
        """Read what a training has left; None if it did not end."""
        folder = self.run_folder(method, number, seed)
        content = read_record(folder)
        if content is None:
            return None
        record = Record.read(folder)
        collapse = record.collapses[0] if record is not None and record.collapses else None
        text = f"by step {collapse.step}, {collapse.what}" if collapse is not None else None
        return TrialRun(seed, **content, collapse=text, seconds=seconds)

    def log(self, method: str, number: int, seed: int) -> Path:
        """The file with the output of a trial's training."""
        return self.trial_folder(method, number) / f"seed{seed}" / "log.txt"

    def drop_checkpoints(self, method: str, trial: Trial) -> None:
        """Delete the checkpoints of a trial, which would fill the disk; its curves and settings stay."""
        for seed in trial.seeds:
            shutil.rmtree(self.run_folder(method, trial.number, seed) / "checkpoints", ignore_errors=True)


def _settings(request: TuneRequest) -> dict[str, Any]:
    return {
        "config": list(request.configs),
        "config_files": {name: _text(find_config(name)) for name in request.configs},
        "options": list(request.options),
        "region": request.region.name,
        "seeds": list(request.seeds),
        "epochs": request.epochs,
        "warmup_epochs": request.warmup_epochs,
        "pruning": request.pruning,
        "search_seed": request.search_seed,
        "warm_ups": {str(seed): str(path) for seed, path in (request.warm_ups or {}).items()},
        "threads": request.threads,
        "data_files": _data_files(request),
    }


def _changed_file(now: Mapping[str, str], earlier: Mapping[str, str] | None) -> str | None:
    """The first file whose content has changed."""
    return next((name for name, text in now.items() if text != (earlier or {}).get(name, text)), None)


def _data_files(request: TuneRequest) -> dict[str, str]:
    configs = [part for name in request.configs for part in ("-c", str(find_config(name)))]
    found: dict[str, str] = {}
    for method in request.methods:
        found |= data_files([*configs, *request.options_of(method)])
    return found


def _method_settings(request: TuneRequest, method: str, space: Space) -> dict[str, Any]:
    return {
        "config": {str(path): _text(path) for path in request.configs_of(method)},
        **space.noted(),
        "set of options": list(request.method_options.get(method, ())),
        # Earlier versions had no other start.
        **({"start": "initial"} if method in request.from_initial_weights else {}),
    }


def _text(path: Path) -> str:
    return path.read_text(errors="replace") if path.is_file() else ""


def _read_json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(content, dict):
            raise ValueError("not an object")
    except (ValueError, OSError) as error:
        raise InputError(f"{path} is damaged or cannot be read ({error}): give another --out.") from error
    return content
