"""The help pages of the commands on runs: the common options, grouped; ``--help_all`` shows the others.

Texts and defaults come from the parser, that is, from the signatures and docstrings of the classes. Texts of the
Trainer that are too long or uninformative are replaced.
"""

from __future__ import annotations

import inspect
from argparse import Action
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from pauc_lightning.cli.kinds import KINDS, find_class
from pauc_lightning.cli.options import Option, filled, page_width, section, visible
from pauc_lightning.cli.predict import predict_parser

_TEXTS = {
    "config": "Name or path of a config file; may be given several times, and later ones win",
    "print_config": "Print all settings that would be used, and exit",
    "seed_everything": "Seed of the initial weights and of all randomness without a seed of its own",
    "ckpt_path": "Checkpoint to use: best, last or the path of a file",
    "trainer.accelerator": "Hardware: cpu, gpu, mps, tpu or auto",
    "trainer.devices": "How many devices, or a list of their numbers; -1 for all",
    "trainer.strategy": "How several devices share the work, such as ddp",
    "trainer.precision": "Precision of the computation, such as 32-true, 16-mixed, bf16-mixed or 64-true",
    "trainer.max_epochs": "Epochs to train, including the warm-up",
    "trainer.max_steps": "Steps to train; -1 for no limit",
    "trainer.max_time": "Time to train, as DD:HH:MM:SS",
    "trainer.limit_train_batches": "Batches per epoch, as a number or as a fraction",
    "trainer.log_every_n_steps": "Steps between two rows of metrics.csv",
    "trainer.enable_progress_bar": "Show the progress while it runs",
    "trainer.callbacks": "Callbacks to add, such as EarlyStopping",
}
_METAVARS = {
    "config": "NAME|FILE",
    "trainer.devices": "INT|LIST|auto",
    "trainer.strategy": "NAME",
    "trainer.accelerator": "NAME",
    "trainer.precision": "NAME",
    "trainer.limit_train_batches": "INT|FLOAT",
    "trainer.max_time": "TIME",
    "trainer.callbacks": "CLASS",
    "ckpt_path": "best|last|FILE",
    "print_config": "",
}

_MORE = (
    Option("--model.help", "CLASS", "Explain all settings of a method, such as UPAUCI", ""),
    Option("--data.help", "CLASS", "Explain all settings of a data set, such as TabularLT", ""),
    Option("--model.backbone.help", "CLASS", "Explain all settings of a network, such as SmallCNN", ""),
    Option("--trainer.help", "", "Explain all settings of Lightning's Trainer", ""),
    Option("--help_all", "", "List all options of this command", ""),
)

_HARDWARE = ("trainer.accelerator", "trainer.devices", "trainer.strategy", "trainer.precision")
_FIT_GROUPS: Mapping[str, Sequence[str]] = {
    "Config files": ("config", "print_config"),
    "Data": (
        *("data", "data.batch_size", "data.sampler", "data.positive_fraction", "data.seed"),
        "data.num_workers",
    ),
    "Method": (
        *("model", "model.backbone", "model.learning_rate", "model.weight_decay", "model.schedule"),
        *("model.warmup_epochs", "model.init_weights"),
    ),
    "Region": ("model.max_fpr", "model.min_tpr", "model.regions"),
    "Training": (
        *("trainer.max_epochs", "trainer.max_steps", "trainer.max_time", "trainer.limit_train_batches"),
        *(*_HARDWARE, "trainer.callbacks", "seed_everything"),
    ),
    "Run": (
        *("run_dir", "run_name", "test_best", "checkpoint.monitor", "checkpoint.every_n_train_steps"),
        *("figures.every_n_epochs", "decision.target_fpr"),
    ),
    "Logging": (
        *("wandb", "wandb_project", "wandb_group", "tensorboard"),
        *("trainer.log_every_n_steps", "trainer.enable_progress_bar"),
    ),
}
_EVALUATION_GROUPS: Mapping[str, Sequence[str]] = {
    "Model and data": ("ckpt_path", "model.regions", "data.eval_batch_size", "data.num_workers"),
    "Hardware": _HARDWARE,
    "Logging": ("wandb", "wandb_project", "tensorboard", "trainer.enable_progress_bar"),
}


@dataclass(frozen=True)
class CommandPage:
    """The contents of a command's help page, apart from texts and defaults of its options.

    Args:
        usage: How it is called, after ``pauc``.
        description: What it does.
        examples: Calls as they are typed, with or without a remark.
        groups: Headings, and the names of the options below each.
        closing: Remarks at the end of the page.
    """

    usage: str
    description: str
    examples: Sequence[str]
    groups: Mapping[str, Sequence[str]]
    closing: str = ""


