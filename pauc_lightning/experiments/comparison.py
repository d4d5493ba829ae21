"""Runs a comparison: checks it, trains what is missing, and prints and saves the results."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from rich.console import Console
from rich.text import Text

from pauc_lightning.errors import InputError
from pauc_lightning.experiments import still_improving
from pauc_lightning.experiments.board import Board
from pauc_lightning.experiments.cells import Cell, Run, Task, WarmUp
from pauc_lightning.experiments.directory import ComparisonDirectory
from pauc_lightning.experiments.display import display_for, rich_table, terminal_legend
from pauc_lightning.experiments.executors import Executor
from pauc_lightning.experiments.inner_run import InnerRuns, RunFailed, RunPauc
from pauc_lightning.experiments.option_check import check_options
from pauc_lightning.experiments.outcome import Outcome, read_curve
from pauc_lightning.experiments.paired import PairedTests, without_scores
from pauc_lightning.experiments.plan import Plan
from pauc_lightning.experiments.report import Results
from pauc_lightning.experiments.request import n_cores
from pauc_lightning.experiments.table import Published
from pauc_lightning.experiments.training import Training
from pauc_lightning.experiments.training_part import is_on_training_part, on_training_part
from pauc_lightning.experiments.tuned import Options, check_spaces, searches, tuned_options, warm_ups_of
from pauc_lightning.experiments.wandb_table import ComparisonInWandb, read_rows


class Comparison:
    """Carries out a plan; finished runs are not repeated, and interrupted ones are continued.

    Args:
        plan: The comparison.
        run_pauc: The ``pauc`` command, called with its arguments.
        command: The command that continues this comparison.
        executor: Makes the executor that trains the cells; it is called only if there are any.
        published: Returns the published value for a data set, a method and a region.
    """

    def __init__(
        self,
        plan: Plan,
        run_pauc: RunPauc,
        command: str,
        executor: Callable[[], Executor],
        published: Published = lambda data, method, region: None,
    ) -> None:
        self.plan = plan
        self.directory = ComparisonDirectory(plan.out)
        self._run_pauc = InnerRuns(run_pauc)
        self._command = command
        self._executor = executor
        self._published = published
        # Keep the current stream, because the runs' output is captured. A pipe is no terminal, even with FORCE_COLOR.
        self._console = Console(file=sys.stdout, force_terminal=sys.stdout.isatty(), highlight=False)
        self.failures: dict[Cell, str] = {}
        """Why runs have no value; those of earlier comparisons in the same directory may be added."""
        self._warnings: dict[str, Cell] = {}
        self._wandb: ComparisonInWandb | None = None

    def run(self) -> None:
        """Train, print the tables, and save them with the figures.

        Raises:
            InputError: If the plan cannot work; then nothing has been written.
            SystemExit: With status 1 if a run failed, 130 if the comparison was interrupted.
        """
        try:
            with self.held():
                self.train()
                results = self.results()
                files = results.save()
                if self._wandb is not None:
                    self._wandb.log_table(self.plan.out, read_rows(self.plan.out / "table.csv"), files)
        except KeyboardInterrupt:
            self._say_interrupted()
            raise SystemExit(130) from None
        self._print(results, files)
        if self.failures:
            raise SystemExit(1)

    # ------------------------------------------------------------------ training

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Check the plan, and keep other comparisons out of the directory within the block.

        Raises:
            InputError: If the plan cannot work, or the directory is in use; then nothing has been written.
        """
        if self.plan.tuning is not None:
            from pauc_lightning.tuning.proposal import check_installed

            check_installed()  # before the warm-ups, which may take hours
        self.directory.check(self.plan)
        missing = self.directory.missing(self.plan)
        if self.plan.tuning is not None and missing:  # a finished comparison is shown as it is
            check_spaces(self.plan)
        config = check_options(self.plan, missing, self._run_pauc)
        self._wandb = ComparisonInWandb.of(config, self.plan.out)
        with self.directory.held():
            yield

    def train(self) -> None:
        """Train the cells that are missing."""
        self.directory.check(self.plan)  # again: another comparison may have ended since
        missing = self.directory.missing(self.plan)
        if not missing:
            return
        try:
            executor = self._executor()
            common = self.directory.write_settings(self.plan)
            self._say_cores(len(missing), executor.slots)
            with executor:
                if self.plan.tuning is None:
                    self._train_cells(missing, executor, common)
                else:
                    self._tune_and_train(missing, executor, common)
        except InputError:
            self.directory.withdraw_settings()
            raise

    def _train_cells(
        self, cells: Sequence[Cell], executor: Executor, common: Path | None, tuned: Options | None = None
    ) -> None:
        if not cells:
            return
        earlier = {run: self.directory.outcome(run) for run in self.plan.runs if self.directory.finished(run)}
        board = Board(self.plan, cells, earlier, executor.slots)
        training = Training(
            self.plan, self.directory, common, executor, lambda cell: self._added(cell, tuned or {})
        )
        with display_for(board, self._console) as display:
            training.run(cells, board, display)
        self.failures |= training.failures
        self._warnings |= training.warnings

    def _added(self, cell: Cell, tuned: Options) -> list[str]:
        """The options that a cell has besides those of the plan."""
        found = tuned.get(cell, ()) if isinstance(cell, Run) else ()
        if self._wandb is None:
            return list(found)
        return [*found, *self._wandb.fit_options("warm-up" if isinstance(cell, WarmUp) else cell.method)]

    def _tune_and_train(self, missing: Sequence[Cell], executor: Executor, common: Path | None) -> None:
        """Train the warm-ups, search from their ends, and train with the settings found."""
        from pauc_lightning.tuning.display import watching  # needs what only searches need

        self._train_cells(list(warm_ups_of(missing)), executor, common)
        runs = [cell for cell in missing if isinstance(cell, Run)]
        lost = [run for run in runs if run.warm_up in self.failures]
        self.failures |= {
            run: f"not run, because the {run.warm_up.title}, failed, which its search needs: "
            f"{self.failures[run.warm_up]}"
            for run in lost
        }
        runs = [run for run in runs if run not in lost]
        tuned, failures = tuned_options(
            self.plan, self.directory, common, executor, searches(runs), lambda: watching(self._console)
        )
        self.failures |= failures
        self._train_cells([run for run in runs if run in tuned], executor, common, tuned)

    def _say_cores(self, n_cells: int, slots: int) -> None:
        """Say how to use cores that would stay idle."""
        cores, threads = n_cores(), self.plan.threads
        wanted = min(cores // threads, n_cells)
        if self.plan.executor in ("process", "processes") and wanted > slots:
            at_a_time = "one training" if slots == 1 else f"{slots} trainings"
            with_threads = "one thread" if threads == 1 else f"{threads} threads"
            print(
                f"Running {at_a_time} at a time with {with_threads} on {cores} cores: --processes {wanted} is faster.",
                flush=True,
            )

    # ------------------------------------------------------------------ results

    def _outcome(self, run: Run) -> Outcome:
        failure = self.failures.get(run)
        return self.directory.outcome(run) if failure is None else Outcome(failure=failure)

    def results(self) -> Results:
        """Collect the results of the finished runs."""
        finished = {run: folder for run in self.plan.runs if (folder := self.directory.finished(run))}
        curves = {run: curve for run, folder in finished.items() if (curve := read_curve(folder))}
        on_train: dict[Run, dict[str, float]] = {}
        if self.plan.train_part:
            on_train = self._on_training_parts(finished)
        return Results(
            self.plan,
            {run: self._outcome(run) for run in self.plan.runs},
            curves,
            on_train,
            (
                *self._collapsed_warm_ups(),
                *still_improving.notes(list(self.plan.methods), finished, self.plan.tuning is not None),
                *(without_scores(finished) if len(self.plan.seeds) == 1 < len(self.plan.labels) else ()),
                *self._curves_left_out(len(finished) - len(curves)),
            ),
            self._test_over_train(finished),
            self._published,
            PairedTests(finished),
        )

    def _on_training_parts(self, finished: Mapping[Run, Path]) -> dict[Run, dict[str, float]]:
        """Evaluate all runs, which takes a while after long comparisons."""
        todo = sum(not is_on_training_part(folder) for folder in finished.values())
        what = f"Evaluating {todo} {'run' if todo == 1 else 'runs'} on the training part"
        if todo and not self._console.is_terminal:
            print(f"{what} ...", flush=True)
        found, done = {}, 0
        with self._console.status(f"{what} ...") as status:  # shown on a terminal only
            for run in self.plan.runs:
                folder = finished.get(run)
                if folder is not None and not is_on_training_part(folder):
                    done += 1
                    status.update(f"{what}: {done} ...")
                found[run] = self._on_training_part(run, folder)
        return found

    def _on_training_part(self, run: Run, folder: Path | None) -> dict[str, float]:
        if folder is None:
            return {}
        try:
            return on_training_part(folder, run.region, self._run_pauc)
        except RunFailed as failed:
            raise InputError(f"{run.title}, on its training part: {failed.reason}") from failed

    def _test_over_train(self, finished: dict[Run, Path]) -> dict[Task, float]:
        """The ratio of the parts' sizes, which the runs record."""
        ratios: dict[Task, float] = {}
        for run in finished:
            record = None if run.task in ratios else self.directory.record(run)
            if record is not None and record.train_size and record.test_size:
                ratios[run.task] = record.test_size / record.train_size
        return ratios

    def _collapsed_warm_ups(self) -> Iterator[str]:
        for warm_up in self.plan.warm_ups:
            with contextlib.suppress(InputError):
                record = self.directory.record(warm_up)
                if record is not None and record.collapses:
                    first = record.collapses[0]
                    yield f"The {warm_up.title} collapsed by step {first.step}: {first.what}."

    def _curves_left_out(self, count: int) -> Iterator[str]:
        if count:
            yield f"roc.png leaves out {count} runs of an earlier version, which kept no ROC curve."

    # ------------------------------------------------------------------ messages

    def _print(self, results: Results, files: Sequence[Path]) -> None:
        console = self._console
        if not console.is_terminal:
            print(f"\n{results.markdown()}")
        else:
            explained: set[str] = set()
            for section in results.sections():
                console.print(Text(section.heading) if section.heading else Text())
                console.print(rich_table(section.table, explained))
                explained.update(terminal_legend(section.table))
            for note in results.notes:
                console.print(Text(note))
        if (summary := results.summary()) is not None:
            print(f"\nSummary\n\n{summary}")
        if self._warnings:
            print("\nWarnings:")
        for warning, cell in self._warnings.items():
            print(f"  {cell.title}: {warning} (in {self.directory.log(cell)})")
        print(f"\nSaved: {', '.join(map(str, files))}", flush=True)

    def _say_interrupted(self) -> None:
        done = sum(self.directory.finished(run) is not None for run in self.plan.runs)
        print(
            f"\nInterrupted: {done} of {len(self.plan.runs)} runs are finished. To continue, type:\n  {self._command}",
            file=sys.stderr,
        )
