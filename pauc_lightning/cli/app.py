"""``pauc fit|validate|test|predict``: Lightning's command line with this project's defaults and closing words."""

from __future__ import annotations

import json
import os
import pickle
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import wandb
from jsonargparse import Namespace
from lightning.pytorch import LightningDataModule, Trainer
from lightning.pytorch.callbacks import ModelCheckpoint
from lightning.pytorch.cli import LightningArgumentParser, LightningCLI
from lightning.pytorch.loggers import CSVLogger, Logger, WandbLogger

# Imported so that YAML files may name these classes without their module.
import pauc_lightning.callbacks
import pauc_lightning.data
import pauc_lightning.methods
import pauc_lightning.models  # noqa: F401
from pauc_lightning.callbacks import EvaluationFigures, PredictionWriter
from pauc_lightning.cli.parser import DESCRIPTION, PaucArgumentParser
from pauc_lightning.errors import InputError
from pauc_lightning.files import write_text
from pauc_lightning.methods import PartialAUCModule

LINKED_FROM_DATA = ("prior", "train_size", "input_shape")
"""Arguments of the model that are attributes of the data module; a data module may lack them."""


class PaucCLI(LightningCLI):
    """LightningCLI with this project's defaults, links and closing words."""

    figures: EvaluationFigures

    def __init__(self, args: Sequence[str] | None = None) -> None:
        super().__init__(
            model_class=PartialAUCModule,
            datamodule_class=LightningDataModule,
            subclass_mode_model=True,
            subclass_mode_data=True,
            seed_everything_default=0,
            parser_class=PaucArgumentParser,
            parser_kwargs={"description": DESCRIPTION, "prog": "pauc"},
            save_config_kwargs={"overwrite": True},
            # The data modules shard by themselves: stratified in training, unpadded in evaluation.
            trainer_defaults={"use_distributed_sampler": False, "max_epochs": 50, "log_every_n_steps": 10},
            auto_configure_optimizers=False,
            args=list(args) if args is not None else None,
        )

    def add_arguments_to_parser(self, parser: LightningArgumentParser) -> None:
        """Options of this project, and what flows from the data to the model."""
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
        parser.add_lightning_class_args(ModelCheckpoint, "checkpoint")
        parser.set_defaults(
            {
                "checkpoint.monitor": "val/pauc",
                "checkpoint.mode": "max",
                "checkpoint.filename": "best",
                "checkpoint.save_last": True,
                "checkpoint.enable_version_counter": False,
            }
        )
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

    def _parse_ckpt_path(self) -> None:
        """Let the checkpoint's hyperparameters win, as Lightning does, but say where they disagree."""
        path = self._subcommand_config().get("ckpt_path")
        if path and path not in ("best", "last", "hpc", "registry") and not Path(path).is_file():
            raise InputError(f"`ckpt_path={path}`: no such file. Checkpoints lie in <run>/checkpoints/.")
        asked = self._model_arguments()
        try:
            super()._parse_ckpt_path()
        except (pickle.UnpicklingError, RuntimeError, EOFError) as error:
            raise InputError(
                f"`ckpt_path={path}` is not a checkpoint: give the path of a .ckpt file."
            ) from error
        used = self._model_arguments()
        given = (key for key in asked if key in used and key not in LINKED_FROM_DATA)
        differing = [key for key in given if asked[key] != used[key]]
        if differing:
            lines = "".join(f"\n  {key}: asked for {asked[key]!r}, using {used[key]!r}" for key in differing)
            print(
                f"warning: the checkpoint {path} was made with other settings, and those are used:{lines}\n"
                "To train on with new settings, start a new run with --model.init_args.init_weights=<checkpoint> "
                "instead of --ckpt_path.",
                file=sys.stderr,
            )

    def _subcommand_config(self) -> Namespace:
        subcommand = self.config.get("subcommand")
        config: Namespace = self.config[subcommand] if subcommand else self.config
        return config

    def _model_arguments(self) -> dict[str, Any]:
        model = self._subcommand_config().get("model")
        if model is None:
            return {}
        arguments: dict[str, Any] = model.clone().as_dict().get("init_args", {})
        return arguments

    def instantiate_trainer(self, **kwargs: Any) -> Trainer:
        """Add the loggers, CSV first: its directory is the run's. A resumed run goes on with its own checkpoints."""
        run = self._run_of_checkpoint()
        checkpoint = self._get(self.config_init, "checkpoint")
        if run is not None and checkpoint.dirpath is None:
            checkpoint.dirpath = str(
                run / "checkpoints"
            )  # in this object only, not in the config that is saved
        trainer = self._get(self.config_init, "trainer")
        if trainer.get("logger") in (None, True):
            kwargs["logger"] = self._loggers()
        return super().instantiate_trainer(**kwargs)

    def _loggers(self) -> list[Logger]:
        csv = self._csv_logger()
        mode = self._get(self.config, "wandb")
        if mode == "off":
            return [csv]
        wandb.finish()  # an earlier run of this process, which would go on otherwise
        _ = csv.experiment  # makes the directory, before W&B puts something in it
        name = self._run_name()
        logger = WandbLogger(
            name=f"{name}-{Path(csv.log_dir).name}",
            project=self._get(self.config, "wandb_project"),
            save_dir=csv.log_dir,
            offline=mode == "offline",
        )
        return [csv, logger]

    def _run_name(self) -> str:
        given = self._get(self.config, "run_name")
        return str(given) if given else f"{type(self.datamodule).__name__}-{type(self.model).__name__}"

    def _csv_logger(self) -> CSVLogger:
        """A fresh directory for a new run; what starts from a checkpoint goes below the run it belongs to."""
        run = self._run_of_checkpoint()
        if run is not None:
            return CSVLogger(run, name="resumed" if self.subcommand == "fit" else str(self.subcommand))
        return CSVLogger(os.path.abspath(self._get(self.config, "run_dir")), name=self._run_name())

    def _run_of_checkpoint(self) -> Path | None:
        checkpoint = self._get(self.config, "ckpt_path")
        folder = Path(os.path.abspath(checkpoint)).parent if checkpoint else Path()
        return folder.parent if folder.name == "checkpoints" else None

    def before_instantiate_classes(self) -> None:
        """Refuse what cannot work, before anything is built or written."""
        config = self._subcommand_config()
        if self.config.get("subcommand") != "fit" and not config.get("ckpt_path"):
            model = config.get("model")
            if not (model and model.get("init_args", {}).get("init_weights")):
                raise InputError(
                    f"`pauc {self.config.get('subcommand')}` needs a trained model: give "
                    "--ckpt_path=<run>/checkpoints/best.ckpt."
                )
        if config["trainer"].get("gradient_clip_val") is not None:
            raise InputError(
                f"`trainer.gradient_clip_val={config['trainer']['gradient_clip_val']}` has no effect here, as the "
                "methods step their optimizers themselves: use --model.gradient_clip_norm instead."
            )
        if config["trainer"].get("accumulate_grad_batches", 1) != 1:
            raise InputError(
                "`trainer.accumulate_grad_batches` has no effect here, as the methods step their optimizers "
                "themselves: use a larger --data.batch_size instead."
            )

    # ------------------------------------------------------------------ closing words

    def after_fit(self) -> None:
        """Say where things are and what to type next; test if asked to."""
        checkpoint = self.trainer.checkpoint_callback
        if not isinstance(checkpoint, ModelCheckpoint) or not checkpoint.best_model_path:
            return
        best = _relative(checkpoint.best_model_path)
        directory = _relative(self.trainer.log_dir or ".")
        if self._get(self.config, "test_best"):
            self.trainer.test(self.model, datamodule=self.datamodule, ckpt_path="best", verbose=False)
            self.after_test()
        if self.trainer.is_global_zero:
            command = shlex.join(["pauc", "test", "-c", f"{directory}/config.yaml", "--ckpt_path", best])
            best_score = checkpoint.best_model_score
            score = "unknown" if best_score is None else f"{float(best_score):.4f}"
            print(
                f"\nBest validation {self.model.region.title}: {score}\n"
                f"  checkpoint  {best}\n  curves      {directory}/metrics.csv\n  settings    {directory}/config.yaml\n"
                f"Next:  {command}"
            )

    def test(self, **kwargs: Any) -> None:
        """Test without Lightning's own table; ours follows."""
        self.trainer.test(**{**kwargs, "verbose": False})

    def after_test(self) -> None:
        """Print and keep the table of the test part."""
        self._report("test")

    def validate(self, **kwargs: Any) -> None:
        """Validate without Lightning's own table; ours follows."""
        self.trainer.validate(**{**kwargs, "verbose": False})

    def after_validate(self) -> None:
        """Print and keep the table of the validation part."""
        self._report("val")

    def _report(self, part: str) -> None:
        metrics = {
            key.removeprefix(f"{part}/"): float(value)
            for key, value in self.trainer.callback_metrics.items()
            if key.startswith(f"{part}/")
        }
        directory = Path(self.trainer.log_dir or ".")  # asks all ranks
        if not self.trainer.is_global_zero or not metrics:
            return
        regions = {metric.region.name: metric.region for metric in self.model.test_metrics.values()}
        rows = [(regions[name], value) for name, value in metrics.items() if name in regions]
        width = max(len(region.title) for region, _ in rows)
        where = {"test": "test part", "val": "validation part"}[part]
        print(f"\n{type(self.model).__name__} on the {where} of {type(self.datamodule).__name__}")
        print("─" * (width + 10))
        for region, value in rows:
            mark = "  ◂ optimised" if region == self.model.region else ""
            print(f"{region.title:<{width}}  {value:8.4f}{mark}")
        print("─" * (width + 10))
        write_text(directory / f"{part}_metrics.json", json.dumps(metrics, indent=2) + "\n")
        print(f"  numbers     {_relative(directory / f'{part}_metrics.json')}")
        for callback in self.trainer.callbacks:  # type: ignore[attr-defined]
            if isinstance(callback, EvaluationFigures):
                for path in callback.paths:
                    print(f"  figure      {_relative(path)}")


def _attribute_reader(name: str) -> Any:
    def read(data: LightningDataModule) -> Any:
        return getattr(data, name, None)

    return read


def _relative(path: str | Path) -> str:
    """The path as a user would type it from here."""
    relative = os.path.relpath(path)
    return str(path) if relative.startswith("..") else relative
