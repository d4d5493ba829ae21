"""The summary of a comparison on several data sets: its table and its figure, from hand-made results."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

from pauc_lightning.experiments.cells import Run, Task
from pauc_lightning.experiments.interval import corrected_interval
from pauc_lightning.experiments.outcome import Collapse, Outcome
from pauc_lightning.experiments.summary import gap_figure, summary_figure, summary_gains, summary_markdown
from pauc_lightning.experiments.table import Table
from pauc_lightning.plotting import Gain, GainByGap, plot_gain_map, plot_gains, plot_gains_by_gap
from pauc_lightning.region import Region

REGION = Region(0.05)
VALUES = {
    ("fraud", "linear"): {"ce": [0.50, 0.60, 0.55], "ours": [0.601, 0.699, 0.650]},  # gains .101 .099 .100
    ("fraud", "mlp"): {"ce": [0.70, 0.72, 0.71], "ours": [0.72, 0.70, 0.71]},  # gains .02 -.02 0
    ("spam", "linear"): {"ce": [0.80, 0.80, 0.80], "ours": [0.749, 0.750, 0.751]},  # gains -.051 -.05 -.049
}


def tables(
    values: Mapping[tuple[str, str], Mapping[str, Sequence[float]]] = VALUES,
    regions: Sequence[Region] = (REGION,),
) -> list[Table]:
    found = []
    for (data, backbone), of_methods in values.items():

        def outcome(run: Run, of_methods: Mapping[str, Sequence[float]] = of_methods) -> Outcome:
            return Outcome(of_methods[run.method][run.seed])

        seeds = range(len(of_methods["ce"]))
        found.append(Table(list(of_methods), regions, seeds, outcome, "ce", Task(data, backbone)))
    return found


def test_the_table_has_the_gains_of_every_data_set_their_means_and_the_counts() -> None:
    lines = [line for line in summary_markdown(tables()).splitlines() if line.startswith("|")]
    assert lines[0] == "| data | ce | its headroom | ours |"
    interval = corrected_interval([0.101, 0.099, 0.100])
    assert interval is not None
    # On fraud the MLP's cross-entropy has .71, the linear scorer's .55.
    gain = f"+0.100 [{interval.low:+.3f}, {interval.high:+.3f}] ▲"
    assert lines[2] == f"| fraud, linear | 0.5500 | +0.160 | {gain} |"
    assert lines[3].startswith("| fraud, mlp | 0.7100 | +0.000 | +0.000 [-")
    assert lines[3].endswith("] |")
    assert lines[4].endswith("▼ |")
    assert lines[5] == f"| mean, linear | {(0.55 + 0.80) / 2:.4f} | | {(0.1 - 0.05) / 2:+.3f} |"
    assert lines[6] == "| mean, mlp | 0.7100 | | +0.000 |"
    mean = (0.55 + 0.71 + 0.80) / 3
    assert lines[7] == f"| mean | {mean:.4f} | | {(0.1 + 0 - 0.05) / 3:+.3f} |"
    assert lines[8] == "| | | | 1 ▲ 1 ▼ of 3 |"
    assert lines[9] == "| correlation with the headroom | | | - |"  # three rows are too few


def failing(values: Mapping[tuple[str, str], Mapping[str, Sequence[float | None]]]) -> list[Table]:
    """The tables, where None is a run that failed."""
    found = []
    for (data, backbone), of_methods in values.items():

        def outcome(run: Run, of: Mapping[str, Sequence[float | None]] = of_methods) -> Outcome:
            value = of[run.method][run.seed]
            return Outcome(value) if value is not None else Outcome(failure="no.")

        seeds = range(len(of_methods["ce"]))
        found.append(Table(list(of_methods), [REGION], seeds, outcome, "ce", Task(data, backbone)))
    return found


def test_a_backbone_without_another_to_compare_with_has_no_headroom() -> None:
    values: dict[tuple[str, str], dict[str, list[float | None]]] = {
        ("fraud", "linear"): {"ce": [0.50, 0.60], "ours": [0.6, 0.6]},
        ("fraud", "mlp"): {"ce": [None, None], "ours": [0.6, 0.6]},
        ("spam", "linear"): {"ce": [0.8, None], "ours": [0.8, 0.8]},
        ("spam", "mlp"): {"ce": [0.9, 0.9], "ours": [0.8, 0.8]},
    }
    text = summary_markdown(failing(values))
    lines = [line.split(" | ")[:3] for line in text.splitlines() if line.startswith("|")]
    assert lines[2:6] == [
        ["| fraud, linear", "0.5500", "-"],
        ["| fraud, mlp", "failed ‡", "-"],
        ["| spam, linear", "0.8000 (1 of 2 seeds) ‡", "+0.100"],
        ["| spam, mlp", "0.9000", "+0.000"],  # the best one
    ]


def test_the_signs_of_collapsed_and_failed_runs_are_explained_where_they_stand() -> None:
    values: dict[tuple[str, str], dict[str, list[float | None]]] = {
        ("fraud", ""): {"ce": [0.50, 0.60, None], "ours": [0.6, 0.6, 0.6]},
        ("spam", ""): {"ce": [0.50, 0.60, 0.55], "ours": [0.6, 0.6, 0.6]},
    }
    text = summary_markdown(failing(values))
    assert "| fraud | 0.5500 ‡ |" in text
    assert "‡ A run failed and has no value" in text
    assert "†" not in text
    (one, two) = failing(values)
    fell = Outcome(0.4, Collapse(7, "all scores are equal"))
    text = summary_markdown([one, replace(two, outcome=lambda run: fell)])
    assert "| spam | 0.4000 † |" in text
    assert "† A run collapsed in training" in text
    assert "†" not in summary_markdown(tables())


def test_methods_that_kept_their_start_are_marked_and_counted() -> None:
    starts = {("ours", "fraud", seed) for seed in range(3)} | {("ours", "spam", 0), ("ce", "spam", 1)}
    ours = {"ce": [0.5, 0.6, 0.7], "ours": [0.6, 0.65, 0.8]}
    many_methods = {**ours, **{f"m{i}": [0.6, 0.65, 0.8] for i in range(5)}}
    for values, gain in ((ours, "+0.083 [-0.0"), (many_methods, "+0.083")):
        found = [
            replace(
                one,
                outcome=lambda run, of=one.outcome: replace(  # type: ignore[misc]
                    of(run), is_start=(run.method, run.task.data, run.seed) in starts
                ),
            )
            for one in tables({(data, ""): values for data in ("fraud", "spam")})
        ]
        text = summary_markdown(found)
        assert text.count(" ° |") == 1
        row = next(line for line in text.splitlines() if " ° |" in line)
        assert row.startswith("| fraud |" if values is ours else "| ours |")
        assert gain in row.partition(" ° |")[0]
        assert "Runs that returned the model they started from: ce 1 of 6, ours 4 of 6." in text
        assert text.count("° On every seed") == 1
    assert "started from" not in summary_markdown(tables())


def test_one_backbone_has_no_headroom_and_no_mean_of_its_own() -> None:
    linear = {key: of for key, of in VALUES.items() if key[1] == "linear"}
    text = summary_markdown(tables(linear))
    assert "headroom" not in text.lower()
    assert "mean, linear" not in text
    assert f"| mean | {(0.55 + 0.80) / 2:.4f} | {(0.1 - 0.05) / 2:+.3f} |" in text


def many(values: Mapping[tuple[str, str], Mapping[str, Sequence[float]]] = VALUES) -> list[Table]:
    """The same with six methods besides the baseline, each a little better than the one before."""
    return tables(
        {
            key: {"ce": of["ce"], **{f"m{i}": [v + 0.01 * i for v in of["ours"]] for i in range(6)}}
            for key, of in values.items()
        }
    )


def test_many_methods_are_rows_of_a_table_for_each_backbone() -> None:
    text = summary_markdown(many(), tables(GAPS)[:3])
    assert [line for line in text.splitlines() if line.endswith(":")] == [
        f"{REGION.title}, linear:",
        f"{REGION.title}, mlp:",
    ]
    lines = [line for line in text.splitlines() if line.startswith("|")]
    assert lines[0] == "| gain | fraud | spam | mean | |"
    assert lines[2] == "| ce, its value | 0.5500 | 0.8000 | 0.6750 | |"
    assert lines[3] == "| ce, its headroom | +0.160 | - | | |"  # spam has no other backbone
    assert lines[4] == "| ce, its gap | +0.020 | +0.300 | | |"
    assert lines[5] == "| m0 | +0.100 ▲ | -0.050 ▼ | +0.025 | 1 ▲ 1 ▼ of 2 |"
    assert lines[6] == "| m1 | +0.110 ▲ | -0.040 ▼ | +0.035 | 1 ▲ 1 ▼ of 2 |"
    assert len(lines) == 2 * (2 + 3 + 6)
    assert "Correlations" not in text
    assert "Gains over ce; their 95% intervals are in the tables of each" in text
    assert "with their" not in text


def test_many_methods_are_drawn_as_a_map_in_the_order_of_their_means() -> None:
    figure = summary_figure(many())
    assert figure is not None
    linear, mlp = figure.axes
    assert [label.get_text() for label in linear.get_yticklabels()] == [f"m{i}" for i in reversed(range(6))]
    assert [label.get_text() for label in linear.get_xticklabels()] == ["fraud", "spam", "mean"]
    shown = {(text.get_position(), text.get_text(), text.get_fontweight()) for text in linear.texts}
    assert ((0, 5), "+0.100", "bold") in shown  # m0 on fraud, the last row
    assert ((2, 5), "+0.025", "normal") in shown
    (image,) = mlp.images
    assert image.get_array().shape == (6, 2)  # type: ignore[union-attr]
    loss, none, gain = image.cmap(np.asarray(image.norm(np.array([-1.0, 0.0, 1.0]))))
    assert none[:3].min() > 0.99  # white
    assert gain[2] > gain[0]  # blue
    assert loss[0] > loss[2]  # orange


def test_the_columns_of_one_data_set_are_its_backbones() -> None:
    text = summary_markdown(many({key: of for key, of in VALUES.items() if key[0] == "fraud"}))
    assert "| gain | linear | mlp | mean | |" in text


def test_long_names_leave_room_for_the_cells_of_the_map() -> None:
    data, methods = ["d" * 30 + str(i) for i in range(3)], ["n" * 40 + str(i) for i in range(7)]
    figure = plot_gain_map([Gain(d, "panel", m, 0.1, 0.0, 0.2) for d in data for m in methods], "ce")
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # matplotlib's, when the names take all the room
        figure.draw_without_rendering()
    (ax,) = figure.axes
    assert ax.get_window_extent().width / figure.dpi > 4 * 0.45  # inches for three data sets and the mean


def test_the_note_says_how_many_marks_chance_makes() -> None:
    note = summary_markdown(tables(regions=[Region(rate / 10) for rate in range(1, 5)])).splitlines()[-1]
    assert "about 0.3 of these 12 would be marked ▲ by chance" in note  # 2.5 % on each side


GAPS = {  # of ce: the training part minus the validation part
    ("fraud", "linear"): {"ce": [0.01, 0.02, 0.03], "ours": [0.5, 0.5, 0.5]},
    ("fraud", "mlp"): {"ce": [0.20, 0.20, 0.20], "ours": [0.5, 0.5, 0.5]},
    ("spam", "linear"): {"ce": [0.30, 0.30, 0.30], "ours": [0.5, 0.5, 0.5]},
    ("spam", "mlp"): {"ce": [0.05, 0.05, 0.05], "ours": [0.5, 0.5, 0.5]},
}


def test_the_gap_of_the_baseline_stands_beside_the_gains_with_its_rank_correlation() -> None:
    values = {**VALUES, ("spam", "mlp"): {"ce": [0.8, 0.8, 0.8], "ours": [0.85, 0.86, 0.84]}}
    lines = [line for line in summary_markdown(tables(values), tables(GAPS)).splitlines() if line[:1] == "|"]
    assert lines[0] == "| data | ce | its headroom | its gap | ours |"
    assert lines[1] == "|---|---|---|---|---|"
    assert [line.split(" | ")[3] for line in lines[2:6]] == ["+0.020", "+0.200", "+0.300", "+0.050"]
    # Gains fall from .1, .05, 0 to -.05 while the gaps rise from .02, .05, .2 to .3: opposite orders.
    assert lines[-1] == "| correlation with the gap | | | | -1.00 |"
    # The headroom is .16, 0, 0, 0 and the gain .1, 0, -.05, .05: ranks 4 2 2 2 and 4 2 1 3.
    assert lines[-2] == f"| correlation with the headroom | | | | {3 / (3 * 5) ** 0.5:+.2f} |"
    fewer = summary_markdown(tables(), tables(GAPS)[:3])
    assert "| correlation with the gap | | | | - |" in fewer


def test_the_figure_of_the_gap_has_a_point_for_each_gain_and_names_those_that_are_sure() -> None:
    figure = gap_figure(tables(), tables(GAPS)[:3])
    assert figure is not None
    (ax,) = figure.axes
    points = {
        (line.get_xdata()[0], round(line.get_ydata()[0], 3))
        for line in lines(figure)
        if len(line.get_xdata()) == 1
    }
    assert points == {(0.02, 0.1), (0.2, 0.0), (0.3, -0.05)}
    assert [text.get_text() for text in ax.texts] == ["fraud, linear", "spam, linear"]
    one = {key: {method: values[:1] for method, values in of.items()} for key, of in VALUES.items()}
    assert gap_figure(tables(one), tables(GAPS)[:3]) is None


def test_the_figure_of_the_gap_tells_many_methods_apart_those_of_later_panels_included() -> None:
    names = [f"method {number}" for number in range(12)]
    points = [GainByGap("a", f"panel {name == names[-1]}", name, 0.1, 0.0, 0.2, gap=0.1) for name in names]
    figure = plot_gains_by_gap(points, "ce")
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == names
    drawn = [line for ax in figure.axes for line in ax.lines if np.size(line.get_xdata()) == 1]
    assert len({(line.get_color(), line.get_marker()) for line in drawn}) == len(drawn) == 12


def test_one_seed_has_gains_but_no_intervals_and_no_figure() -> None:
    one = tables({key: {m: v[:1] for m, v in of.items()} for key, of in VALUES.items()})
    assert "| fraud, linear | 0.5000 | +0.200 | +0.101 |" in summary_markdown(one)
    assert "nan" not in summary_markdown(one)
    assert summary_figure(one) is None


def test_the_figure_has_a_panel_for_each_backbone_and_region_and_a_row_for_each_data_set() -> None:
    gains = summary_gains(tables(regions=(REGION, Region(0.3))))
    assert list(dict.fromkeys(gain.panel for gain in gains)) == [
        f"{backbone}, {region.title}" for region in (REGION, Region(0.3)) for backbone in ("linear", "mlp")
    ]
    assert {gain.data for gain in gains} == {"fraud", "spam"}
    assert [gain.excludes_zero for gain in gains[:3]] == [True, True, False]  # both linear ones come first
    figure = summary_figure(tables())
    assert figure is not None
    assert [ax.get_title(loc="left") for ax in figure.axes] == [
        f"{b}, {REGION.title}" for b in ("linear", "mlp")
    ]
    both = summary_figure(tables(regions=(REGION, Region(0.3))))
    assert both is not None
    rows = [ax.get_subplotspec().rowspan.start for ax in both.axes]  # type: ignore[union-attr]
    assert rows == [0, 0, 1, 1]  # a line of panels for each region


def test_markers_stand_at_the_means_and_are_filled_where_the_interval_excludes_zero() -> None:
    gains = [
        Gain("a", "p", "ours", 0.10, 0.05, 0.15),
        Gain("b", "p", "ours", -0.02, -3.0, 3.0),  # so wide that it leaves the panel
    ]
    figure = plot_gains(gains, "ce")
    markers = {
        line.get_xdata()[0]: line
        for line in lines(figure)
        if line.get_marker() == "o" and len(line.get_xdata())
    }
    assert set(markers) == {0.10, -0.02}
    assert markers[0.10].get_markerfacecolor() != "white"
    assert markers[-0.02].get_markerfacecolor() == "white"
    low, high = figure.axes[0].get_xlim()
    assert low > -1
    assert high < 1
    assert {line.get_marker() for line in lines(figure)} >= {"<", ">"}


def test_a_start_that_was_kept_is_hollow_on_a_dotted_interval() -> None:
    gains = [Gain("a", "p", "ours", 0.1, 0.05, 0.15), Gain("b", "p", "ours", 0.2, 0.1, 0.3, kept_start=True)]
    figure = plot_gains(gains, "ce")
    faces = {
        line.get_xdata()[0]: line.get_markerfacecolor() == "white"
        for line in lines(figure)
        if line.get_marker() == "o"
    }
    assert faces == {0.1: False, 0.2: True}
    assert [line.is_dashed() for line in lines(figure) if line.get_solid_capstyle() == "butt"] == [
        False,
        True,
    ]
    assert figure._supxlabel.get_text().endswith("dotted: start kept on every seed, not due to the loss")  # type: ignore[attr-defined]
    numbers = {text.get_text(): text.get_fontweight() for text in plot_gain_map(gains, "ce").axes[0].texts}
    assert numbers["+0.100"] == "bold"
    assert numbers["+0.200°"] == "normal"


def lines(figure: Figure) -> list[Any]:
    return list(figure.axes[0].lines)


@pytest.mark.parametrize("number", [1, 9])
def test_any_number_of_methods_can_be_drawn(number: int) -> None:
    gains = [Gain("a", "p", f"m{i}", 0.01 * i, 0.0, 0.02 * i) for i in range(number)]
    plot_gains(gains, "ce", "Title").draw_without_rendering()
