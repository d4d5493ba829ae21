"""A comparison in Weights & Biases: its cells in one group, its table as an artifact."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_FOLDER = "wandb_table"
_LONGEST_GROUP = 128


@dataclass(frozen=True)
class ComparisonInWandb:
    """Where a comparison is in W&B.

    Args:
        project: Its project.
        group: The group of its runs.
        offline: Whether W&B writes to disk only, for a later ``wandb sync``.
    """

    project: str
    group: str
    offline: bool

    @classmethod
    def of(cls, config: Mapping[str, Any], out: Path) -> ComparisonInWandb | None:
        """Read where a comparison goes from the settings that ``pauc fit --print_config`` prints; None without W&B.

        Args:
            config: The settings of one of its cells.
            out: The directory of the comparison, after which its group is named if no group is given.
        """
        mode = config.get("wandb", "off")
        if mode == "off":
            return None
        group = config.get("wandb_group") or "-".join(out.absolute().parts[-2:])[-_LONGEST_GROUP:]
        return cls(str(config["wandb_project"]), group, mode == "offline")

    def fit_options(self, job_type: str) -> list[str]:
        """The options of ``pauc fit`` that put a cell into the group.

        Args:
            job_type: What the cell is in W&B: ``warm-up``, or the name of the method.
        """
        return [f"--wandb_group={self.group}", f"--wandb_job_type={job_type}"]

    def log_table(self, out: Path, rows: Sequence[Mapping[str, object]], files: Sequence[Path]) -> None:
        """Send the table as a run of its own in the group, and its files as a version of one artifact. On one rank.

        The same comparison, extended by a seed or a method, sends a new version to the same run.

        Args:
            out: The directory of the comparison.
            rows: The rows of its CSV file, which have equal keys. An empty text is a missing value.
            files: Its tables and figures; images are shown beside the table.

        Raises:
            InputError: If W&B cannot be reached or there is no key.
        """
        import wandb

        from pauc_lightning.cli.wandb_files import read_run
        from pauc_lightning.cli.wandb_run import WandbRun, contents, end_earlier_runs, not_reached

        folder = out / _FOLDER
        folder.mkdir(parents=True, exist_ok=True)
        named = WandbRun(self.project, f"{self.group} table", self.group, "table").continued_in(folder)
        end_earlier_runs(folder)  # the last cell
        before, known = contents(folder), read_run(folder)
        try:
            run = wandb.init(dir=str(folder), **named.init_arguments(self.offline))
        except wandb.errors.Error as error:
            raise not_reached(error, folder, before) from error
        try:
            named.write(folder, run.id)
            artifact = wandb.Artifact(_artifact_name(self.group), type="comparison")
            for path in files:
                artifact.add_file(str(path))
            run.log_artifact(artifact)
            images = {
                f"figures/{path.stem}": wandb.Image(str(path)) for path in files if path.suffix == ".png"
            }
            run.log(
                {"table": _table(rows), **images}, step=max(known.rows if known else 0, run.step), commit=True
            )
            for row in rows:
                run.summary.update(_summary(row))
        finally:
            run.finish()


def read_rows(path: Path) -> list[dict[str, object]]:
    """Read the rows of a comparison's ``table.csv``, numbers as numbers."""
    with path.open(newline="", encoding="utf-8") as file:
        return [{name: _number(text) for name, text in row.items()} for row in csv.DictReader(file)]


def _number(text: str) -> object:
    try:
        return float(text)
    except ValueError:
        return text


def _table(rows: Sequence[Mapping[str, object]]) -> Any:
    import wandb

    columns: list[str | int] = list(rows[0])
    data = [[None if row[name] == "" else row[name] for name in rows[0]] for row in rows]
    return wandb.Table(columns=columns, data=data, allow_mixed_types=True)


def _summary(row: Mapping[str, object]) -> dict[str, object]:
    """The mean of a row by quantity, method and region, if the row names them and has one."""
    if not {"quantity", "method", "max_fpr", "min_tpr", "mean"} <= row.keys() or row["mean"] == "":
        return {}
    return {f"{row['quantity']}/{row['method']}_fpr{row['max_fpr']}_tpr{row['min_tpr']}": row["mean"]}


def _artifact_name(group: str) -> str:
    """The group in the letters that W&B allows in the name of an artifact."""
    return re.sub(r"[^\w.-]+", "-", group, flags=re.ASCII).strip("-") + "-table"