PAGES = {
    "fit": CommandPage(
        "fit -c DATA -c METHOD [options]",
        "Train a method on a data set. The run's directory keeps settings, curves, checkpoints and figures.",
        (
            "pauc fit -c digits -c upauci",
            "pauc fit -c digits -c upauci --model.max_fpr 0.1 --trainer.max_epochs 30",
            "pauc fit -c tabular -c partial_auc --data.path patients.csv --data.label outcome",
            "pauc fit -c digits --model CE --model.backbone my_file.MyNet",
        ),
        _FIT_GROUPS,
    ),
    "resume": CommandPage(
        "resume RUN [options]",
        "Continue a run that was stopped, exactly where it stopped. RUN is its directory. Settings that are "
        "left out stay as in the run; its length, the hardware and the logging may be changed.",
        (
            "pauc resume runs/DigitsLT-CE/version_0",
            "pauc resume runs/DigitsLT-CE/version_0 --trainer.max_epochs 100",
        ),
        {
            "Training": ("trainer.max_epochs", "trainer.max_steps", "trainer.max_time", *_HARDWARE),
            "Run": ("test_best", "checkpoint.every_n_train_steps", "figures.every_n_epochs"),
            "Logging": ("wandb", "wandb_project", "tensorboard", "trainer.enable_progress_bar"),
        },
    ),
    "test": CommandPage(
        "test RUN [options]",
        "Evaluate the best model of a run on the test part. RUN is its directory.",
        ("pauc test runs/DigitsLT-CE/version_0",),
        _EVALUATION_GROUPS,
    ),
    "validate": CommandPage(
        "validate RUN [options]",
        "Evaluate the best model of a run on the validation part. RUN is its directory.",
        ("pauc validate runs/DigitsLT-CE/version_0",),
        _EVALUATION_GROUPS,
    ),
    "predict": CommandPage(
        "predict RUN [options]",
        "Score samples with the best model of a run, one row per sample in the order of the data. RUN is its "
        "directory.",
        (
            "pauc predict runs/TabularLT-CE/version_0",
            "pauc predict runs/TabularLT-CE/version_0 --input new.csv --output scores.csv",
            "pauc predict runs/TabularLT-CE/version_0 --input new.csv --output scores.csv --target_fpr 0.01",
        ),
        {
            "Model and data": ("ckpt_path", "data.predict_part", "data.eval_batch_size", "data.num_workers"),
            "Hardware": _HARDWARE,
        },
        "The columns are the row number in the input, counted from 0 (`index`), the file of an image, the identifier, "
        "the label (1 positive, 0 negative) if the input has one, the score, and with --target_fpr the decision.",
    ),
}


def command_page(command: str, actions: Sequence[Action]) -> str:
    """The help page of a command.

    Args:
        command: One of :data:`PAGES`.
        actions: The actions of its parser.
    """
    page, width = PAGES[command], page_width()
    known = {action.dest: action for action in [*class_actions(), *visible(actions)]}
    blocks = [f"usage: pauc {page.usage}\n", *filled(page.description, width)]
    blocks.append("".join(f"  {example}\n" for example in page.examples))
    if command == "predict":
        blocks.append(
            section("New data", [Option.of_action(action) for action in predict_parser()._actions], width)
        )
    for title, names in page.groups.items():
        options = [_option(name, known) for name in names]
        if command != "fit":  # the run's settings apply, not the classes' defaults
            options = [
                replace(option, default="best" if option.name == "--ckpt_path" else "") for option in options
            ]
        blocks.append(section(title, options, width))
    blocks.append(section("Read next", list(_MORE), width))
    blocks += filled(page.closing, width)
    return "\n".join(blocks)


def class_page(title: str, summary: str, actions: Sequence[Action], hidden: Sequence[str] = ()) -> str:
    """The help page of one class: all its options with their whole text.

    Args:
        title: The class and the option that takes it.
        summary: What it is.
        actions: The parser's actions for its arguments.
        hidden: Names of options that the command line sets itself.
    """
    width = page_width()
    options = [Option.of_action(action) for action in visible(actions) if action.dest not in hidden]
    blocks = [
        f"{title}\n",
        *filled(f"{summary.rstrip('.')}." if summary else "", width),
        section("Options", options, width),
    ]
    nested = [action.dest for action in actions if action.dest.endswith(".help")]
    classes = [name for name in nested if name.rpartition(".help")[0].rpartition(".")[2] in KINDS]
    if classes:
        names = ", ".join(f"--{name} CLASS" for name in classes)
        blocks += filled(f"These options take a class, which has options of its own: {names}.", width)
    return "\n".join(blocks)


def _option(name: str, known: Mapping[str, Action]) -> Option:
    """One line about an option."""
    kind = KINDS.get(name.rpartition(".")[2])
    if kind is not None and name in ("data", "model", "model.backbone"):
        text = f"{', '.join(kind.names)}, or the import path of your own, such as {kind.own}"
        return Option(f"--{name}", "CLASS", text, "")
    option = Option.of_action(known[name])
    if name.startswith("model."):
        option = replace(option, default=_with_exceptions(option.default, name.removeprefix("model.")))
    text = _TEXTS.get(name, option.text)
    return replace(option, text=text, kind=_METAVARS.get(name, option.kind)).in_brief(page_width())


def _with_exceptions(default: str, name: str) -> str:
    """A default that all methods share, followed by the methods that have another one."""
    others: dict[str, list[str]] = {}
    for method in KINDS["model"].names:
        own = str(_default_of(find_class(method), name))
        if default and own not in (default, "None"):
            others.setdefault(own, []).append(method)
    return "; ".join([default, *(f"{own} for {_listed(methods)}" for own, methods in others.items())])


def _listed(names: Sequence[str]) -> str:
    """Write names as a sentence does: ``A, B and C``."""
    return " and ".join([*([", ".join(names[:-1])] if len(names) > 1 else []), names[-1]])


def _default_of(method: type | None, name: str) -> object:
    """The default of an argument, from the first constructor in the inheritance order that names it."""
    for member in inspect.getmro(method) if method else ():
        found = inspect.signature(member).parameters.get(name)
        if found is not None:
            return found.default
    return None


def class_actions() -> Iterator[Action]:
    """The options that all data sets, and all methods, have in common."""
    from jsonargparse import ArgumentParser

    from pauc_lightning.data import LongTailDataModule
    from pauc_lightning.methods import PartialAUCModule

    parser = ArgumentParser()
    parser.add_class_arguments(LongTailDataModule, "data", fail_untyped=False)
    parser.add_class_arguments(PartialAUCModule, "model", fail_untyped=False)
    yield from visible(parser._actions)
