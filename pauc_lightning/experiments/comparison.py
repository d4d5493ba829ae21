"""Runs a comparison: all missing cells, one after another."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import yaml
from rich.console import Console
from rich.text import Text

from pauc_lightning.distributed import is_main_process
from pauc_lightning.errors import InputError
from pauc_lightning.experiments.board import Board
from pauc_lightning.experiments.cells import Cell, Run, WarmUp
from pauc_lightning.experiments.commands import check_config, fit_arguments, print_config_arguments
from pauc_lightning.experiments.directory import ComparisonDirectory
from pauc_lightning.experiments.display import Display, display_for, rich_table
from pauc_lightning.experiments.inner_run import InnerRuns, RunFailed, RunPauc, RunStopped, Said
from pauc_lightning.experiments.live import observed_by
from pauc_lightning.experiments.outcome import Outcome, read_curve
from pauc_lightning.experiments.plan import Plan
from pauc_lightning.experiments.report import Results
from pauc_lightning.experiments.training_part import on_training_part
from pauc_lightning.files import write_text


class Comparison:
    """Carries out a plan; finished runs are not repeated.

    Args:
        plan: The comparison.
        run_pauc: The ``pauc`` command, called with its arguments.
        command: The command that continues this comparison.
    """

    def __init__(self, plan: Plan, run_pauc: RunPauc, command: str) -> None:
        self.plan = plan
        self.directory = ComparisonDirectory(plan.out)
        self._run_pauc = InnerRuns(run_pauc)
        self._command = command
        # Keep the current stream, because the runs' output is captured. A pipe is no terminal, even with FORCE_COLOR.
        self._console = Console(file=sys.stdout, force_terminal=sys.stdout.isatty(), highlight=False)
        self._failures: dict[Cell, str] = {}
        self._warm_up_checkpoints: dict[WarmUp, Path] = {}
        self._warnings: dict[str, Cell] = {}
        self._is_main = is_main_process()

    def run(self) -> None:
        """Train, print the tables, and save them with the figure.

        Raises:
            InputError: If the plan cannot work; then nothing has been written.
            SystemExit: With status 1 if a run failed, 130 if the comparison was interrupted.
        """
        self.directory.check(self.plan)
        try:
            self._check_options(self.directory.missing(self.plan))
            with self.directory.held() if self._is_main else contextlib.nullcontext():
                results = self._train_and_collect()
                files = results.save() if self._is_main else []
        except KeyboardInterrupt:
            self._say_interrupted()
            raise SystemExit(130 if self._is_main else 0) from None
        if self._is_main:
            self._print(results, files)
        if self._failures:
            raise SystemExit(1)

    def _train_and_collect(self) -> Results:
        self.directory.check(self.plan)  # again: another comparison may have ended since
        missing = self.directory.missing(self.plan)
        if missing:
            if self._is_main:
                self.directory.write_note(self.plan)
            self._train(missing)
        return self._results()

    def _check_options(self, missing: Sequence[Cell]) -> None:
        """Let ``pauc fit`` check the options once for each method, and reject those that it rejects."""
        for method in dict.fromkeys(cell.method for cell in missing):
            try:
                printed = self._run_pauc(print_config_arguments(self.plan, method))
            except RunFailed as failed:
                if not failed.is_mistake:
                    raise
                raise InputError(failed.reason) from failed
            check_config(yaml.safe_load(printed.text))

    # ------------------------------------------------------------------ training

    def _train(self, missing: Sequence[Cell]) -> None:
        earlier = {run: self._outcome(run) for run in self.plan.runs if run not in missing}
        board = Board(self.plan, missing, earlier)
        with display_for(board, self._console, self._is_main) as display, observed_by(board.update):
            for number, cell in enumerate(missing):
                self._train_cell(cell, board, display, is_first=number == 0)

    def _train_cell(self, cell: Cell, board: Board, display: Display, is_first: bool) -> None:
        board.start(cell)
        if isinstance(cell, Run) and cell.warm_up in self._failures:
            self._failures[cell] = f"not run, because its {cell.warm_up.title}, failed."
            display.finished(board.finish(Outcome(failure=self._failures[cell])))
            return
        said = Said("")
        try:
            said = self._fit(cell)
            outcome = self._finish(cell)
        except (RunFailed, InputError) as error:
            is_mistake = isinstance(error, InputError) or error.is_mistake
            if is_first and is_mistake and isinstance(cell, WarmUp):
                if self._is_main:
                    self.directory.withdraw_note()
                raise InputError(str(error)) from error
            said = (
                error.said if isinstance(error, RunFailed) else Said(f"{said.text}{error}\n", said.warnings)
            )
            self._failures[cell] = f"{str(error).rstrip('.')}. Its log is {self.directory.log(cell)}."
            outcome = Outcome(failure=self._failures[cell])
        except RunStopped as stopped:
            self._write_log(cell, stopped.said)
            raise
        self._write_log(cell, said)
        new = [warning for warning in said.warnings if warning not in self._warnings]
        self._warnings |= dict.fromkeys(new, cell)
        display.finished(board.finish(outcome, new))

    def _fit(self, cell: Cell) -> Said:
        """Train a cell; a run starts at the end of its warm-up."""
        start = None
        if isinstance(cell, Run) and self.plan.warmup_epochs > 0:
            known = self._warm_up_checkpoints.get(cell.warm_up)
            start = known or self.directory.warm_up_checkpoint(cell.warm_up)
            assert start is not None
        return self._run_pauc(fit_arguments(self.plan, cell, start))

    def _finish(self, cell: Cell) -> Outcome:
        if isinstance(cell, WarmUp):
            self._warm_up_checkpoints[cell] = self.directory.finish_warm_up(cell, write=self._is_main)
        elif self.directory.result(cell) is None:
            raise InputError("it ended without a test result.")
        return self._outcome(cell)

    def _write_log(self, cell: Cell, said: Said) -> None:
        if self._is_main:
            write_text(self.directory.log(cell), said.text)

    # ------------------------------------------------------------------ results

    def _outcome(self, cell: Cell) -> Outcome:
        if cell in self._failures:
            return Outcome(failure=self._failures[cell])
        record = self.directory.record(cell)
        collapse = record.collapses[0] if record is not None and record.collapses else None
        return Outcome(self.directory.result(cell) if isinstance(cell, Run) else None, collapse)

    def _results(self) -> Results:
        finished = {run: folder for run in self.plan.runs if (folder := self.directory.finished(run))}
        curves = {run: curve for run, folder in finished.items() if (curve := read_curve(folder))}
        on_train: dict[Run, dict[str, float]] = {}
        if self.plan.train_part:
            with self._console.status("Evaluating on the training part ..."):  # shown on a terminal only
                on_train = {run: self._on_training_part(run, finished.get(run)) for run in self.plan.runs}
        return Results(
            self.plan,
            {run: self._outcome(run) for run in self.plan.runs},
            curves,
            on_train,
            (*self._collapsed_warm_ups(), *self._curves_left_out(len(finished) - len(curves))),
        )

    def _on_training_part(self, run: Run, folder: Path | None) -> dict[str, float]:
        if folder is None:
            return {}
        try:
            return on_training_part(folder, run.region, self._run_pauc)
        except RunFailed as failed:
            raise InputError(f"{run.title}, on its training part: {failed.reason}") from failed

    def _collapsed_warm_ups(self) -> Iterator[str]:
        for warm_up in map(WarmUp, self.plan.seeds) if self.plan.warmup_epochs > 0 else ():
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
            for section in results.sections():
                console.print(Text(section.heading) if section.heading else Text())
                console.print(rich_table(section.table))
                for line in section.table.footnotes():
                    console.print(Text(line))
            for note in results.notes:
                console.print(Text(note))
        if self._warnings:
            print("\nWarnings:")
        for warning, cell in self._warnings.items():
            print(f"  {cell.title}: {warning} (in {self.directory.log(cell)})")
        print(f"\nSaved: {', '.join(map(str, files))}", flush=True)

    def _say_interrupted(self) -> None:
        if not self._is_main:
            return
        done = sum(self.directory.finished(run) is not None for run in self.plan.runs)
        print(
            f"\nInterrupted: {done} of {len(self.plan.runs)} runs are finished. To continue, type:\n  {self._command}",
            file=sys.stderr,
        )
