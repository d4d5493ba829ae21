"""The curves of a training: validation values, the loss, and the method's own variables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from pauc_lightning.report.chart import Chart
from pauc_lightning.report.html import Html
from pauc_lightning.report.scale import Floats, Scale, linear
from pauc_lightning.report.training import Series, TrainingCurves
from pauc_lightning.report.words import number

_HEIGHT = 220
_MOST_POINTS = 500
_LINE_HEIGHT = 14.0


@dataclass(frozen=True)
class Panel:
    """A chart of quantities that belong together.

    Args:
        title: What they are.
        names: Their names in metrics.csv and in the chart; those that a run has not logged are left out.
        text: What they mean.
        range: Names of two quantities between which a band is drawn.
    """

    title: str
    names: Mapping[str, str]
    text: str
    range: tuple[str, str] | None = None


PANELS = (
    Panel("Loss", {"train/loss": ""}, "The warm-up’s cross-entropy, then the method’s own loss."),
    Panel(
        "a, b and γ",
        {"train/a": "a", "train/b": "b", "train/gamma": "γ"},
        "a and b follow the mean score of the positives and negatives in the region, γ the distance b − a.",
    ),
    Panel(
        "Selection thresholds",
        {"train/s_pos": "s", "train/s_neg": "s′"},
        "On the loss of a negative (s′) and, in two-way regions, of a positive (s): those above are selected.",
    ),
    Panel(
        "Weights of the negatives",
        {"train/c_neg_median": ""},
        "How much a negative counts, 0 to 1: the median of a batch; the band holds 80 %.",
        range=("train/c_neg_q10", "train/c_neg_q90"),
    ),
    Panel(
        "Weights of the positives",
        {"train/c_pos_median": ""},
        "How much a positive counts, 0 to 1: the median of a batch; the band holds 80 %.",
        range=("train/c_pos_q10", "train/c_pos_q90"),
    ),
    Panel(
        "Multipliers θ",
        {"train/theta_a": "θₐ", "train/theta_b": "θ_b"},
        "Lagrange multipliers of the bounds of γ; 0 where a bound does not bind.",
    ),
    Panel("Gradient norm", {"train/gradient_norm": ""}, "Of the network’s weights, before clipping."),
    Panel("Step size", {"train/descent_lr": ""}, "Measured by descent_lr: auto."),
)
_SHOWN_WITH_OTHERS = {"train/c_neg_mean", "train/c_pos_mean"}


def panels(curves: TrainingCurves) -> Iterator[Panel]:
    """The panels that a run can fill; quantities that no panel knows get one each."""
    known = {name for panel in PANELS for name in (*panel.names, *(panel.range or ()))} | _SHOWN_WITH_OTHERS
    yield from (panel for panel in PANELS if panel.names.keys() & curves.series.keys())
    for name in curves.series:
        if name.startswith("train/") and name not in known:
            short = name.removeprefix("train/")
            yield Panel(short, {name: ""}, f"{name} in metrics.csv.")


def validation(curves: TrainingCurves, title: str, warmup: float) -> Html | None:
    """Draw the validation value of the region and the whole AUC, with the best epoch marked."""
    best = curves.best()
    if best is None:
        return None
    epoch, value = best
    named = {"val/pauc": "pAUC", "val/auc": "AUC"}
    shown = [(curves.series[name], label) for name, label in named.items() if name in curves.series]
    if len(shown) == 2 and np.array_equal(
        shown[0][0].value, shown[1][0].value
    ):  # the region is the whole curve
        shown = shown[:1]
    chart = _chart(
        [series for series, _ in shown],
        [label for _, label in shown],
        warmup,
        f"Values on the validation part by epoch: the {title} is largest, {number(value)}, after epoch {epoch:g}.",
    )
    _lines(chart, shown)
    chart.line([epoch] * 2, [chart.y.low, value], "mark")
    chart.dots([epoch], [value], "best")
    return chart.svg()


def panel_chart(panel: Panel, curves: TrainingCurves, warmup: float) -> Html:
    """Draw a panel."""
    shown = [(curves.series[name], label) for name, label in panel.names.items() if name in curves.series]
    edges = [curves.series[name] for name in panel.range or () if name in curves.series]
    last = ", ".join(f"{label or panel.title} ends at {series.value[-1]:.3g}" for series, label in shown)
    labels = [label for _, label in shown]
    chart = _chart(
        [*(series for series, _ in shown), *edges], labels, warmup, f"{panel.title} by epoch: {last}."
    )
    if len(edges) == 2 and len(edges[0].value) == len(edges[1].value):
        chart.area(edges[0].epoch, edges[0].value, edges[1].value, "band c0")
    _lines(chart, shown, broken_at=warmup)
    return chart.svg()


def compared(series: Sequence[tuple[int, Series]], alt: str) -> Html:
    """Draw one quantity of several runs, each with the look of its number."""
    chart = _chart([values for _, values in series], (), 0.0, alt)
    for index, values in series:
        chart.line(*_thinned(values), f"c{index}")
    return chart.svg()


def _chart(series: Sequence[Series], names: Sequence[str], warmup: float, alt: str) -> Chart:
    values = np.concatenate([one.value for one in series])
    values = values[~np.isnan(values)]
    low, high = (float(values.min()), float(values.max())) if len(values) else (0.0, 1.0)
    margin = 0.06 * (high - low)
    last = max(1.0, *(float(one.epoch.max()) for one in series))
    y = linear(low - margin, high + margin, "", 6)
    chart = Chart(_whole(linear(0.0, last, "Epoch")), y, alt, _HEIGHT, names=names)
    if 0 < warmup < last:
        chart.rectangle(0.0, chart.y.low, warmup, chart.y.high, "warmup")
        chart.text(0.0, chart.y.high, "warm-up", "faint halo", dx=5, dy=13)
    return chart


def _whole(scale: Scale) -> Scale:
    """Only whole epochs are labelled."""
    ticks = [(value, name) for value, name in scale.ticks if abs(value - round(value)) < 1e-9]
    return Scale(scale.low, scale.high, ticks, scale.label)


def _lines(chart: Chart, shown: Sequence[tuple[Series, str]], broken_at: float = 0.0) -> None:
    """Draw the lines, each with its name at its end."""
    for index, (series, _) in enumerate(shown):
        epoch, value = _thinned(series)
        gap = int(np.searchsorted(epoch, broken_at, side="right"))
        if broken_at > 0 and 0 < gap < len(epoch):  # another loss begins: the two are not joined
            epoch, value = np.insert(epoch, gap, broken_at), np.insert(value, gap, np.nan)
        chart.line(epoch, value, f"c{index}")
    named = [
        (chart.height_of(float(series.value[~np.isnan(series.value)][-1])), label, index)
        for index, (series, label) in enumerate(shown)
        if label and not np.isnan(series.value).all()
    ]
    tops = _apart([top for top, _, _ in named], chart.top, chart.bottom)
    for (_, label, index), top in zip(named, tops, strict=True):
        chart.write(chart.right + 5, top + 4, label, f"c{index}")


def _thinned(series: Series) -> tuple[Floats, Floats]:
    """At most a few hundred points: of each stretch of the training the smallest and the largest value."""
    n = len(series.value)
    if n <= _MOST_POINTS:
        return series.epoch, series.value
    picked: set[int] = {0, n - 1}
    for stretch in np.array_split(np.arange(n), _MOST_POINTS // 2):
        values = series.value[stretch]
        if not np.isnan(values).all():
            picked |= {int(stretch[np.nanargmin(values)]), int(stretch[np.nanargmax(values)])}
    order = sorted(picked)
    return series.epoch[order], series.value[order]


def _apart(heights: Sequence[float], top: float, bottom: float) -> list[float]:
    """Move labels apart that would overlap, keeping their order, within the chart.

    Example:
        >>> _apart([50.0, 52.0, 200.0], 0.0, 300.0)
        [50.0, 64.0, 200.0]
    """
    order = sorted(range(len(heights)), key=lambda index: heights[index])
    placed = [0.0] * len(heights)
    least = top
    for index in order:
        placed[index] = max(heights[index], least)
        least = placed[index] + _LINE_HEIGHT
    most = bottom
    for index in reversed(order):
        placed[index] = min(placed[index], most)
        most = placed[index] - _LINE_HEIGHT
    return placed
