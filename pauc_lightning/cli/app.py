"""``pauc fit|validate|test|predict``: Lightning's command line with this project's defaults and reports."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, NoReturn, TypeVar

import yaml
from jsonargparse import Namespace
from lightning.fabric.plugins import CheckpointIO
from lightning.pytorch import Callback, LightningDataModule, Trainer
from lightning.pytorch.callbacks import ProgressBar
from lightning.pytorch.cli import LightningArgumentParser, LightningCLI
from lightning.pytorch.loggers import Logger
from lightning.pytorch.trainer.states import TrainerStatus

from pauc_lightning.callbacks import (
    CalibrationKeeper,
    CollapseMonitor,
    DecisionThresholds,
    EvaluationFigures,
    GracefulStop,
    OwnCodeKeeper,
    PredictionWriter,
    PreprocessingKeeper,
    RunCheckpoint,
    RunInterrupted,
    ScoreFiles,
    ScoreHistograms,
    StartValidation,
)
from pauc_lightning.callbacks.boards import shows_media
from pauc_lightning.callbacks.progress import RunProgress
from pauc_lightning.checkpoint_io import AtomicCheckpointIO, read_checkpoint
from pauc_lightning.cli import dashboards, mistakes, report
from pauc_lightning.cli.configs import read_config
from pauc_lightning.cli.continued import changed_settings, check_model, describe_changes
from pauc_lightning.cli.no_profiler import NoProfiler
from pauc_lightning.cli.older_run import add_validation_scores
from pauc_lightning.cli.parsed_before import ParsedBefore
from pauc_lightning.cli.parser import PaucArgumentParser
from pauc_lightning.cli.process_group import leave_at_exit
from pauc_lightning.cli.run_config import RunConfig
from pauc_lightning.cli.run_logger import continued_run, evaluated_run, run_logger
from pauc_lightning.cli.runs import find_checkpoint, held, release
from pauc_lightning.cli.settings import LINKED_FROM_DATA, check_settings
from pauc_lightning.cli.signals import sigterm_raises
from pauc_lightning.distributed import is_main_process
from pauc_lightning.errors import InputError
from pauc_lightning.loggers import RunLogger
from pauc_lightning.methods import PartialAUCModule
from pauc_lightning.run_directory import RunDirectory

_PARSERS: dict[tuple[str, str], tuple[Any, ...]] = {}
"""The parsers built so far, by command and stage; parsing leaves nothing in them that the next parsing uses."""

_PARSED_BEFORE = ParsedBefore()

TRAINER_DEFAULTS = {
    "use_distributed_sampler": False,  # the data modules shard: stratified in training, unpadded in evaluation
    "max_epochs": 50,
    "log_every_n_steps": 10,
    "enable_model_summary": False,  # one line says what is trained
}
"""Settings of the Trainer that have another default here than in Lightning."""

_Kind = TypeVar("_Kind", bound=Callback)


class PaucCLI(LightningCLI):
    """LightningCLI with this project's defaults, links and reports.

    Args:
        args: Arguments for Lightning's command line: fit, validate, test or predict, and options.
        command: The command that the user typed.
    """

    figures: EvaluationFigures

    def __init__(self, args: Sequence[str], command: str) -> None:
        self._first_step = 0
        self._stage = args[0]
        self._command = command
        leave_at_exit()
        super().__init__(
            model_class=PartialAUCModule,
            datamodule_class=LightningDataModule,
            save_config_callback=RunConfig,
            subclass_mode_model=True,
            subclass_mode_data=True,
            seed_everything_default=0,
            parser_class=PaucArgumentParser,
            parser_kwargs={"prog": f"pauc {command}"},
            trainer_defaults={
                **TRAINER_DEFAULTS,
                "callbacks": [
                    *(GracefulStop(), PreprocessingKeeper(), CollapseMonitor(), StartValidation()),
                    *(OwnCodeKeeper(), ScoreFiles(), CalibrationKeeper()),
                ],
            },
            auto_configure_optimizers=False,
            args=list(args),
        )

    def subcommands(self) -> dict[str, set[str]]:  # type: ignore[override]  # static in Lightning, but only called on self
        """Only the requested stage: building the parsers of all four takes three times as long."""
        return {self._stage: LightningCLI.subcommands()[self._stage]}

    def setup_parser(self, *args: Any, **kwargs: Any) -> None:
        """Build the parser of the command, or take the one that an earlier run in this process has built."""
        known = _PARSERS.get((self._command, self._stage))
        if known is None:
            super().setup_parser(*args, **kwargs)
            known = self.parser, self._subcommand_parsers, self._subcommand_method_arguments
            _PARSERS[self._command, self._stage] = known
        self.parser, self._subcommand_parsers, self._subcommand_method_arguments = known

    def add_arguments_to_parser(self, parser: LightningArgumentParser) -> None:
        """Add this project's options, and link arguments of the model to attributes of the data."""
        if isinstance(parser, PaucArgumentParser):
            parser.add_help_options(self._command)
        parser.add_argument("--run_dir", type=str, default="runs", help="Directory that holds all runs.")
        parser.add_argument(
            "--run_name",
            type=str | None,
            default=None,
            help="Name of this run; if left out, <data>-<method>.",
        )
        parser.add_argument(
            "--test_best",
            type=bool,
            default=False,
            help="After fit, test the checkpoint that was best on validation.",
        )
        parser.add_argument(
            "--wandb",
            type=Literal["off", "online", "offline"],
            default="off",
            help="Log to Weights & Biases as well; offline writes to disk for a later `wandb sync`.",
        )
        parser.add_argument("--wandb_project", type=str, default="pauc-lightning", help="Project in W&B.")
        parser.add_argument(
            "--wandb_group",
            type=str | None,
            default=None,
            help="Group in W&B; if left out, <data>/<method>/<region>, so that seeds are together.",
        )
        parser.add_argument(
            "--wandb_job_type",
            type=str | None,
            default=None,
            help="Kind of run in W&B; if left out, the command.",
        )
        parser.add_argument(
            "--tensorboard",
            type=bool,
            default=False,
            help="Log to TensorBoard as well, in the run's directory.",
        )
        parser.add_lightning_class_args(RunCheckpoint, "checkpoint")
        parser.add_lightning_class_args(EvaluationFigures, "figures")
        parser.add_lightning_class_args(DecisionThresholds, "decision")
        parser.add_lightning_class_args(PredictionWriter, "predictions")
        for name in LINKED_FROM_DATA:
            parser.link_arguments(
                "data",
                f"model.init_args.{name}",
                compute_fn=_attribute_reader(name),
                apply_on="instantiate",
            )

    # ------------------------------------------------------------------ set-up

    def parse_arguments(self, parser: LightningArgumentParser, args: Any) -> None:
        """Parse, and refuse settings that cannot work before anything is built or written."""
        known = _PARSED_BEFORE.find(args)
        if known is None:
            super().parse_arguments(parser, args)
            _PARSED_BEFORE.remember(args, self.config)
        else:
            self.config = known
            for one in (parser, *self._subcommand_parsers.values()):
                if isinstance(one, PaucArgumentParser):
                    one.remember_given(args)  # for the error messages
        if self.config.get("subcommand"):
            check_settings(str(self.config["subcommand"]), self._subcommand_config())

    def _parse_ckpt_path(self) -> None:
        """Use the checkpoint's hyperparameters, as Lightning does, but warn where they differ from those given."""
        config = self._subcommand_config()
        path = config.get("ckpt_path")
        if path in ("best", "last"):
            path = str(find_checkpoint(path, [Path(str(given)) for given in config.get("config") or []]))
            config["ckpt_path"] = path
        if not path or path in ("hpc", "registry"):
            return
        checkpoint = read_checkpoint(path, to_resume=self.config["subcommand"] == "fit")
        run = continued_run(path) if self.config["subcommand"] == "fit" else None
        if run is not None:
            self._first_step = int(checkpoint["global_step"])
            self._say_what_differs(run)
        asked = self._model()
        super()._parse_ckpt_path()
        check_model(path, asked, self._model())

    def _say_what_differs(self, run: RunDirectory) -> None:
        """Warn of settings that change in the middle of a run, as it then no longer continues exactly."""
        if not run.config.is_file() or not is_main_process():
            return
        changes = changed_settings(read_config(run.config), self._settings())
        if changes:
            print(f"warning: {describe_changes(changes)}", file=sys.stderr)

    def _settings(self) -> dict[str, Any]:
        """The command's settings as plain values."""
        parser = self._parser(str(self.config["subcommand"]))
        text = parser.dump(self._subcommand_config(), skip_unset=False, skip_validation=True)
        return dict(yaml.safe_load(text))

    def _subcommand_config(self) -> Namespace:
        subcommand = self.config.get("subcommand")
        config: Namespace = self.config[subcommand] if subcommand else self.config
        return config

    def _model(self) -> dict[str, Any]:
        """The class and the arguments of the model; empty if none is named."""
        model = self._subcommand_config().get("model")
        return {} if model is None else dict(model.clone().as_dict())

    def _dump_config(self) -> None:
        """Keep the settings for the hyperparameters in checkpoints, as Lightning does, but do not check them again."""
        if not hasattr(self, "config_dump"):
            text = self.parser.dump(
                self.config, format="yaml", skip_link_targets=False, skip_unset=False, skip_validation=True
            )
            self.config_dump = yaml.safe_load(text)[str(self.subcommand)]

    def instantiate_classes(self) -> None:
        """Build data, model and Trainer; a class that cannot be built counts as a user's mistake."""
        try:
            super().instantiate_classes()
        except Exception as error:
            if mistakes.sentence(error) is not None:
                raise
            raise InputError(mistakes.not_built(error)) from error
        finally:
            # The parser outlives this run, whose data and model it must not keep in memory.
            self.parser._instantiators = None

    def instantiate_trainer(self, **kwargs: Any) -> Trainer:
        """Add the run's own logger before those of the user, the progress display and the checkpoint writer."""
        trainer = self._get(self.config_init, "trainer")
        given = trainer.get("logger")
        if given is not False:
            others = [] if given in (None, True) else given if isinstance(given, list) else [given]
            kwargs["logger"] = [*self._loggers(), *others]
            if any(map(shows_media, kwargs["logger"])):
                self.trainer_defaults["callbacks"].append(ScoreHistograms())
        callbacks = trainer.get("callbacks") or []
        callbacks = callbacks if isinstance(callbacks, list) else [callbacks]
        is_shown = trainer.get("enable_progress_bar") is not False and not trainer.get("barebones")
        if is_shown and not any(isinstance(callback, ProgressBar) for callback in callbacks):
            self.trainer_defaults["callbacks"].append(RunProgress())
        plugins = trainer.get("plugins") or []
        plugins = plugins if isinstance(plugins, list) else [plugins]
        if not any(isinstance(plugin, CheckpointIO) for plugin in plugins):
            kwargs["plugins"] = [*plugins, AtomicCheckpointIO()]
        if trainer.get("profiler") is None and not trainer.get("barebones"):
            kwargs["profiler"] = NoProfiler()
        try:
            return super().instantiate_trainer(**kwargs)
        except (ValueError, TypeError, RuntimeError, ImportError) as error:
            raise InputError(f"The Trainer cannot be built with these settings: {error}") from error

    def _loggers(self) -> list[Logger]:
        config = self._subcommand_config()
        has_dashboards = dashboards.are_asked_for(config)
        if self.subcommand == "predict" and not has_dashboards and os.path.isabs(config.predictions.filename):
            return []  # the scores go elsewhere, so the run may be read-only
        name = config.run_name or f"{type(self.datamodule).__name__}-{type(self.model).__name__}"
        own = run_logger(config, str(self.subcommand), name, self._first_step)
        if not has_dashboards:
            return [own]
        directory, settings = Path(own.log_dir), self._settings()
        return [
            own,
            *dashboards.dashboard_loggers(
                str(self.subcommand),
                config,
                self.model,
                self.datamodule,
                directory,
                self._first_step,
                settings,
            ),
        ]

    # ------------------------------------------------------------------ the stages and their reports

    def before_fit(self) -> None:
        """Say in one line what is trained."""
        report.before_fit(self.model, self.datamodule)

    def fit(self, **kwargs: Any) -> None:
        """Train. A refused run leaves no directory; a stopped run prints how to continue."""
        try:
            with sigterm_raises(), self._alone_in_its_directory():
                self.trainer.fit(**kwargs)
        except RunInterrupted as stopped:
            self._stop(stopped.signum)
        except SystemExit:
            if self.trainer.state.status != TrainerStatus.INTERRUPTED:
                raise
            self._stop(signal.SIGINT)  # how Lightning ends after Ctrl-C
        except Exception:
            if self.trainer.global_step == 0 and not self._first_step:
                self._release_directory()
            raise

    @contextmanager
    def _alone_in_its_directory(self) -> Iterator[None]:
        """Lock the run, so that two processes cannot mix their curves and checkpoints."""
        own = next((logger for logger in self.trainer.loggers if isinstance(logger, RunLogger)), None)
        if own is None or not is_main_process():
            yield
            return
        with held(Path(own.log_dir)):
            yield

    def _release_directory(self) -> None:
        """Remove the directory of a command that ended before it recorded anything."""
        if self.trainer.is_global_zero:
            for logger in self.trainer.loggers:
                if isinstance(logger, RunLogger) and logger.is_claimed:
                    release(Path(logger.log_dir))

    @contextmanager
    def _leaving_nothing_if_refused(self) -> Iterator[None]:
        try:
            yield
        except Exception:
            self._release_directory()
            raise

    def _stop(self, signum: int) -> NoReturn:
        if not is_main_process():
            raise SystemExit(0)  # any other status makes Lightning kill the main process while it saves
        checkpoint = self.trainer.checkpoint_callback
        folder = Path((checkpoint.dirpath if isinstance(checkpoint, RunCheckpoint) else None) or ".")
        if not (folder / "last.ckpt").is_file():
            self._release_directory()
        report.after_interruption(folder, signal.Signals(signum).name)
        raise SystemExit(128 + signum)

    def after_fit(self) -> None:
        """Test the best checkpoint if requested; print where the results are and what to type next."""
        checkpoint = self.trainer.checkpoint_callback
        is_validated = isinstance(checkpoint, RunCheckpoint) and bool(checkpoint.best_model_path)
        is_tested = bool(self._get(self.config, "test_best")) and is_validated
        if is_tested:
            self.trainer.test(self.model, datamodule=self.datamodule, ckpt_path="best", verbose=False)
            report.after_evaluation(self.trainer, self.model, self.datamodule, "test")
        report.after_fit(self.trainer, self.model, self._first_step, is_tested)

    def test(self, **kwargs: Any) -> None:
        """Test without Lightning's table; ours follows."""
        with self._leaving_nothing_if_refused():
            self.trainer.test(**{**kwargs, "verbose": False})

    def after_test(self) -> None:
        """Print and save the table of the test part."""
        report.after_evaluation(
            self.trainer,
            self.model,
            self.datamodule,
            "test",
            evaluated_run(self._subcommand_config().get("ckpt_path")),
        )

    def predict(self, **kwargs: Any) -> None:
        """Predict; the scores go to a file instead of memory."""
        with self._leaving_nothing_if_refused():
            self.trainer.predict(**{**kwargs, "return_predictions": False})

    def validate(self, **kwargs: Any) -> None:
        """Validate without Lightning's table; ours follows."""
        with self._leaving_nothing_if_refused():
            self.trainer.validate(**{**kwargs, "verbose": False})

    def _callback(self, kind: type[_Kind]) -> _Kind | None:
        """The Trainer's callback of a class."""
        return next((one for one in self.trainer.callbacks if isinstance(one, kind)), None)  # type: ignore[attr-defined]

    def after_validate(self) -> None:
        """Print and save the table of the validation part; a run of an earlier version gets its scores."""
        checkpoint = self._subcommand_config().get("ckpt_path")
        run = evaluated_run(checkpoint)
        kept = self._callback(ScoreFiles)
        if run is not None and kept is not None and kept.scores is not None and self.trainer.is_global_zero:
            decision = self._callback(DecisionThresholds) or DecisionThresholds()
            add_validation_scores(
                run,
                checkpoint,
                self._settings(),
                kept.scores,
                lambda run, scores: decision.write(run, scores, self.model.region.max_fpr),
            )
        report.after_evaluation(self.trainer, self.model, self.datamodule, "val", run)


def _attribute_reader(name: str) -> Any:
    def read(data: LightningDataModule) -> Any:
        return getattr(data, name, None)

    return read
