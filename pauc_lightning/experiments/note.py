"""comparison.json: the settings of a comparison, so that runs made with different ones are never mixed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from pauc_lightning.errors import InputError
from pauc_lightning.experiments.axes import WARM_UP
from pauc_lightning.experiments.data_files import data_files
from pauc_lightning.experiments.plan import Plan
from pauc_lightning.experiments.variant import Variant
from pauc_lightning.files import write_text

_DASHBOARDS = ("--wandb", "--tensorboard")
_AXES = ("methods", "data", "backbones", WARM_UP)


class Note:
    """The settings that the finished runs of a directory were made with.

    Args:
        folder: The directory of the comparison.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = folder / "comparison.json"

    def check(self, plan: Plan, used: Mapping[str, set[str]]) -> None:
        """Reject a plan whose settings differ from those of finished runs.

        Args:
            plan: The comparison.
            used: By axis, the labels that finished runs have; empty if there are no finished runs.
        """
        if not any(used.values()):
            return
        earlier = read_json(self.path) if self.path.is_file() else {}
        settings = _settings(plan)
        for key in settings if earlier else ():
            # Earlier versions did not record the number of threads and did not tune.
            if settings[key] != earlier.get(key, settings[key] if key == "threads" else None):
                raise InputError(
                    f"`--out {self.folder}` holds a comparison with other settings ({key}: {earlier.get(key)}, now "
                    f"{settings[key]}). Give another --out. Methods, regions and seeds may differ: they are added."
                )
        for axis, label, variant in _values(plan):
            if label in used.get(axis, ()):
                self._check_variant(axis, label, variant, earlier)
        texts = earlier.get("files", {})
        for path in _files_in_use(plan, used):
            if str(path) not in texts:
                raise InputError(
                    f"`--out {self.folder}` holds runs that may have been made with another version of {path}, whose "
                    f"content {self.path} does not record. Give another --out."
                )
            if texts[str(path)] != _text(plan, path):
                raise InputError(
                    f"`--out {self.folder}` holds runs made with another version of {path}. Give another --out, or "
                    f"undo the change (the old content is in {self.path})."
                )
        self._check_data(plan, used, earlier.get("data_files", {}))

    def is_missed(self, plan: Plan, used: Mapping[str, set[str]]) -> bool:
        """Whether runs of the plan are finished, but nothing says with which settings."""
        return any(used.values()) and bool(_files_in_use(plan, used)) and not self.path.is_file()

    def _check_data(self, plan: Plan, used: Mapping[str, set[str]], earlier: Mapping[str, str]) -> None:
        labels = [label for label in plan.data if label in used.get("data", ())] if plan.data else [""]
        for path, checksum in _data_files(plan, labels).items():
            if earlier.get(path, checksum) != checksum:  # earlier versions did not record it
                raise InputError(
                    f"`--out {self.folder}` holds runs made with other data: {path} has changed since. Give another "
                    "--out, or restore the file."
                )

    def _check_variant(self, axis: str, label: str, variant: Variant, earlier: Mapping[str, Any]) -> None:
        now = variant.as_dict()
        # Earlier versions had no options for single methods.
        before = earlier.get(axis, {}).get(label, {"config": list(variant.configs), "options": []})
        if before.get("start", "warmup") != variant.start:
            raise InputError(
                f"`--out {self.folder}` holds runs of {label} with another start ({before.get('start', 'warmup')}, now "
                f"{variant.start}). Give another --out, or another label."
            )
        for key in ("config", "options"):
            if before[key] != now[key]:
                raise InputError(
                    f"`--out {self.folder}` holds runs of {label} with other settings ({key}: "
                    f"{' '.join(before[key]) or 'none'}, now {' '.join(now[key]) or 'none'}). Give another --out, or "
                    "another label."
                )

    def write(self, plan: Plan) -> None:
        """Record the settings and the contents of the config files; what other runs were made with is kept."""
        earlier = read_json(self.path) if self.path.is_file() else {}
        content: dict[str, Any] = _settings(plan)
        for axis in _AXES:
            content[axis] = dict(earlier.get(axis, {}))
        for axis, label, variant in _values(plan):
            content[axis][label] = variant.as_dict()
        files = [*map(Path, plan.configs), *(Path(p) for *_, v in _values(plan) for p in v.configs)]
        content["files"] = {**earlier.get("files", {}), **{str(path): _text(plan, path) for path in files}}
        content["data_files"] = {
            **earlier.get("data_files", {}),
            **_data_files(plan, list(plan.data) or [""]),
        }
        write_text(self.path, json.dumps(content, indent=2) + "\n")


def common_settings(plan: Plan) -> str:
    """Write the sections of the experiment's file that go to every run; empty if it has none."""
    if plan.experiment is None or not plan.experiment.common:
        return ""
    text: str = yaml.safe_dump(dict(plan.experiment.common), sort_keys=False)
    return text


def read_json(path: Path, remedy: str = "give another --out") -> dict[str, Any]:
    """Read an object from a file of the comparison.

    Args:
        path: The file.
        remedy: What the message proposes if it cannot be read.
    """
    try:
        content = json.loads(path.read_text())
        if not isinstance(content, dict):
            raise ValueError("not an object")
    except (ValueError, OSError) as error:
        raise InputError(f"{path} is damaged or cannot be read ({error}): {remedy}.") from error
    return content


def _settings(plan: Plan) -> dict[str, Any]:
    return {
        "config": list(plan.configs),
        "options": _options_in_order(plan.extra),
        "epochs": plan.epochs,
        "warmup_epochs": plan.warmup_epochs,
        "threads": plan.threads,
        "tuned": None if plan.tuning is None else plan.tuning.trials or "for a time",
    }


def _values(plan: Plan) -> Iterator[tuple[str, str, Variant]]:
    """Yield all values of all axes, with the axis and the label."""
    axes = {"methods": plan.methods, "data": plan.data, "backbones": plan.backbones}
    for axis, values in axes.items():
        for label, variant in values.items():
            yield axis, label, variant
    if plan.warmup_epochs > 0:
        yield WARM_UP, WARM_UP, plan.warm_up


def _data_files(plan: Plan, labels: Sequence[str]) -> dict[str, str]:
    """The checksums of the files that the data sets of these labels are read from."""
    found: dict[str, str] = {}
    for label in labels:
        variant = plan.data.get(label, Variant())
        configs = [part for path in (*plan.configs, *variant.configs) for part in ("-c", path)]
        found |= data_files([*configs, *variant.options, *plan.extra, *variant.last])
    return found


def _files_in_use(plan: Plan, used: Mapping[str, set[str]]) -> list[Path]:
    """List the config files of the plan that finished runs have used."""
    shared = list(plan.configs)
    single = [path for axis, label, v in _values(plan) if label in used.get(axis, ()) for path in v.configs]
    return [Path(path) for path in (*shared, *single)]


def _text(plan: Plan, path: Path) -> str:
    """The content of a config file; of the experiment's, only what goes to the runs, as its axes may grow."""
    if plan.experiment is not None and path == plan.experiment.path:
        return common_settings(plan)
    return path.read_text(errors="replace") if path.is_file() else ""


def _options_in_order(extra: Sequence[str]) -> list[str]:
    """Sort the options, with their values, by name; those of dashboards change no result and are left out.

    Example:
        >>> _options_in_order(["--b", "1", "--a=2", "--wandb=offline"])
        ['--a=2', '--b 1']
    """
    options: list[list[str]] = []
    for text in extra:
        if text.startswith("-") or not options:
            options.append([])
        options[-1].append(text)
    return sorted(" ".join(option) for option in options if not option[0].startswith(_DASHBOARDS))
