"""``pauc figure sensitivity``: results by the initial values of the objective's variables, and by omega."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from pauc_lightning.cli.nearest import nearest
from pauc_lightning.cli.plain_parser import PlainParser
from pauc_lightning.errors import InputError
from pauc_lightning.experiments import request as compare_request
from pauc_lightning.experiments.compare import RunPauc
from pauc_lightning.experiments.plan import Plan
from pauc_lightning.experiments.variant import Variant
from pauc_lightning.figures.command import said
from pauc_lightning.figures.request import FigureRequest, Training, parse
from pauc_lightning.figures.runs import FigureRun, shown_name, trained

VALUES: dict[str, tuple[float, ...]] = {
    "a": (0.0, 0.25, 0.5, 1.0),
    "b": (0.0, 0.25, 0.5, 1.0),
    "gamma": (-1.0, -0.5, 0.0, 1.0),
    "s_neg": (0.0, 1.0, 2.0, 4.0),
    "s_pos": (-4.0, -2.0, -1.0, 0.0),
    "c": (0.0, 0.2, 0.5, 1.0),
    "omega": (0.0, 0.1, 0.5, 2.0),
}
"""The values that are tried. gamma must not be below b - 1 or -a, so it varies at a = 1 and b = 0."""
FIXED = {"a": 1.0, "b": 0.0, "gamma": 0.0, "s_neg": 0.0, "s_pos": -2.0, "c": 1.0}
"""Where the variables start without a closed form: the loss's defaults, which select every instance."""
SYMBOLS = {"a": "a", "b": "b", "gamma": "γ", "s_neg": "s′", "s_pos": "s", "c": "c", "omega": "ω"}
METHODS = ("upauci_ascent", "upauci", "pauci")
USUAL, START = "usual", "fixed_start"
"""Labels of the method as it is configured, and with all variables at their fixed values."""

DESCRIPTION = """\
Draw the partial AUC on the test part by the initial value of each variable, and by omega: boxes over the seeds. One
variable is changed at a time. The others start at fixed values that select every instance: a = 1, b = 0, gamma = 0,
s' = 0, s = -2, c = 1. The dashed line is the median of the method as it is configured: all variables start at
their optimum for the scores after the warm-up, in closed form.

  pauc figure sensitivity --variables a s_neg omega --method upauci
  pauc figure sensitivity -c digits --region 0.3,0.7 --seeds 0 1 2 3 4 5 6 7 8 9

The same command draws again what has been trained, and goes on after an interruption.
"""

TRAINING = Training(methods=(), region="0.3", seeds=("0", "1", "2", "3", "4"), warmup_epochs="3", epochs="10")


