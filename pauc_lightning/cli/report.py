"""The reports that the commands print before and after their work."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Mapping
from pathlib import Path

from lightning.pytorch import LightningDataModule, Trainer

from pauc_lightning.callbacks import (
    CalibrationKeeper,
    DecisionThresholds,
    EvaluationFigures,
    RunCheckpoint,
    ScoreFiles,
)
from pauc_lightning.callbacks.calibration import AS_SCORED
from pauc_lightning.cli.decision_tables import metric_lines, point_lines, without_guarantee
from pauc_lightning.cli.runs import relative
from pauc_lightning.data import TabularLT
from pauc_lightning.decisions import OperatingPoints, read_operating_points
from pauc_lightning.decisions.evaluation import Evaluation, evaluate_scores
from pauc_lightning.distributed import is_main_process
from pauc_lightning.errors import InputError
from pauc_lightning.files import write_text
from pauc_lightning.methods import PartialAUCModule

_CLEARLY = 1.02
"""How many times the Brier score must be for a calibration to count as worse; less may be chance."""


def before_fit(model: PartialAUCModule, data: LightningDataModule) -> None:
    """Say what is trained."""
    backbone = model.backbone
    parameters = sum(parameter.numel() for parameter in backbone.parameters())
    loss = "" if model.train_region == model.region else f" (its loss: {model.train_region.title})"
    if is_main_process():
        print(
            f"Training {type(model).__name__} for {model.region.title}{loss} on {type(data).__name__}: "
            f"{type(backbone).__name__}, {parameters:,} parameters",
            flush=True,
        )


def after_fit(trainer: Trainer, model: PartialAUCModule, first_step: int, is_tested: bool) -> None:
    """Say where the results are and what to type next.

    Args:
        trainer: The Trainer that has trained.
        model: The method.
        first_step: The step from which the run was resumed; 0 for a new run.
        is_tested: Whether the best model has been tested already.
    """
    directory = relative(trainer.log_dir or ".")  # a collective: all ranks must call it
    checkpoint = trainer.checkpoint_callback
    if not trainer.is_global_zero or not isinstance(checkpoint, RunCheckpoint):
        return
    if first_step and trainer.global_step == first_step:
        again = shlex.join(["pauc", "resume", directory, f"--trainer.max_epochs={2 * trainer.current_epoch}"])
        print(
            f"\nThis run had already finished: it has done {first_step} steps. To train on, for example:  {again}"
        )
    best, score = checkpoint.best_model_path, checkpoint.best_model_score
    if best and score is not None:
        print(
            f"\nBest validation {_title(checkpoint.monitor, model)}: {float(score):.4f}\n"
            f"  checkpoint  {relative(best)}"
        )
        if checkpoint.best_is_start:
            print(f"  {_returned_start(trainer, model)}")
    else:
        print("\nNo epoch was validated, so there is no best checkpoint, only the last one.")
    print(f"  curves      {directory}/metrics.csv\n  settings    {directory}/config.yaml")
    for callback in trainer.callbacks:  # type: ignore[attr-defined]
        if (
            isinstance(callback, DecisionThresholds)
            and callback.path is not None
            and callback.points is not None
        ):
            print(f"  thresholds  {relative(callback.path)}")
            if not is_tested:  # the table of the test has said so
                _print_lines(f"  {line}" for line in without_guarantee(callback.points.points))
    which = [] if best else ["--ckpt_path", "last"]
    _print_next("predict" if is_tested else "test", directory, *which)


def _returned_start(trainer: Trainer, model: PartialAUCModule) -> str:
    """The sentence that no epoch of the method itself was better than its start, or that none was validated."""
    start = "its warm-up" if model.warmup_epochs > 0 else f"its start, {model.init_weights}"
    every = trainer.check_val_every_n_epoch
    if every is not None and trainer.current_epoch // every == model.warmup_epochs // every:
        return (
            f"This is the model of {start}: no epoch of {type(model).__name__} itself was validated, because "
            f"`trainer.check_val_every_n_epoch` is {every}. Give a smaller one, or train longer."
        )
    return (
        f"This is the model of {start}: no epoch of {type(model).__name__} itself was better on validation. Try "
        "smaller steps, a wider region of the loss (`train_max_fpr`) or more weight decay."
    )


def _print_next(*command: str) -> None:
    print(f"Next:  {shlex.join(['pauc', *command])}")


def _title(monitor: str | None, model: PartialAUCModule) -> str:
    """The title of the monitored metric."""
    if monitor == "val/pauc":
        return model.region.title
    titles = {f"val/{region.name}": region.title for region in model.reported_regions()}
    return titles.get(str(monitor), str(monitor))


def after_evaluation(
    trainer: Trainer,
    model: PartialAUCModule,
    data: LightningDataModule,
    part: str,
    run: Path | None = None,
) -> None:
    """Print the table of the test or validation part and save its numbers.

    Args:
        trainer: The Trainer that has evaluated.
        model: The method.
        data: Its data.
        part: test or val.
        run: The evaluated run, to suggest the next command; None if this command continues.
    """
    metrics = {
        key.removeprefix(f"{part}/"): float(value)
        for key, value in trainer.callback_metrics.items()
        if key.startswith(f"{part}/")
    }
    directory = Path(trainer.log_dir or ".")  # a collective: all ranks must call it
    if not trainer.is_global_zero or not metrics:
        return
    where = {"test": "test part", "val": "validation part"}[part]
    print(f"\n{type(model).__name__} on the {where} of {type(data).__name__}")
    evaluation = _evaluation(trainer, model, part, run)
    if evaluation is None:
        _print_values(model, metrics)
    else:
        _print_lines(metric_lines(evaluation, model.region.name))
        if evaluation.points:
            _print_lines(point_lines(evaluation.points, evaluation.confidence, "the validation part"))
    if not bool(model.objective_initialized):
        print(f"This checkpoint is from before the first step of {type(model).__name__} itself.")
    _print_calibration(trainer)
    write_text(directory / f"{part}_metrics.json", json.dumps(metrics, indent=2) + "\n")
    print(f"  numbers     {relative(directory / f'{part}_metrics.json')}")
    if evaluation is not None:
        path = directory / f"{part}_intervals.json"
        write_text(path, json.dumps(evaluation.as_json(), indent=2, allow_nan=False) + "\n")
        print(f"  intervals   {relative(path)}")
    for callback in trainer.callbacks:  # type: ignore[attr-defined]
        if isinstance(callback, ScoreFiles) and callback.path is not None:
            print(f"  scores      {relative(callback.path)}")
        if isinstance(callback, EvaluationFigures):
            for path in callback.paths:
                print(f"  figure      {relative(path)}")
        if isinstance(callback, CalibrationKeeper) and callback.figure is not None:
            print(f"  figure      {relative(callback.figure)}")
    if run is not None:
        new = ["--input", "NEW.csv", "--output", "decisions.csv", "--target_fpr", "0.01"]
        options = new if part == "test" and isinstance(data, TabularLT) else []
        _print_next("predict" if part == "test" else "test", relative(run), *options)


def _print_values(model: PartialAUCModule, metrics: Mapping[str, float]) -> None:
    """Print the table without intervals."""
    regions = {region.name: region for region in model.reported_regions()}
    rows = [(regions[name], value) for name, value in metrics.items() if name in regions]
    width = max(len(region.title) for region, _ in rows)
    print("─" * (width + 10))
    for region, value in rows:
        mark = "  ◂ optimised" if region == model.region else ""
        print(f"{region.title:<{width}}  {value:8.4f}{mark}")
    print("─" * (width + 10))


def _print_lines(lines: Iterable[str]) -> None:
    for line in lines:
        print(line)


def _evaluation(trainer: Trainer, model: PartialAUCModule, part: str, run: Path | None) -> Evaluation | None:
    """Measure the evaluated scores with intervals; None if the user wants none, or a class has a single sample."""
    callbacks = trainer.callbacks  # type: ignore[attr-defined]
    settings = next((one for one in callbacks if isinstance(one, DecisionThresholds)), None)
    scores = next((one.scores for one in callbacks if isinstance(one, ScoreFiles)), None)
    if settings is None or not settings.after_evaluation or scores is None:
        return None
    budgets = [model.region.max_fpr] if model.region.max_fpr < 1 else []
    points = _points(trainer, settings, run) if part == "test" else None
    try:
        return evaluate_scores(scores.score, scores.label, model.reported_regions(), budgets, points)
    except InputError as error:
        print(f"There are no intervals: {error}")
        return None


def _points(trainer: Trainer, settings: DecisionThresholds, run: Path | None) -> OperatingPoints | None:
    """The thresholds of the tested model, if it is the best of its run."""
    if settings.points is not None:  # the training has just ended
        return settings.points
    if run is None or Path(str(trainer.ckpt_path)).name != "best.ckpt":
        return None
    try:
        return read_operating_points(run)
    except InputError as error:
        print(f"There are no thresholds: {error}")
        return None


def _print_calibration(trainer: Trainer) -> None:
    """Print how far probabilities are from frequencies, as scored and after each calibration."""
    kept = [one for one in trainer.callbacks if isinstance(one, CalibrationKeeper) and one.errors]  # type: ignore[attr-defined]
    if not kept:
        return
    rows = {name: f"{values['brier']:8.4f}{values['ece']:8.4f}" for name, values in kept[0].errors.items()}
    rows["the prior for all"] = f"{kept[0].prior_alone:8.4f}"
    width = max(map(len, rows))
    print(f"{'Probabilities':<{width}}{'Brier':>8}{'ECE':>8}")
    for name, values in rows.items():
        print(f"{name:<{width}}{values}")
    print("─" * (width + 16))
    if note := platt_is_worse({name: values["brier"] for name, values in kept[0].errors.items()}):
        print(note)


def platt_is_worse(brier: Mapping[str, float]) -> str:
    """A sentence for a model whose probabilities the default calibration makes clearly worse; empty for others.

    Args:
        brier: The Brier scores by the name of the calibration, and :data:`AS_SCORED` without any.

    Example:
        >>> print(platt_is_worse({"as scored": 0.0235, "platt": 0.0253, "isotonic": 0.0228}))
        Platt scaling, the default of --calibrate, makes the probabilities worse here. Better: --calibrate isotonic.
    """
    if brier.get("platt", 0.0) <= _CLEARLY * brier[AS_SCORED]:
        return ""
    best = min(brier, key=brier.__getitem__)
    better = "take the column `score`" if best == AS_SCORED else f"--calibrate {best}"
    return f"Platt scaling, the default of --calibrate, makes the probabilities worse here. Better: {better}."


def after_interruption(checkpoints: Path, signal_name: str) -> None:
    """Print that the run was stopped, and the command that continues it.

    Args:
        checkpoints: The folder of the run's checkpoints.
        signal_name: The signal that stopped it.
    """
    last, run = checkpoints / "last.ckpt", checkpoints.parent
    if last.is_file():
        print(f"\nStopped by {signal_name}; the state is saved in {relative(last)}.")
        print(f"Continue with:  {shlex.join(['pauc', 'resume', relative(run)])}")
    else:
        print(f"\nStopped by {signal_name}, before there was anything to save.")
