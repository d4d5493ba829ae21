"""The options of ``pauc compare``, checked before anything is trained.

Nothing slow is imported here, so that ``pauc compare --help`` answers at once.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pauc_lightning.cli.nearest import nearest
from pauc_lightning.cli.plain_parser import PlainParser
from pauc_lightning.config_files import list_configs
from pauc_lightning.errors import InputError
from pauc_lightning.experiments.axes import (
    WARM_UP,
    backbone_variant,
    check_names,
    data_variant,
    is_label,
    method_variant,
    warm_up_variant,
)
from pauc_lightning.experiments.experiment_file import CompareSection, read_experiment
from pauc_lightning.experiments.option_values import (
    EXECUTORS,
    LARGEST_SEED,
    check_misspelled,
    check_repeats,
    executor_kind,
    executor_options,
    region,
    whole_number,
)
from pauc_lightning.experiments.plan import Plan, Tuning
from pauc_lightning.experiments.variant import Variant, option_names, option_texts, read_start, split_option

_METHODS = ("ce", "pauci", "upauci")
_REGIONS = ("0.3",)
_SEEDS = ("0", "1", "2")
_WARMUP_EPOCHS, _EPOCHS, _THREADS = "10", "20", "1"
_OUT = "runs/compare"

DESCRIPTION = """\
Train methods from the same cross-entropy warm-up, for each region and seed, and
compare their test results.

  pauc compare -c digits --methods ce pauci upauci --regions 0.3 0.3,0.7
  pauc compare -c digits_methods        # all of it in one file, with a section `compare:`

All other options go to every `pauc fit`, for example --model.backbone SmallCNN.
"""

NOTES = """\
Every method starts at the end of the warm-up. With start=initial it starts at its
initial weights and trains for the epochs of both, so that it may stop early:

  pauc compare -c digits --methods ce ce_early upauci --for ce_early config=ce start=initial

Seeds change the split, the initial weights and the order of the batches. The same
command continues a comparison that was interrupted, without repeating finished runs.

--out gets the tables (table.md, table.tex, table.csv), the ROC curves (roc.png) and a
directory for each run with its log. If a run failed, the exit status is 1.

