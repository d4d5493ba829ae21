"""What W&B would upload of the runs that it has written offline."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import wandb

from pauc_lightning.cli.wandb_files import records


@dataclass
class OfflineRun:
    """What an offline run would upload."""

    folder: Path
    id: str = ""
    project: str = ""
    name: str = ""
    group: str = ""
    job_type: str = ""
    exit_code: int | None = None
    config: dict[str, Any] = field(default_factory=dict)
    summary: dict[str, Any] = field(default_factory=dict)
    history: list[dict[str, Any]] = field(default_factory=list)
    summaries_by_rule: dict[str, set[str]] = field(default_factory=dict)
    artifacts: list[tuple[str, str, set[str]]] = field(default_factory=list)

    def curve(self, name: str) -> list[tuple[int, Any]]:
        """Steps and values under a name."""
        return [(row["trainer/global_step"], row[name]) for row in self.history if name in row]


def offline_runs(folder: Path) -> list[OfflineRun]:
    """All offline runs in a ``wandb`` folder, in the order in which they were started."""
    wandb.finish()
    wandb.teardown()  # W&B completes its files when its own process ends
    return [_read(path) for path in sorted(folder.glob("offline-run-*/*.wandb"))]


def _read(path: Path) -> OfflineRun:
    found = OfflineRun(path.parent)
    for record in records(path):
        kind = record.WhichOneof("record_type")
        if kind == "run":
            run = record.run
            found.id, found.project, found.name = run.run_id, run.project, run.display_name
            found.group, found.job_type = run.run_group, run.job_type
            _update(found.config, run.config.update)
        elif kind == "config":
            _update(found.config, record.config.update)
        elif kind == "summary":
            _update(found.summary, record.summary.update)
        elif kind == "history":
            row: dict[str, Any] = {}
            _update(row, record.history.item)
            found.history.append(row)
        elif kind == "metric" and record.metric.name:
            kinds = {descriptor.name for descriptor, is_set in record.metric.summary.ListFields() if is_set}
            found.summaries_by_rule[record.metric.name] = kinds
        elif kind == "artifact":
            artifact = record.artifact
            paths = {entry.path for entry in artifact.manifest.contents}
            found.artifacts.append((artifact.type, artifact.name, paths))
        elif kind == "exit":
            found.exit_code = record.exit.exit_code
    return found


def _update(target: dict[str, Any], items: Any) -> None:
    for item in items:
        *outer, last = item.nested_key or [item.key]
        place = target
        for key in outer:
            place = place.setdefault(key, {})
        place[last] = json.loads(item.value_json)
