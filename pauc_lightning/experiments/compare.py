"""``pauc compare``: methods side by side from the same warm-up, several seeds, one table."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml
from lightning.pytorch.utilities import rank_zero_only

from pauc_lightning.errors import InputError
from pauc_lightning.experiments.directory import ComparisonDirectory
from pauc_lightning.experiments.inner_run import InnerRuns, RunFailed, RunPauc
from pauc_lightning.experiments.plan import Plan, Run, WarmUp, method_config, parse
from pauc_lightning.experiments.progress import Stopwatch, in_words
from pauc_lightning.experiments.table import Outcome, Table, as_csv
from pauc_lightning.experiments.training_part import QUANTITIES, on_training_part
from pauc_lightning.files import write_text

Training = Run | WarmUp

_RECORD = "--trainer.callbacks+=pauc_lightning.experiments.record.RunRecord"
_DEFAULTS = (
    "--trainer.enable_model_summary=false",
    "--trainer.enable_progress_bar=false",
    "--figures.every_n_epochs=0",
)
"""Options of every training that a user may set otherwise."""


def main(argv: Sequence[str], run_pauc: RunPauc) -> None:
    """Run what is missing, then print the table.

    Args:
        argv: The command's options.
        run_pauc: The ``pauc`` command itself, called with its arguments.
    """
    Comparison(parse(argv), run_pauc).run()


class Comparison:
    """Carries out a plan: what has been finished before is not run again.

    Args:
        plan: What is to be compared.
        run_pauc: The ``pauc`` command, called with its arguments.
    """

    def __init__(self, plan: Plan, run_pauc: RunPauc) -> None:
        self.plan = plan
        self.directory = ComparisonDirectory(plan.out)
        self._run_pauc = InnerRuns(run_pauc)
        self._failures: dict[Training, str] = {}
        self._warm_up_checkpoints: dict[int, Path] = {}
        self._is_rank_zero = getattr(rank_zero_only, "rank", 0) in (0, None)

    def run(self) -> None:
        """Train, print the table and save it.

        Raises:
            InputError: If the plan cannot work; nothing has been written then, except by a warm-up that failed.
            SystemExit: With status 1 if a run failed, 130 if the comparison was interrupted.
        """
        self.directory.check(self.plan)
        missing = self._missing()
        try:
            if missing:
                self._check_options(missing)
                self._write_note()
                self._train(missing)
            tables = self._tables()
        except KeyboardInterrupt:
            done = sum(self.directory.finished(run) is not None for run in self.plan.runs)
            self._say(
                f"\nInterrupted: {done} of {len(self.plan.runs)} runs are finished. To go on, type the same command.",
                file=sys.stderr,
            )
            raise SystemExit(130 if self._is_rank_zero else 0) from None
        self._report(tables)
        if self._failures:
            raise SystemExit(1)

    def _say(self, text: str, **kwargs: Any) -> None:
        if self._is_rank_zero:
            print(text, flush=True, **kwargs)

    # ------------------------------------------------------------------ before anything is trained

    def _missing(self) -> list[Training]:
        """What has to be trained, in order: each seed's warm-up before the runs that start from it."""
        missing: list[Training] = []
        for seed in self.plan.seeds:
            runs = [
                run for run in self.plan.runs if run.seed == seed and self.directory.finished(run) is None
            ]
            warm_up = WarmUp(seed)
            is_needed = runs and self.plan.warmup_epochs > 0
            if is_needed and self.directory.warm_up_checkpoint(warm_up) is None:
                missing.append(warm_up)
            missing += runs
        return missing

    def _check_options(self, missing: Sequence[Training]) -> None:
        """Let ``pauc fit`` read its options, once for each method, and refuse what it refuses."""
        methods = dict.fromkeys(map(_method, missing))
        for method in methods:
            try:
                printed = self._run_pauc(["fit", *self._common(method), *self.plan.extra, "--print_config"])
            except RunFailed as failed:
                if not failed.is_mistake:
                    raise
                raise InputError(failed.reason) from failed
            _check_config(yaml.safe_load(printed))

    def _write_note(self) -> None:
        if not self._is_rank_zero:
            return
        try:
            self.directory.write_note(self.plan)
        except OSError as error:
            raise InputError(
                f"`--out {self.plan.out}` cannot be written to ({error.strerror}): give another --out."
            ) from error

    # ------------------------------------------------------------------ training

    def _common(self, method: str) -> list[str]:
        configs = [*self.plan.configs, str(method_config(method))]
        return [part for config in configs for part in ("-c", config)] + list(_DEFAULTS)

    def _arguments(self, training: Training) -> list[str]:
        """The command of one training; what the comparison sets comes last, so that it holds."""
        own = [
            f"--run_dir={self.plan.out}",
            f"--run_name={training.name}",
            f"--seed_everything={training.seed}",
            f"--data.seed={training.seed}",
            f"--trainer.max_epochs={self._epochs(training)}",
            _RECORD,
        ]
        if isinstance(training, Run):
            own += [
                f"--model.max_fpr={training.region.max_fpr}",
                f"--model.min_tpr={training.region.min_tpr}",
            ]
            own += ["--model.warmup_epochs=0", "--test_best=true"]
            if self.plan.warmup_epochs > 0:
                own += [f"--model.init_weights={self._start_of(training)}"]
        return ["fit", *self._common(_method(training)), *self.plan.extra, *own]

    def _epochs(self, training: Training) -> int:
        return self.plan.warmup_epochs if isinstance(training, WarmUp) else self.plan.epochs

    def _start_of(self, run: Run) -> Path:
        """The checkpoint that a run starts from: the end of its seed's warm-up."""
        checkpoint = self._warm_up_checkpoints.get(run.seed)
        checkpoint = checkpoint or self.directory.warm_up_checkpoint(WarmUp(run.seed))
        assert checkpoint is not None
        return checkpoint

    def _train(self, missing: Sequence[Training]) -> None:
        watch = Stopwatch()
        n_runs, n_new = len(self.plan.runs), sum(isinstance(training, Run) for training in missing)
        if n_new < n_runs:
            self._say(f"{n_runs - n_new} of {n_runs} runs are finished already.")
        for number, training in enumerate(missing, start=1):
            self._say(f"[{number}/{len(missing)}] {training.title} ...", end=" ")
            started = time.monotonic()
            what = self._train_one(training, can_stop=number == 1)
            seconds = time.monotonic() - started
            if training not in self._failures:
                watch.add(_kind(training), self._epochs(training), seconds)
            left = watch.left([(_kind(later), self._epochs(later)) for later in missing[number:]])
            self._say(f"{what}, {in_words(seconds)} ({in_words(watch.elapsed())} so far{left})")
            for warning in self._run_pauc.new_warnings():
                self._say(f"  warning: {warning}")

    def _train_one(self, training: Training, can_stop: bool) -> str:
        """Train, and say what came out. A warm-up that is refused at the very start is the user's mistake."""
        if isinstance(training, Run) and WarmUp(training.seed) in self._failures:
            self._failures[training] = f"its warm-up failed: {self._failures[WarmUp(training.seed)]}"
            return "not run, as its warm-up failed"
        log = self.plan.out / training.name / "error.txt"
        try:
            self._run_pauc(self._arguments(training))
            what = self._finish(training)
        except (RunFailed, InputError) as error:
            if (
                isinstance(training, WarmUp)
                and can_stop
                and (isinstance(error, InputError) or error.is_mistake)
            ):
                self._say("refused")
                if self._is_rank_zero:
                    self.directory.withdraw_note()
                raise InputError(str(error)) from error
            output = error.output if isinstance(error, RunFailed) else str(error)
            if self._is_rank_zero:
                write_text(log, output)
            self._failures[training] = f"{str(error).rstrip('.')}. All that it said is in {log}."
            return "failed"
        log.unlink(missing_ok=True)  # of an earlier try
        return what

    def _finish(self, training: Training) -> str:
        if isinstance(training, WarmUp):
            self._warm_up_checkpoints[training.seed] = self.directory.finish_warm_up(
                training, self._is_rank_zero
            )
            what = "done"
        else:
            value = self.directory.result(training)
            if value is None:
                raise InputError("it ended without a test result.")
            what = f"{value:.4f}"
        record = self.directory.record(training)
        if record is not None and record.collapses:
            what += f", collapsed by step {record.collapses[0].step}"
        return what

    # ------------------------------------------------------------------ reporting

    def _tables(self) -> dict[str, tuple[str, Table]]:
        """The tables by the quantity they show, each with its heading."""
        plan = self.plan

        def table(outcome: Callable[[Run], Outcome]) -> Table:
            return Table(plan.methods, plan.regions, plan.seeds, outcome, plan.baseline)

        outcomes = {run: self._outcome(run) for run in plan.runs}
        tables = {"test_pauc": ("", table(lambda run: outcomes[run]))}
        if plan.train_part:
            on_train = {run: self._on_training_part(run) for run in plan.runs}
            for name, heading in QUANTITIES.items():
                found = {run: Outcome(values.get(name)) for run, values in on_train.items()}
                tables[f"train_{name}"] = (f"{heading}:", table(found.__getitem__))
        return tables

    def _outcome(self, run: Run) -> Outcome:
        if run in self._failures:
            return Outcome(failure=self._failures[run])
        record = self.directory.record(run)
        collapse = record.collapses[0] if record is not None and record.collapses else None
        return Outcome(self.directory.result(run), collapse)

    def _on_training_part(self, run: Run) -> dict[str, float]:
        folder = self.directory.finished(run)
        if folder is None:
            return {}
        try:
            return on_training_part(folder, run.region, self._run_pauc)
        except RunFailed as failed:
            raise InputError(f"{run.title}, on its training part: {failed.reason}") from failed

    def _report(self, tables: dict[str, tuple[str, Table]]) -> None:
        if not self._is_rank_zero:
            return
        parts = [text for heading, table in tables.values() for text in (heading, table.markdown()) if text]
        notes = list(self._collapsed_warm_ups())
        text = "\n\n".join([*parts, *(["\n".join(notes)] if notes else [])])
        write_text(self.plan.out / "table.md", text + "\n")
        rows = [row for quantity, (_, table) in tables.items() for row in table.rows_for_csv(quantity)]
        write_text(self.plan.out / "table.csv", as_csv(rows))
        self._say(f"\n{text}\n\nSaved as {self.plan.out / 'table.md'} and {self.plan.out / 'table.csv'}")

    def _collapsed_warm_ups(self) -> Iterator[str]:
        for warm_up in map(WarmUp, self.plan.seeds) if self.plan.warmup_epochs > 0 else ():
            with contextlib.suppress(InputError):
                record = self.directory.record(warm_up)
                if record is not None and record.collapses:
                    first = record.collapses[0]
                    yield f"The {warm_up.title} collapsed by step {first.step}: {first.what}."


def _method(training: Training) -> str:
    return "ce" if isinstance(training, WarmUp) else training.method


def _kind(training: Training) -> str:
    """What is about equally fast: trainings of one method, which warm-ups are not, as they are not tested."""
    return "warm-up" if isinstance(training, WarmUp) else training.method


def _check_config(config: dict[str, Any]) -> None:
    """Refuse settings of ``pauc fit`` that name no data, or data whose split cannot be changed."""
    data = config.get("data")
    if not data:
        raise InputError(
            "No data were named: add a config, for example `-c digits` (`pauc configs` lists them)."
        )
    if "seed" not in data.get("init_args", {}):
        raise InputError(
            f"{data.get('class_path')} has no argument `seed`, by which pauc compare changes the split: add one."
        )
    if not (config.get("model") or {}).get("init_args", {}).get("backbone"):
        raise InputError("No backbone was named: add one, for example `--model.backbone=MLPScorer`.")
