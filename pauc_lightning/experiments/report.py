"""The results of a comparison: tables and a figure, printed and saved."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from pauc_lightning.experiments.cells import Run
from pauc_lightning.experiments.outcome import Outcome
from pauc_lightning.experiments.plan import Plan
from pauc_lightning.experiments.table import Table, as_csv
from pauc_lightning.experiments.training_part import QUANTITIES
from pauc_lightning.files import complete_binary_file, write_text
from pauc_lightning.metrics.functional import RocCurve
from pauc_lightning.region import Region


@dataclass(frozen=True)
class Section:
    """A table with its heading and its name in the CSV file."""

    quantity: str
    heading: str
    table: Table


@dataclass(frozen=True)
class Results:
    """The results of a comparison.

    Args:
        plan: The comparison.
        outcomes: The outcome of every run.
        curves: The ROC curves on the test part, of the runs that have one.
        on_training_part: Values on the training part by run and quantity; empty unless requested.
        notes: Sentences to print below the tables.
    """

    plan: Plan
    outcomes: Mapping[Run, Outcome]
    curves: Mapping[Run, RocCurve]
    on_training_part: Mapping[Run, Mapping[str, float]]
    notes: tuple[str, ...] = ()

    def sections(self) -> Iterator[Section]:
        """Yield the table of the test part and, if requested, those of the training part."""
        yield Section("test_pauc", "", self._table(self.outcomes.__getitem__))
        if not self.plan.train_part:
            return
        for name, heading in QUANTITIES.items():
            values = {run: Outcome(found.get(name)) for run, found in self.on_training_part.items()}
            yield Section(f"train_{name}", f"{heading}:", self._table(values.__getitem__))

    def markdown(self) -> str:
        """Write the tables and notes."""
        texts = [text for s in self.sections() for text in (s.heading, s.table.markdown()) if text]
        return "\n\n".join([*texts, *(["\n".join(self.notes)] if self.notes else [])])

    def csv(self) -> str:
        """Write all values for programs."""
        return as_csv([row for s in self.sections() for row in s.table.rows_for_csv(s.quantity)])

    def save(self) -> list[Path]:
        """Save the tables and, if there are curves, the figure; return the files."""
        folder = self.plan.out
        markdown, csv, figure = (folder / name for name in ("table.md", "table.csv", "roc.png"))
        write_text(markdown, self.markdown() + "\n")
        write_text(csv, self.csv())
        if not self.curves:
            return [markdown, csv]
        self._save_figure(figure)
        return [markdown, csv, figure]

    def _save_figure(self, path: Path) -> None:
        from pauc_lightning.plotting import MethodCurves, plot_methods  # matplotlib is slow to import

        panels: dict[Region, dict[str, MethodCurves]] = {}
        for region in self.plan.regions:
            for method in self.plan.methods:
                runs = [Run(method, region, seed) for seed in self.plan.seeds]
                found = [(self.curves[run], self.outcomes[run].value) for run in runs if run in self.curves]
                values = [value for _, value in found if value is not None]
                if values:
                    curves = [curve for curve, value in found if value is not None]
                    panels.setdefault(region, {})[method] = MethodCurves(curves, values)
        with complete_binary_file(path) as file:
            plot_methods(panels, self._figure_title()).savefig(file, format="png", dpi=150)

    def _figure_title(self) -> str:
        n_seeds = len(self.plan.seeds)
        over = f": mean and range over {n_seeds} seeds" if n_seeds > 1 else ""
        return f"ROC curves on the test part{over}"

    def _table(self, outcome: Callable[[Run], Outcome]) -> Table:
        plan = self.plan
        return Table(plan.methods, plan.regions, plan.seeds, outcome, plan.baseline)