def main(argv: Sequence[str], run_pauc: RunPauc) -> None:
    """Draw the figure.

    Args:
        argv: The words after the figure's name.
        run_pauc: The ``pauc`` command, which trains.
    """
    request = parse("sensitivity", DESCRIPTION, argv, TRAINING, _add_options)
    if request.runs:
        raise InputError(
            f"`{request.runs[0][1]}`: this figure has trainings of its own. Name none; to draw it again, type the "
            "command that trained them."
        )
    method = request.own.method
    plan = _plan(request)
    chosen = _variables(request, plan)
    variants = variants_of(method, plan.methods[method], chosen)
    runs = trained(replace(plan, methods=variants, baseline=USUAL, best_of={}), request.command, run_pauc)
    values = {label: _results(runs, label) for label in variants}
    from pauc_lightning.figures.output import save_figure
    from pauc_lightning.plotting.sensitivity import plot_sensitivity

    settings = {
        SYMBOLS[name]: {f"{value:g}": values[label_of(method, name, value)] for value in VALUES[name]}
        for name in chosen
    }
    usual = sorted(values[USUAL])
    title = f"{shown_name(method)}, {plan.regions[0].title}"
    figure = plot_sensitivity(
        settings, "Partial AUC on the test part", usual[len(usual) // 2] if usual else None, title
    )
    files = save_figure(request.out, "sensitivity", figure, list(_rows(method, chosen, runs)))
    said(files, "pauc figure variables    # where the variables go from their start")


def _add_options(parser: PlainParser) -> None:
    parser.add_argument(
        "--method",
        choices=METHODS,
        default=METHODS[0],
        metavar="NAME",
        help=f"the method, one of {', '.join(METHODS)}; only {METHODS[0]} has stored weights c",
    )
    parser.add_argument(
        "--variables",
        nargs="+",
        metavar="NAME",
        help=f"what to change, of {' '.join(VALUES)} (default: all that the method and the region have)",
    )


def _plan(request: FigureRequest) -> Plan:
    plan = compare_request.parse([*request.compare, "--methods", request.own.method])
    if len(plan.tasks) > 1:
        raise InputError(
            "`pauc figure sensitivity` looks at one data set and one backbone: leave out the other ones."
        )
    return plan


def _variables(request: FigureRequest, plan: Plan) -> list[str]:
    """The variables to change; those that the method or the region lacks are refused."""
    method, region = request.own.method, plan.regions[0]
    missing = {}
    if not region.is_two_way:
        missing["s_pos"] = "the region is one-way: add a smallest TPR, as in --region 0.3,0.7"
    if method != "upauci_ascent":
        missing["c"] = f"{method} stores no weights: choose --method upauci_ascent"
    given = request.own.variables
    for name in given or ():
        if name not in VALUES:
            raise InputError(
                f"`--variables {name}`: no such variable.{nearest(name, VALUES)} They are {', '.join(VALUES)}."
            )
        if name in missing:
            raise InputError(f"`--variables {name}`: {missing[name]}.")
    return list(dict.fromkeys(given)) if given else [name for name in VALUES if name not in missing]


def label_of(method: str, name: str, value: float) -> str:
    """The label of the trainings with a value; equal settings share one.

    Example:
        >>> label_of("upauci", "a", 0.25), label_of("upauci", "a", 1.0), label_of("upauci", "omega", 0.5)
        ('a_0.25', 'fixed_start', 'usual')
    """
    if name == "omega":
        return USUAL if value == (0.0 if method == "pauci" else 0.5) else f"omega_{value:g}"
    return START if FIXED[name] == value else f"{name}_{value:g}"


def variants_of(method: str, base: Variant, names: Sequence[str]) -> dict[str, Variant]:
    """The method as it is configured, and with each value of each variable."""
    variants = {USUAL: base}
    for name in names:
        for value in VALUES[name]:
            label = label_of(method, name, value)
            if name == "omega":
                options: tuple[str, ...] = (f"--model.omega={value:g}",) if label != USUAL else ()
            else:
                given = () if label == START else (f"--model.initial={{{name}: {value:g}}}",)
                options = ("--model.closed_form_start=false", *given)
            variants.setdefault(label, replace(base, last=(*base.last, *options)))
    return variants


def _results(runs: Sequence[FigureRun], label: str) -> list[float]:
    from pauc_lightning.experiments.note import read_json

    return [float(read_json(run.path / "test_metrics.json")["pauc"]) for run in runs if run.method == label]


def _rows(method: str, names: Sequence[str], runs: Sequence[FigureRun]) -> Iterator[Mapping[str, object]]:
    from pauc_lightning.experiments.note import read_json

    for name in names:
        for value in VALUES[name]:
            for run in runs:
                if run.method == label_of(method, name, value):
                    yield {
                        "method": method,
                        "max_fpr": run.region.max_fpr,
                        "min_tpr": run.region.min_tpr,
                        "variable": name,
                        "value": value,
                        "seed": run.seed,
                        "test_pauc": float(read_json(run.path / "test_metrics.json")["pauc"]),
                        "start": "closed form" if name == "omega" else "fixed values",
                    }
