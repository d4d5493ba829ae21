"""``pauc fit|validate|test|predict``: Lightning's command line with this project's defaults and closing words."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, NoReturn

import yaml
from jsonargparse import Namespace
from lightning.fabric.plugins import CheckpointIO
from lightning.pytorch import LightningDataModule, Trainer
from lightning.pytorch.callbacks import ProgressBar
from lightning.pytorch.cli import LightningArgumentParser, LightningCLI
from lightning.pytorch.loggers import Logger
from lightning.pytorch.trainer.states import TrainerStatus

from pauc_lightning.callbacks import (
    CollapseMonitor,
    EvaluationFigures,
    GracefulStop,
    PredictionWriter,
    PreprocessingKeeper,
    RunCheckpoint,
    RunInterrupted,
)
from pauc_lightning.callbacks.progress import RunProgress
from pauc_lightning.checkpoint_io import AtomicCheckpointIO, read_checkpoint
from pauc_lightning.cli import mistakes, report
from pauc_lightning.cli.configs import read_config
from pauc_lightning.cli.continued import changed_settings, describe_changes
from pauc_lightning.cli.parser import PaucArgumentParser
from pauc_lightning.cli.run_config import RunConfig
from pauc_lightning.cli.runs import RunDirectory, claim_version, find_checkpoint, held, release
from pauc_lightning.cli.settings import LINKED_FROM_DATA, check_settings
from pauc_lightning.cli.signals import sigterm_raises
from pauc_lightning.distributed import is_main_process
from pauc_lightning.errors import InputError
from pauc_lightning.loggers import RunLogger
from pauc_lightning.methods import PartialAUCModule


class PaucCLI(LightningCLI):
    """LightningCLI with this project's defaults, links and closing words.

    Args:
        args: What Lightning's command line understands: fit, validate, test or predict, and options.
        command: The command that the user typed.
    """

    figures: EvaluationFigures

    def __init__(self, args: Sequence[str], command: str) -> None:
        self._first_step = 0
        self._stage = args[0]
        self._command = command
        super().__init__(
            model_class=PartialAUCModule,
            datamodule_class=LightningDataModule,
            save_config_callback=RunConfig,
            subclass_mode_model=True,
            subclass_mode_data=True,
            seed_everything_default=0,
            parser_class=PaucArgumentParser,
            parser_kwargs={"prog": f"pauc {command}"},
            # The data modules shard by themselves: stratified in training, unpadded in evaluation.
            trainer_defaults={
                "use_distributed_sampler": False,
                "max_epochs": 50,
                "log_every_n_steps": 10,
                "enable_model_summary": False,  # one line says what is trained
                "callbacks": [GracefulStop(), PreprocessingKeeper(), CollapseMonitor()],
            },
            auto_configure_optimizers=False,
            args=list(args),
        )

    def subcommands(self) -> dict[str, set[str]]:  # type: ignore[override]  # static there, called on self only
        """The stage that was asked for; building the parsers of all four would take three times as long."""
        return {self._stage: LightningCLI.subcommands()[self._stage]}

    def add_arguments_to_parser(self, parser: LightningArgumentParser) -> None:
        """Options of this project, and what flows from the data to the model."""
        if isinstance(parser, PaucArgumentParser):
            parser.add_help_options(self._command)
        parser.add_argument("--run_dir", type=str, default="runs", help="Directory that holds all runs.")
        parser.add_argument(
            "--run_name", type=str | None, default=None, help="Name of this run; left out, <data>-<method>."
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
        parser.add_lightning_class_args(RunCheckpoint, "checkpoint")
        parser.add_lightning_class_args(EvaluationFigures, "figures")
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
        """Parse, and refuse what cannot work before anything is built or written."""
        super().parse_arguments(parser, args)
        if self.config.get("subcommand"):
            check_settings(str(self.config["subcommand"]), self._subcommand_config())

    def _parse_ckpt_path(self) -> None:
        """Let the checkpoint's hyperparameters win, as Lightning does, but say where they disagree."""
        config = self._subcommand_config()
        path = config.get("ckpt_path")
        if path in ("best", "last"):
            path = str(find_checkpoint(path, [Path(str(given)) for given in config.get("config") or []]))
            config["ckpt_path"] = path
        if not path or path in ("hpc", "registry"):
            return
        checkpoint = read_checkpoint(path, to_resume=self.config["subcommand"] == "fit")
        run = self._continued_run()
        if run is not None:
            self._first_step = int(checkpoint["global_step"])
            self._say_what_differs(run)
        asked, asked_method = self._model_arguments(), self._method()
        super()._parse_ckpt_path()
        used, method = self._model_arguments(), self._method()
        if asked_method not in (None, method):
            raise InputError(
                f"`model={asked_method}`, but {path} is a checkpoint of {method}, and a run keeps its method. To train "
                f"{asked_method} from these weights, start a new run: pauc fit ... --model.init_weights={path}"
            )
        given = (key for key in asked if key in used and key not in LINKED_FROM_DATA)
        differing = [key for key in given if asked[key] != used[key]]
        if differing:
            lines = "".join(f"\n  {key}: asked for {asked[key]!r}, using {used[key]!r}" for key in differing)
            print(
                f"warning: the checkpoint {path} was made with other settings, and those are used:{lines}\n"
                "To train on with new settings, start a new run with --model.init_weights=<checkpoint> "
                "instead of --ckpt_path.",
                file=sys.stderr,
            )

    def _say_what_differs(self, run: RunDirectory) -> None:
        """Warn of settings that were changed in the middle of a run: it is promised to continue exactly otherwise."""
        if not run.config.is_file() or not is_main_process():
            return
        parser = self._parser(str(self.config["subcommand"]))
        now = yaml.safe_load(parser.dump(self._subcommand_config(), skip_none=False, skip_validation=True))
        changes = changed_settings(read_config(run.config), now)
        if changes:
            print(f"warning: {describe_changes(changes)}", file=sys.stderr)

    def _subcommand_config(self) -> Namespace:
        subcommand = self.config.get("subcommand")
        config: Namespace = self.config[subcommand] if subcommand else self.config
        return config

    def _method(self) -> str | None:
        """The name of the model's class."""
        model = self._subcommand_config().get("model")
        return str(model["class_path"]).rpartition(".")[2] if model else None

    def _model_arguments(self) -> dict[str, Any]:
        model = self._subcommand_config().get("model")
        if model is None:
            return {}
        arguments: dict[str, Any] = model.clone().as_dict().get("init_args", {})
        return arguments

    def instantiate_classes(self) -> None:
        """Build data, model and Trainer; a class that cannot be built with what it was given is a user's mistake."""
        try:
            super().instantiate_classes()
        except Exception as error:
            if mistakes.sentence(error) is not None:
                raise
            raise InputError(mistakes.not_built(error)) from error

    def instantiate_trainer(self, **kwargs: Any) -> Trainer:
        """Add the loggers, the run's own first: its directory is the run's. Loggers of the user come after it."""
        trainer = self._get(self.config_init, "trainer")
        given = trainer.get("logger")
        if given in (None, True):
            kwargs["logger"] = False if self._writes_elsewhere_only() else self._loggers()
        elif given is not False:
            kwargs["logger"] = [*self._loggers(), *(given if isinstance(given, list) else [given])]
        callbacks = trainer.get("callbacks") or []
        callbacks = callbacks if isinstance(callbacks, list) else [callbacks]
        is_shown = trainer.get("enable_progress_bar") is not False and not trainer.get("barebones")
        if is_shown and not any(isinstance(callback, ProgressBar) for callback in callbacks):
            self.trainer_defaults["callbacks"].append(RunProgress())
        plugins = trainer.get("plugins") or []
        plugins = plugins if isinstance(plugins, list) else [plugins]
        if not any(isinstance(plugin, CheckpointIO) for plugin in plugins):
            kwargs["plugins"] = [*plugins, AtomicCheckpointIO()]
        try:
            return super().instantiate_trainer(**kwargs)
        except (ValueError, TypeError, RuntimeError, ImportError) as error:
            raise InputError(f"The Trainer cannot be built with these settings: {error}") from error

    def _writes_elsewhere_only(self) -> bool:
        """Whether ``predict --output FILE`` needs no folder in the run, which may be read-only then."""
        return self.subcommand == "predict" and os.path.isabs(self._get(self.config, "predictions").filename)

    def _loggers(self) -> list[Logger]:
        own = self._run_logger()
        mode = self._get(self.config, "wandb")
        if mode == "off":
            return [own]
        from pauc_lightning.cli.wandb_run import wandb_logger  # imports W&B

        directory, project = Path(own.log_dir), self._get(self.config, "wandb_project")
        name = f"{self._run_name()}-{directory.name}"
        return [own, wandb_logger(directory, name, project, offline=mode == "offline")]

    def _run_name(self) -> str:
        given = self._get(self.config, "run_name")
        return str(given) if given else f"{type(self.datamodule).__name__}-{type(self.model).__name__}"

    def _run_logger(self) -> RunLogger:
        """The run's own directory if it is resumed, a new one below it if it is evaluated, else a new run."""
        resumed = self._continued_run()
        if resumed is not None:
            return RunLogger(resumed.path, first_step=self._first_step)
        evaluated = self._evaluated_run()
        if self.subcommand != "fit" and evaluated is not None:
            return RunLogger(evaluated / str(self.subcommand), claim_version)
        return RunLogger(
            Path(os.path.abspath(self._get(self.config, "run_dir"))) / self._run_name(), claim_version
        )

    def _evaluated_run(self) -> Path | None:
        """The directory of the run whose checkpoint is given."""
        checkpoint = self._get(self.config, "ckpt_path")
        run = RunDirectory.of_checkpoint(Path(checkpoint)) if checkpoint else None
        return run.path if run is not None else None

    def _continued_run(self) -> RunDirectory | None:
        """The run to go on with: that of a `last.ckpt`. Other checkpoints begin a new run, which overwrites nothing."""
        checkpoint = self._subcommand_config().get("ckpt_path")
        if self.config.get("subcommand") != "fit" or not checkpoint or Path(checkpoint).name != "last.ckpt":
            return None
        return RunDirectory.of_checkpoint(Path(checkpoint))

    # ------------------------------------------------------------------ the commands and their closing words

    def before_fit(self) -> None:
        """Say in one line what is trained."""
        report.before_fit(self.model, self.datamodule)

    def fit(self, **kwargs: Any) -> None:
        """Train; a run that is refused leaves no directory, one that is stopped says how to go on."""
        try:
            with sigterm_raises(), self._alone_in_its_directory():
                self.trainer.fit(**kwargs)
        except RunInterrupted as stopped:
            self._stop(stopped.signum)
        except SystemExit:
            if self.trainer.state.status != TrainerStatus.INTERRUPTED:
                raise
            self._stop(signal.SIGINT)  # Lightning ends so after Ctrl-C
        except Exception:
            if self.trainer.global_step == 0 and not self._first_step:
                self._release_directory()
            raise

    @contextmanager
    def _alone_in_its_directory(self) -> Iterator[None]:
        """Keep others from training in the same run at the same time, whose curves and checkpoints would mix."""
        own = next((logger for logger in self.trainer.loggers if isinstance(logger, RunLogger)), None)
        if own is None or not is_main_process():
            yield
            return
        with held(Path(own.log_dir)):
            yield

    def _release_directory(self) -> None:
        """Remove the directory of a command that was refused before it wrote anything of its own."""
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
            raise SystemExit(0)  # any other status makes Lightning kill the main process while it still saves
        checkpoint = self.trainer.checkpoint_callback
        folder = Path((checkpoint.dirpath if isinstance(checkpoint, RunCheckpoint) else None) or ".")
        if not (folder / "last.ckpt").is_file():
            self._release_directory()
        report.after_interruption(folder, signal.Signals(signum).name)
        raise SystemExit(128 + signum)

    def after_fit(self) -> None:
        """Say where things are and what to type next; test the best checkpoint if asked to."""
        checkpoint = self.trainer.checkpoint_callback
        is_validated = isinstance(checkpoint, RunCheckpoint) and bool(checkpoint.best_model_path)
        is_tested = bool(self._get(self.config, "test_best")) and is_validated
        if is_tested:
            self.trainer.test(self.model, datamodule=self.datamodule, ckpt_path="best", verbose=False)
            report.after_evaluation(self.trainer, self.model, self.datamodule, "test")
        report.after_fit(self.trainer, self.model, self._first_step, is_tested)

    def test(self, **kwargs: Any) -> None:
        """Test without Lightning's own table; ours follows."""
        with self._leaving_nothing_if_refused():
            self.trainer.test(**{**kwargs, "verbose": False})

    def after_test(self) -> None:
        """Print and keep the table of the test part."""
        report.after_evaluation(self.trainer, self.model, self.datamodule, "test", self._evaluated_run())

    def predict(self, **kwargs: Any) -> None:
        """Predict; the scores go to a file and not to memory."""
        with self._leaving_nothing_if_refused():
            self.trainer.predict(**{**kwargs, "return_predictions": False})

    def validate(self, **kwargs: Any) -> None:
        """Validate without Lightning's own table; ours follows."""
        with self._leaving_nothing_if_refused():
            self.trainer.validate(**{**kwargs, "verbose": False})

    def after_validate(self) -> None:
        """Print and keep the table of the validation part."""
        report.after_evaluation(self.trainer, self.model, self.datamodule, "val", self._evaluated_run())


def _attribute_reader(name: str) -> Any:
    def read(data: LightningDataModule) -> Any:
        return getattr(data, name, None)

    return read