--train_part adds the training part's partial AUC, gap to validation and squared risk.
"""


def parse(argv: Sequence[str]) -> Plan:
    """Read and check the options and the experiment's file; options win.

    Raises:
        InputError: If there is a mistake in them.
        SystemExit: After printing the help.
    """
    parser = _parser()
    arguments, extra = parser.parse_known_args(argv)
    check_names(extra)
    check_misspelled(
        extra, [name.lstrip("-") for action in parser._actions for name in action.option_strings]
    )
    found = read_experiment(arguments.config)
    experiment, section = found if found else (None, CompareSection(Path(), {}))
    new = _configs_of_new_labels(arguments.only_for, section.axis("methods"))
    methods = _axis("methods", arguments.methods, section, method_variant, _METHODS, new)
    best_of, left_out = _best_of(arguments.best_of, section, list(methods))
    data = _axis("data", arguments.data_sets, section, data_variant)
    backbones = _axis("backbones", arguments.backbones, section, backbone_variant)
    _check_axes_alone(extra, bool(data), bool(backbones))
    axes = {"methods": methods, "data": data, "backbones": backbones}
    axes[WARM_UP] = {WARM_UP: warm_up_variant(section.settings(WARM_UP))}
    for words in arguments.only_for:
        _add_options(axes, words, new)
    option, texts = _given("regions", arguments.regions, section, _REGIONS)
    regions = [region(option, text) for text in texts]
    check_repeats(option, texts, [found.name for found in regions])
    option, texts = _given("seeds", arguments.seeds, section, _SEEDS)
    seeds = [whole_number(option, text, 0, LARGEST_SEED) for text in texts]
    check_repeats(option, texts, seeds)
    default_out = _OUT if experiment is None else f"runs/{experiment.path.stem}"
    executor, processes = _executor(arguments)
    return Plan(
        configs=tuple(arguments.config),
        methods=axes["methods"],
        regions=tuple(regions),
        seeds=tuple(seeds),
        warmup_epochs=_number("warmup_epochs", arguments.warmup_epochs, section, _WARMUP_EPOCHS, 0),
        epochs=_number("epochs", arguments.epochs, section, _EPOCHS, 1),
        baseline=_baseline(arguments.baseline, section, list(methods), best_of, left_out),
        train_part=arguments.train_part or section.flag("train_part"),
        out=Path(arguments.out or section.text("out") or default_out),
        extra=tuple(extra),
        data=axes["data"],
        backbones=axes["backbones"],
        warm_up=axes[WARM_UP][WARM_UP],
        experiment=experiment,
        threads=_number("threads", arguments.threads, section, _THREADS, 1),
        executor=executor,
        processes=processes,
        tuning=_tuning(arguments.tuned, section),
        executor_options=executor_options(arguments.executor_options),
        best_of=best_of,
    )


def _parser() -> PlainParser:
    parser = PlainParser(
        prog="pauc compare",
        usage="pauc compare -c DATA [--methods METHOD ...] [options]",
        description=DESCRIPTION,
        epilog=NOTES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("-c", "--config", action="append", default=[], metavar="NAME", help="config file, as for pauc fit")
    add(
        "--methods",
        nargs="+",
        metavar="NAME",
        help=f"names of methods, see `pauc configs` (default: {' '.join(_METHODS)})",
    )
    add(
        "--data_sets",
        nargs="+",
        metavar="NAME",
        help="several data sets: names of configs, or of the file's data sets",
    )
    add(
        "--backbones",
        nargs="+",
        metavar="NAME",
        help="several backbones: names of classes, or of the file's backbones",
    )
    add(
        "--for",
        nargs="+",
        action="append",
        default=[],
        dest="only_for",
        metavar="NAME",
        help="options for one method only: --for upauci model.descent_lr=0.1; also for a data set, a backbone "
        "or `warmup`; for a method, config=NAME and start=initial, too",
    )
    add(
        "--regions",
        nargs="+",
        metavar="FPR[,TPR]",
        help=f"max_fpr, or max_fpr,min_tpr for a two-way region (default: {' '.join(_REGIONS)})",
    )
    add(
        "--seeds",
        nargs="+",
        metavar="N",
        help=f"one split per seed, and one run of everything (default: {' '.join(_SEEDS)})",
    )
    add(
        "--warmup_epochs",
        metavar="N",
        help=f"epochs of the warm-up; with 0, methods start from initial weights (default: {_WARMUP_EPOCHS})",
    )
    add("--epochs", metavar="N", help=f"epochs of each method after the warm-up (default: {_EPOCHS})")
    add("--baseline", metavar="NAME", help="method to which the others are compared (default: the first)")
    add(
        "--best_of",
        nargs="+",
        action="extend",
        metavar="LABEL=A,B",
        help="a further row: on each split, the best of A and B on validation",
    )
    add("--train_part", action="store_true", help="evaluate on the training part, too")
    add(
        "--tuned",
        metavar="N",
        help="first tune each method by N trials on the validation part",
    )
    add("--out", metavar="DIR", help=f"directory for all runs (default: {_OUT})")
    add("--processes", metavar="N", help="trainings at a time, each in its own process (default: 1)")
    add("--threads", metavar="N", help=f"threads of one training (default: {_THREADS})")
    add("--executor", choices=EXECUTORS, metavar="KIND", help=f"where to train: {', '.join(EXECUTORS)}")
    add(
        "--executor_options",
        nargs="+",
        default=[],
        metavar="NAME=VALUE",
        help="options of ray or slurm, such as gpus_per_job=1",
    )
    return parser


# ---------------------------------------------------------------------- axes


def _axis(
    name: str,
    given: Sequence[str] | None,
    section: CompareSection,
    variant: Callable[[str, Any], Variant],
    default: Sequence[str] = (),
    configs: Mapping[str, str] | None = None,
) -> dict[str, Variant]:
    """The values of an axis: those named on the command line, else those of the file, else the default.

    Args:
        name: The axis.
        given: The labels on the command line.
        section: The file's section.
        variant: Makes a value of its label and settings.
        default: The labels if there are no others.
        configs: Configs from the command line, by label.
    """
    in_file = section.axis(name)
    labels = given or list(in_file) or list(default)
    check_repeats(f"--{name}", labels, labels)
    settings = {**in_file, **{label: {"config": config} for label, config in (configs or {}).items()}}
    return {label: variant(label, settings.get(label)) for label in labels}


def _configs_of_new_labels(only_for: Sequence[Sequence[str]], in_file: Container[str]) -> dict[str, str]:
    """The configs in ``--for LABEL config=NAME``, for labels that stand for nothing else yet."""
    pairs = ((label, split_option(word)) for label, *words in only_for for word in words)
    given = {label: pair[1] for label, pair in pairs if pair is not None and pair[0] == "config"}
    methods = {Path(name).name for _, name, _ in list_configs() if Path(name).parent.name == "method"}
    return {label: config for label, config in given.items() if label not in in_file and label not in methods}


def _check_axes_alone(extra: Sequence[str], has_data: bool, has_backbones: bool) -> None:
    """Reject options for every run that would make all values of an axis the same."""
    for name in option_names(extra):
        if has_data and name in ("data", "data.class_path"):
            raise InputError(f"`--{name}` would replace every data set of the comparison: give --data_sets.")
        if has_backbones and name in ("model.backbone", "model.backbone.class_path"):
            raise InputError(f"`--{name}` would replace every backbone of the comparison: give --backbones.")


def _add_options(axes: dict[str, dict[str, Variant]], words: Sequence[str], new: Container[str]) -> None:
    """Give options to one value of an axis; the config of a new label has been read before."""
    label, *pairs = words
    owners = [values for values in axes.values() if label in values]
    if not owners:
        known = [name for values in axes.values() for name in values]
        raise InputError(
            f"`--for {label}`: no such method.{nearest(label, known)} Known: {', '.join(known)}."
        )
    if len(owners) > 1:
        raise InputError(f"`--for {label}`: the name stands for several things here. Give them other labels.")
    settings: dict[str, str] = {}
    for pair in pairs:
        found = split_option(pair)
        if found is None:
            raise InputError(f"`--for {' '.join(words)}`: write `--for {label} name=value`, not `{pair}`.")
        settings[found[0]] = found[1]
    if not settings:
        raise InputError(f"`--for {label}` needs options: write `--for {label} model.learning_rate=0.1`.")
    variant = owners[0][label]
    if "config" in settings and not (label in new and owners[0] is axes["methods"]):
        raise InputError(
            f"`--for {label} config=...`: here a config makes a method of a new label; another config for one method "
            f"is given in a file: `methods: {{{label}: {{config: ...}}}}` in its section `compare:`."
        )
    settings.pop("config", None)
    if "start" in settings and owners[0] is axes["methods"]:
        start = settings.pop("start")
        variant = replace(variant, start=read_start(f"--for {label} start={start}", start))
    options = option_texts(settings)
    check_names(options, label)
    owners[0][label] = replace(variant, last=(*variant.last, *options))


# ---------------------------------------------------------------------- choices and the baseline


def _best_of(
    given: Sequence[str] | None, section: CompareSection, methods: Sequence[str]
) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """The choices among methods by label: those on the command line, else those of the file.

    Returns:
        The choices, and those of the file that are left out because --methods leaves out some of their methods.
    """
    if given is not None:
        pairs = [_choice(text) for text in given]
        check_repeats("--best_of", [label for label, _ in pairs])
        for label, names in pairs:
            _check_choice(f"`--best_of {label}={','.join(names)}`", label, names, methods)
        return dict(pairs), {}
    in_file = section.lists("best_of")
    known = list(dict.fromkeys([*(section.axis("methods") or _METHODS), *methods]))
    for label, names in in_file.items():
        _check_choice(f"`best_of: {{{label}: [{', '.join(names)}]}}`", label, names, known)
    kept = {label: names for label, names in in_file.items() if set(names) <= set(methods)}
    return kept, {label: names for label, names in in_file.items() if label not in kept}


def _choice(text: str) -> tuple[str, list[str]]:
    label, _, names = text.partition("=")
    if not label or not names:
        raise InputError(f"`--best_of {text}`: write LABEL=METHOD,METHOD, such as ce=ce_late,ce_early.")
    return label, names.split(",")


def _check_choice(said: str, label: str, names: Sequence[str], methods: Sequence[str]) -> None:
    """Reject a choice that is none, or among methods that are not compared."""
    if not is_label(label):
        raise InputError(
            f"{said}: a label has letters, digits and the signs _ . + - only. Choose another one."
        )
    if label in methods:
        raise InputError(
            f"{said}: {label} is also a method of the comparison. Give one of them another label; in --methods, name "
            "the methods to choose from."
        )
    for name in names:
        if name not in methods:
            raise InputError(
                f"{said}: {name or 'an empty name'} is not among --methods {' '.join(methods)}: add it."
                f"{nearest(name, methods)}"
            )
        if names.count(name) > 1:
            raise InputError(f"{said}: {name} is given twice. Give it once.")
    if len(names) < 2:
        raise InputError(f"{said}: there is nothing to choose. Give at least two methods.")


def _baseline(
    given: str | None,
    section: CompareSection,
    methods: list[str],
    best_of: Mapping[str, Sequence[str]],
    left_out: Mapping[str, Sequence[str]],
) -> str:
    option, name = ("--baseline", given) if given else ("baseline:", section.text("baseline"))
    known = [*methods, *best_of]
    if name is None or (given is None and name not in known and len(methods) == 1):
        return methods[0]
    if name not in known and name in left_out:
        missing = [method for method in left_out[name] if method not in methods]
        raise InputError(
            f"`{option} {name}`: it is chosen among {' '.join(left_out[name])}, and --methods leaves out "
            f"{' '.join(missing)}. Add {'it' if len(missing) == 1 else 'them'}, or give another --baseline."
        )
    if name not in known:
        close = nearest(name, known)
        raise InputError(f"`{option} {name}` is not among --methods {' '.join(methods)}: add it.{close}")
    return name


# ---------------------------------------------------------------------- values


def _given(
    name: str, given: Sequence[str] | None, section: CompareSection, default: Sequence[str]
) -> tuple[str, Sequence[str]]:
    """The texts of a list, and the name by which messages call it."""
    if given is not None:
        return f"--{name}", given
    in_file = section.texts(name)
    return (f"--{name}", default) if in_file is None else (f"{name}:", in_file)


def _number(name: str, given: str | None, section: CompareSection, default: str, least: int) -> int:
    in_file = section.text(name)
    if given is None and in_file is not None:
        return whole_number(f"{name}:", in_file, least)
    return whole_number(f"--{name}", default if given is None else given, least)


def _tuning(given: str | None, section: CompareSection) -> Tuning | None:
    """The budget of the searches; none unless one is asked for."""
    if given is None and section.text("tuned") is None:
        return None
    return Tuning(_number("tuned", given, section, "", 1))


def _executor(arguments: argparse.Namespace) -> tuple[str, int]:
    given = arguments.processes
    processes = None if given is None else whole_number("--processes", given, 1)
    kind = executor_kind(arguments.executor, processes)
    return kind, processes or (1 if kind == "process" else n_cores())


def n_cores() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
