"""The figure of a search: the value against each option that was varied."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pauc_lightning.plotting.style import COLOURS, EDGE_COLOUR, new_figure, tidy
from pauc_lightning.tuning.outputs import as_text
from pauc_lightning.tuning.result import MethodResult, TuneResult
from pauc_lightning.tuning.space import Choice, Dimension
from pauc_lightning.tuning.trial import Trial

_WIDTH, _HEIGHT = 2.5, 2.4
_COMPLETE, _BEST = COLOURS[0], COLOURS[1]


def plot_search(result: TuneResult) -> Figure:
    """Draw a row for each method: the values in the order of the trials, then against each option.

    Args:
        result: The search.

    Returns:
        A figure that is not registered with pyplot. A pruned trial is a cross at its best value when it was given up.
    """
    methods = list(result.methods.values())
    columns = 1 + max(len(of.space.dimensions) for of in methods)
    figure = new_figure(_WIDTH * columns, _HEIGHT * len(methods) + 0.6)
    figure.suptitle(f"{result.request.region.title} on the validation part", fontsize="medium")
    axes = figure.subplots(len(methods), columns, squeeze=False, sharey="row")
    for row, of in zip(axes, methods, strict=True):
        _draw_history(row[0], of)
        for ax, (key, dimension) in zip(row[1:], of.space.dimensions.items(), strict=False):
            _draw_option(ax, of, key, dimension)
        for ax in row[1 + len(of.space.dimensions) :]:
            ax.remove()
    shown = {
        label: handle
        for ax in axes[:, 0]
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True)
    }
    figure.legend(
        list(shown.values()),
        list(shown),
        loc="outside lower center",
        ncols=len(shown),
        frameon=False,
        fontsize="small",
    )
    return figure


def _draw_history(ax: Axes, of: MethodResult) -> None:
    with_value = [trial for trial in of.trials if trial.state == "complete"]
    _draw(ax, of, [float(trial.number) for trial in of.trials])
    best_so_far: list[tuple[int, float]] = []
    for trial in with_value:
        value = trial.value or 0.0
        best_so_far.append((trial.number, max(value, best_so_far[-1][1] if best_so_far else value)))
    if best_so_far:
        best_so_far.append((len(of.trials) - 1, best_so_far[-1][1]))
        ax.step(*zip(*best_so_far, strict=True), where="post", color=EDGE_COLOUR, linewidth=1.0, zorder=1)
    ax.set(xlabel="trial", ylabel=of.method)
    ax.locator_params(axis="x", integer=True)
    tidy(ax)


def _draw_option(ax: Axes, of: MethodResult, key: str, dimension: Dimension) -> None:
    if isinstance(dimension, Choice):
        texts = [as_text(value) for value in dimension.values]
        places = {text: float(place) for place, text in enumerate(texts)}
        _draw(ax, of, [places.get(as_text(trial.parameters[key])) for trial in of.trials])
        ax.set_xticks(range(len(texts)), texts)
        ax.set_xlim(-0.5, len(texts) - 0.5)
    else:
        if dimension.is_log:
            ax.set_xscale("log")
        _draw(ax, of, [_place(trial.parameters[key], dimension.is_log) for trial in of.trials])
    ax.set_xlabel(key.removeprefix("model."))
    ax.tick_params(labelleft=False)
    tidy(ax)


def _place(value: object, is_log: bool) -> float | None:
    """Where a value is drawn; None if it is no number, such as a default of null, or has no logarithm."""
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return float(value) if is_number and (value > 0 or not is_log) else None  # type: ignore[arg-type,operator]


def _draw(ax: Axes, of: MethodResult, places: Sequence[float | None]) -> None:
    best = of.best
    kinds = {
        "complete": {"marker": "o", "color": _COMPLETE, "s": 18},
        "pruned": {"marker": "x", "color": EDGE_COLOUR, "s": 18, "linewidths": 1.0},
        "collapsed": {"marker": "v", "color": COLOURS[3], "s": 18},
        "as configured": {"marker": "D", "facecolors": "none", "edgecolors": "black", "s": 40},
        "best": {"marker": "*", "color": _BEST, "s": 110, "zorder": 3},
    }
    for kind, style in kinds.items():
        points = [
            (place, height)
            for trial, place in zip(of.trials, places, strict=True)
            if place is not None and _is(trial, kind, best) and (height := _height(trial)) is not None
        ]
        if points:
            ax.scatter(*zip(*points, strict=True), label=kind, **style)  # type: ignore[arg-type]


def _is(trial: Trial, kind: str, best: Trial | None) -> bool:
    if kind == "best":
        return best is not None and trial.number == best.number
    return trial.number == 0 if kind == "as configured" else trial.state == kind


def _height(trial: Trial) -> float | None:
    """The value, or for a pruned trial the mean of the best values that it had; None if it failed."""
    if trial.value is not None:
        return trial.value
    values = [run.value for run in trial.runs if run.value is not None]
    return sum(values) / len(values) if trial.state == "pruned" and values else None
