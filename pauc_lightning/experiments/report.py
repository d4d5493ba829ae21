"""The results of a comparison: tables and figures, saved."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from pauc_lightning.experiments.best_of import BestOf
from pauc_lightning.experiments.cells import Run, Task
from pauc_lightning.experiments.csv_rows import as_csv, csv_rows
from pauc_lightning.experiments.interval import TEST_OVER_TRAIN, Interval
from pauc_lightning.experiments.latex import PREAMBLE, as_latex
from pauc_lightning.experiments.markdown import as_markdown, markdown_legend
from pauc_lightning.experiments.outcome import Outcome
from pauc_lightning.experiments.plan import Plan
from pauc_lightning.experiments.summary import gap_figure, summary_figure, summary_markdown
from pauc_lightning.experiments.table import Best, Paired, Published, Table
from pauc_lightning.experiments.training_part import BEST, QUANTITIES
from pauc_lightning.experiments.variant import Variant, option_names
from pauc_lightning.files import complete_binary_file, write_text
from pauc_lightning.metrics.functional import RocCurve
from pauc_lightning.region import Region

_TEST, _GAP = "test_pauc", "train_gap"
_SAME_DATA = ("data.root", "data.batch_size", "data.eval_batch_size", "data.num_workers")
"""Options of the data that do not change which samples there are."""


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
        test_over_train: For each task, the size of the test part over that of the training part, if it is known.
        published: Returns the published value for a data set, a method and a region.
        paired: Returns the interval of one run's gain over another on the same test samples, for a single seed.
    """

    plan: Plan
    outcomes: Mapping[Run, Outcome]
    curves: Mapping[Run, RocCurve]
    on_training_part: Mapping[Run, Mapping[str, float]]
    notes: tuple[str, ...] = ()
    test_over_train: Mapping[Task, float] = field(default_factory=dict)
    published: Published = lambda data, method, region: None
    paired: Paired = lambda run, other: None

    def sections(self) -> Iterator[Section]:
        """Yield, for each task, the table of the test part and, if requested, those of the training part."""
        for task in self.plan.tasks:
            heading = f"{task.title}:" if task.title else ""
            table = replace(
                self._table(task, self.outcomes.__getitem__),
                published=self._published(task),
                paired=self._paired,
            )
            yield Section(_TEST, heading, table)
            if not self.plan.train_part:
                continue
            for name, title in QUANTITIES.items():
                values = {run: Outcome(found.get(name)) for run, found in self.on_training_part.items()}
                table = self._table(task, values.__getitem__, best=BEST[name])
                yield Section(f"train_{name}", f"{task.prefix}{title}:", table)

    def markdown(self) -> str:
        """Write the tables and notes."""
        texts: list[str] = []
        explained: set[str] = set()
        for section in self.sections():
            texts += [section.heading] if section.heading else []
            texts.append(as_markdown(section.table, explained))
            explained.update(markdown_legend(section.table))
        return "\n\n".join([*texts, *(["\n".join(self.notes)] if self.notes else [])])

    def summary(self) -> str | None:
        """Write all gains in one table for each region; None if there is one table, or nothing to compare with."""
        tables = self._overview(_TEST)
        if len(tables) == 1 or len(self.plan.methods) == 1:
            return None
        return summary_markdown(tables, self._overview(_GAP))

    def _overview(self, quantity: str) -> list[Table]:
        """The tables of a quantity, without methods that stand for themselves only in the table of each data set.

        These are the methods from which others are chosen, except the baseline; all are kept if nothing else would be
        left to compare.
        """
        members = {method for methods in self.plan.best_of.values() for method in methods}
        kept = [label for label in self.plan.labels if label not in members or label == self.plan.baseline]
        shown = kept if len(kept) > 1 else self.plan.labels
        tables = (section.table for section in self.sections() if section.quantity == quantity)
        return [replace(table, methods=shown) for table in tables]

    def latex(self) -> str:
        """Write the tables for a paper."""
        captions = ((s, s.heading.rstrip(":") or "Partial AUC on the test part") for s in self.sections())
        return "\n\n".join([PREAMBLE, *(as_latex(s.table, f"{caption}.") for s, caption in captions)])

    def csv(self) -> str:
        """Write all values for programs."""
        rows: list[dict[str, object]] = []
        for section in self.sections():
            rows += csv_rows(section.table, section.quantity)
            if section.quantity == _TEST:
                validation = self._table(
                    section.table.task, lambda run: Outcome(self.outcomes[run].validation)
                )
                # No gains: the largest value of many epochs is too large, the more so the more are tried.
                rows += csv_rows(validation, "val_pauc", with_gains=False)
        return as_csv(rows)

    def save(self) -> list[Path]:
        """Save the tables and, where there are curves, a figure for each task; return the files."""
        summary = self.summary()
        texts = {
            "table.md": self.markdown() + "\n",
            "table.tex": self.latex() + "\n",
            "table.csv": self.csv(),
            **({} if summary is None else {"summary.md": summary + "\n"}),
        }
        for name, text in texts.items():
            write_text(self.plan.out / name, text)
        saved = [self.plan.out / name for name in texts]
        for task in self.plan.tasks:
            if any(run.task == task for run in self.curves):
                saved.append(self.plan.out / task.folder / "roc.png")
                self._save_figure(task, saved[-1])
        if summary is not None:
            saved += self._save_summary_figures()
        return saved

    def _save_summary_figures(self) -> Iterator[Path]:
        tables, gaps = self._overview(_TEST), self._overview(_GAP)
        figures = {"gains.png": summary_figure(tables), "gap.png": gap_figure(tables, gaps) if gaps else None}
        for name, figure in figures.items():
            if figure is not None:
                with complete_binary_file(self.plan.out / name) as file:
                    figure.savefig(file, format="png", dpi=150)
                yield self.plan.out / name

    def _save_figure(self, task: Task, path: Path) -> None:
        from pauc_lightning.plotting import MethodCurves, plot_methods  # matplotlib is slow to import

        panels: dict[Region, dict[str, MethodCurves]] = {}
        for region in self.plan.regions:
            for method in self.plan.methods:
                runs = [Run(method, region, seed, task) for seed in self.plan.seeds]
                found = [(self.curves[run], self.outcomes[run].value) for run in runs if run in self.curves]
                values = [value for _, value in found if value is not None]
                if values:
                    curves = [curve for curve, value in found if value is not None]
                    panels.setdefault(region, {})[method] = MethodCurves(curves, values)
        with complete_binary_file(path) as file:
            plot_methods(panels, self._figure_title(task)).savefig(file, format="png", dpi=150)

    def _figure_title(self, task: Task) -> str:
        n_seeds = len(self.plan.seeds)
        over = f": mean and range over {n_seeds} seeds" if n_seeds > 1 else ""
        return f"{task.prefix}ROC curves on the test part{over}"

    @property
    def _best_of(self) -> BestOf:
        return BestOf(self.plan.best_of, self.outcomes.__getitem__)

    def _paired(self, run: Run, other: Run) -> Interval | None:
        one, two = self._best_of.run(run), self._best_of.run(other)
        return None if one is None or two is None else self.paired(one, two)

    def _published(self, task: Task) -> dict[tuple[str, Region], float]:
        """The published values of the task's data set; none if options make other data of it."""
        plan = self.plan
        variant = plan.data.get(task.data, Variant())
        options = option_names((*variant.options, *plan.extra, *variant.last))
        if any(name.startswith("data") and name not in _SAME_DATA for name in options):
            return {}
        names = [Path(config).stem for config in (*plan.configs, *variant.configs)]
        return {
            (method, region): value
            for region in plan.regions
            for method in plan.methods
            for name in names
            if (value := self.published(name, method, region)) is not None
        }

    def _table(
        self,
        task: Task,
        outcome: Callable[[Run], Outcome],
        best: Best = "largest",
    ) -> Table:
        plan = self.plan
        return Table(
            plan.labels,
            plan.regions,
            plan.seeds,
            self._best_of.extended(outcome),
            plan.baseline,
            task,
            best,
            self.test_over_train.get(task, TEST_OVER_TRAIN),
            from_initial_weights=plan.methods_from_initial_weights,
            best_of=plan.best_of,
        )
