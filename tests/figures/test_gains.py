"""`pauc figure gains`: markers, intervals and rows are those of the tables of comparisons."""

from __future__ import annotations

import csv
import itertools
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from figures.trained import check_files, read, run
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.cbook import is_math_text
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.image import imread
from matplotlib.text import Text

from pauc_lightning.figures import output
from pauc_lightning.figures.command import FIGURES
from pauc_lightning.plotting import Gain, plot_gain_panels
from pauc_lightning.plotting.gains import ARROWS, MARKERS, looks_of, reach_of

TABLES = Path(__file__).parents[2] / "docs/tables"
FROZEN, SMALL, RESNET, FIVE = (
    TABLES / f"{name}.csv"
    for name in ("frozen_features", "small_network", "cifar10_resnet18", "five_minutes")
)
ENDS = ("gain", "gain_low", "gain_high")
WHITE = (1.0, 1.0, 1.0)


@pytest.fixture
def figures(monkeypatch: pytest.MonkeyPatch) -> list[Figure]:
    """The figures that the command saves, as it saves them."""
    saved: list[Figure] = []
    save = output.save_figure

    def keep(folder: Path, name: str, figure: Figure, rows: Sequence[Any]) -> list[Path]:
        saved.append(figure)
        return save(folder, name, figure, rows)

    monkeypatch.setattr(output, "save_figure", keep)
    return saved


def headings(figure: Figure) -> list[str]:
    return [f"{ax.get_title(loc='left')}, {ax.texts[0].get_text()}" for ax in figure.axes]


def rows_of(ax: Axes) -> list[str]:
    return ax.yaxis.get_major_formatter().format_ticks(list(ax.get_yticks()))


def lines(ax: Axes) -> list[Any]:
    """The lines in the order in which they stand, from the top."""
    found: list[Any] = list(ax.lines)
    return sorted(found, key=lambda line: line.get_ydata()[0])


def markers(ax: Axes) -> list[Any]:
    return [line for line in lines(ax) if line.get_marker() in MARKERS]


def intervals(ax: Axes) -> list[tuple[float, float]]:
    return [
        tuple(line.get_xdata())
        for line in lines(ax)
        if line.get_solid_capstyle() == "butt" and line.get_zorder() == 2
    ]


def is_filled(line: Any) -> bool:
    return to_rgb(line.get_markerfacecolor()) != WHITE


def in_table(path: Path, **chosen: str) -> Iterator[dict[str, Any]]:
    """The rows of the test part of all methods but the baseline."""
    for row in read(path):
        is_gain = row["quantity"] == "test_pauc" and row["method"] != row["baseline"]
        if is_gain and all(row[name] == value for name, value in chosen.items()):
            yield row


def write(path: Path, *rows: str) -> Path:
    """Write a table; a row is ``data backbone method max_fpr min_tpr gain low high``, with `-` for nothing."""
    names = ("quantity", "data", "backbone", "method", "max_fpr", "min_tpr", "baseline", *ENDS)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(names)
        for row in rows:
            *first, gain, low, high = ("" if word == "-" else word for word in row.split())
            writer.writerow(["test_pauc", *first, "ce", gain, low, high])
    return path


def refused(capsys: pytest.CaptureFixture[str], *words: object) -> str:
    with pytest.raises(SystemExit) as stopped:
        run("figure", "gains", *words)
    assert stopped.value.code == 2
    said = capsys.readouterr().err
    assert "Traceback" not in said
    return " ".join(said.split())


# ---------------------------------------------------------------------- what is drawn


def test_the_data_are_those_of_the_tables(tmp_path: Path) -> None:
    run("figure", "gains", f"features={FROZEN}", SMALL, "--out", tmp_path)
    rows = check_files(tmp_path, "gains")
    columns = ("data", "backbone", "method", "max_fpr", "min_tpr", "baseline", *ENDS)
    expected = {
        (name, *(row[column] for column in columns))
        for name, path in (("features", FROZEN), ("small network", SMALL))
        for row in in_table(path)
    }
    assert {tuple(row[column] for column in ("comparison", *columns)) for row in rows} == expected
    assert list(rows[0]) == ["comparison", *columns, "kept_start"]
    assert len(rows) == len(expected) == 27


def test_names_are_written_as_typed(tmp_path: Path, figures: list[Figure]) -> None:
    """Two dollars in a name are not the ends of a formula, which may even be none."""
    table = write(
        tmp_path / "a.csv", "$x^2$ linear $a$ 0.3 0 0.02 0.01 0.03", "$x^2$ linear b 0.3 0 0.02 0.01 0.03"
    )
    run("figure", "gains", rf"$\frac{{$={table}", "--out", tmp_path)
    (figure,) = figures
    (ax,) = figure.axes
    shown = [
        ax.get_title(loc="left"),
        ax.get_yticklabels()[0].get_text(),
        figure.legends[0].get_texts()[0].get_text(),
    ]
    assert [text.replace(r"\$", "$") for text in shown] == [r"$\frac{$", "$x^2$", "$a$"]
    assert not any(is_math_text(text) for text in shown)


def test_methods_whose_shown_names_are_equal_keep_their_labels(tmp_path: Path, figures: list[Figure]) -> None:
    rows = [f"a linear {method} 0.3 0 0.02 0.01 0.03" for method in ("auc_m", "AUC-M", "upauci")]
    run("figure", "gains", write(tmp_path / "a.csv", *rows), "--out", tmp_path)
    (figure,) = figures
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["auc_m", "AUC-M", "UPAUCI"]
    assert len(markers(figure.axes[0])) == 3


def test_a_panel_for_each_comparison_backbone_and_region_with_its_own_rows(
    tmp_path: Path, figures: list[Figure]
) -> None:
    run("figure", "gains", f"features={FROZEN}", SMALL, FIVE, "--out", tmp_path)
    (figure,) = figures
    assert dict(zip(headings(figure), map(rows_of, figure.axes), strict=True)) == {
        "features, OPAUC (FPR ≤ 0.3)": ["birds", "cats", "insects"],
        "features, OPAUC (FPR ≤ 0.05)": ["birds", "cats", "insects"],
        "small network, OPAUC (FPR ≤ 0.3)": ["birds", "cats", "pullovers"],
        "five minutes, linear, OPAUC (FPR ≤ 0.1)": ["digits", "gaussian"],
        "five minutes, mlp, OPAUC (FPR ≤ 0.1)": ["digits", "gaussian"],
    }
    heights = [ax.get_position().height for ax in figure.axes]
    np.testing.assert_allclose(np.array(heights) / heights[0], [1, 1, 1, 2 / 3, 2 / 3])
    assert len({ax.get_xlim() for ax in figure.axes}) == 1
    assert "partial AUC over CE" in figure.texts[0].get_text()


def test_markers_stand_at_the_gains_and_are_filled_where_the_interval_excludes_zero(
    tmp_path: Path, figures: list[Figure]
) -> None:
    run("figure", "gains", FROZEN, "--region", "0.3", "--out", tmp_path)
    (ax,) = figures[0].axes
    rows = list(
        in_table(FROZEN, max_fpr="0.3")
    )  # in the file, data sets and methods have the order of the figure
    drawn = markers(ax)
    assert [line.get_xdata()[0] for line in drawn] == [float(row["gain"]) for row in rows]
    assert intervals(ax) == [(float(row["gain_low"]), float(row["gain_high"])) for row in rows]
    filled = [float(row["gain_low"]) > 0 or float(row["gain_high"]) < 0 for row in rows]
    assert [is_filled(line) for line in drawn] == filled
    assert any(filled)
    assert not all(filled)


def test_methods_regions_and_data_sets_are_chosen_in_the_order_given(
    tmp_path: Path, figures: list[Figure]
) -> None:
    chosen = ("--methods", "upauci", "hard_ce", "--region", "0.05", "0.3", "--data_sets", "insects", "birds")
    run("figure", "gains", FROZEN, *chosen, "--out", tmp_path)
    (figure,) = figures
    assert [ax.texts[0].get_text() for ax in figure.axes] == ["OPAUC (FPR ≤ 0.05)", "OPAUC (FPR ≤ 0.3)"]
    assert [rows_of(ax) for ax in figure.axes] == [["insects", "birds"]] * 2
    expected = [
        next(in_table(FROZEN, method=method, data=data, max_fpr="0.05"))["gain"]
        for data in ("insects", "birds")
        for method in ("upauci", "hard_ce")
    ]
    assert [line.get_xdata()[0] for line in markers(figure.axes[0])] == list(map(float, expected))
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["UPAUCI", "HardCE"]
    assert [(row["max_fpr"], row["data"], row["method"]) for row in read(tmp_path / "gains.csv")] == list(
        itertools.product(("0.05", "0.3"), ("insects", "birds"), ("upauci", "hard_ce"))
    )


def test_a_method_looks_the_same_in_all_panels(tmp_path: Path, figures: list[Figure]) -> None:
    run("figure", "gains", SMALL, RESNET, "--out", tmp_path)  # HardCE is in one only, PAUCI in the other
    (figure,) = figures
    small, resnet = ([(line.get_color(), line.get_marker()) for line in markers(ax)] for ax in figure.axes)
    hard, partial, upauci = small[:3]
    assert resnet[0] == partial
    assert resnet[1] == upauci
    assert len({hard, partial, upauci, *resnet}) == 4
    legend = {
        handle.get_label(): (handle.get_color(), handle.get_marker())  # type: ignore[attr-defined]
        for handle in figure.legends[0].legend_handles
        if handle is not None
    }
    assert legend["HardCE"] == hard
    assert legend["UPAUCI"] == upauci


def test_a_gain_without_an_interval_is_left_out_but_one_of_exactly_zero_is_not(
    tmp_path: Path, figures: list[Figure], capsys: pytest.CaptureFixture[str]
) -> None:
    table = write(
        tmp_path / "mine.csv",
        "a - ce 0.1 0 - - -",
        "a - same 0.1 0 0.0 0.0 0.0",
        "a - equal 0.1 0 0.02 - -",
        "a - failed 0.1 0 - - -",
        "b - same 0.1 0 0.02 0.01 0.03",
    )
    run("figure", "gains", table, "--out", tmp_path)
    (ax,) = figures[0].axes
    assert [(line.get_xdata()[0], is_filled(line)) for line in markers(ax)] == [(0.0, False), (0.02, True)]
    assert [text.get_text() for text in figures[0].legends[0].get_texts()] == ["same"]
    said = " ".join(capsys.readouterr().err.split())
    assert "no interval: equal on a, OPAUC (FPR ≤ 0.1); failed on a" in said


STARTS = """quantity,data,backbone,method,max_fpr,min_tpr,baseline,gain,gain_low,gain_high,seed_0,seed_1,start_seeds
test_pauc,a,,ours,0.1,0,ce,0.02,0.01,0.03,0.5,0.6,
test_pauc,a,,half,0.1,0,ce,0.03,0.01,0.05,0.5,0.6,1
test_pauc,a,,start,0.1,0,ce,0.02,0.01,0.04,0.5,0.6,0 1
test_pauc,a,,rest,0.1,0,ce,-0.02,-0.03,-0.01,,0.6,1
"""


def test_a_gain_of_a_method_that_returned_its_start_decides_nothing(
    tmp_path: Path, figures: list[Figure]
) -> None:
    (tmp_path / "mine.csv").write_text(STARTS)
    run("figure", "gains", tmp_path / "mine.csv", "--out", tmp_path)
    (figure,) = figures
    (ax,) = figure.axes
    assert [(line.get_xdata()[0], is_filled(line)) for line in markers(ax)] == [
        (0.02, True),
        (0.03, True),  # a seed with an epoch of its own is enough
        (0.02, False),
        (-0.02, False),  # a failed seed has no start
    ]
    bars = [line for line in lines(ax) if line.get_solid_capstyle() == "butt" and line.get_zorder() == 2]
    assert [bar.is_dashed() for bar in bars] == [False, False, True, True]
    key = {text.get_text() for legend in figure.legends[1:] for text in legend.get_texts()}
    assert key == {"interval excludes zero", "includes zero", "start kept on every seed, not due to the loss"}
    assert [row["kept_start"] for row in read(tmp_path / "gains.csv")] == ["no", "no", "yes", "yes"]
    check_nothing_meets(figure)


def test_a_table_of_an_earlier_version_names_no_starts(tmp_path: Path, figures: list[Figure]) -> None:
    lines_of = [line.rpartition(",")[0] for line in STARTS.splitlines()]
    (tmp_path / "mine.csv").write_text("\n".join(lines_of))
    run("figure", "gains", tmp_path / "mine.csv", "--out", tmp_path)
    (figure,) = figures
    assert all(is_filled(line) for line in markers(figure.axes[0]))
    assert {row["kept_start"] for row in read(tmp_path / "gains.csv")} == {"no"}
    assert len(figure.legends) == 2


def test_letters_without_a_font_are_said_in_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], recwarn: pytest.WarningsRecorder
) -> None:
    table = write(tmp_path / "a.csv", "\U00020000と linear m 0.3 0 0.02 0.01 0.03")
    run("figure", "gains", table, "--out", tmp_path)
    said = " ".join(capsys.readouterr().err.split())
    assert said.count("The figure shows boxes for") == 1
    assert "\U00020000" in said
    assert not [one for one in recwarn if "Glyph" in str(one.message)]


def test_the_directory_of_a_comparison_without_labels(
    comparison_of_digits: Path, tmp_path: Path, figures: list[Figure], capsys: pytest.CaptureFixture[str]
) -> None:
    run("figure", "gains", comparison_of_digits, "--out", tmp_path)
    assert f"Next:  pauc figure roc {comparison_of_digits}" in capsys.readouterr().out
    (row,) = read(tmp_path / "gains.csv")
    (written,) = in_table(comparison_of_digits / "table.csv")
    assert [row[end] for end in ENDS] == [written[end] for end in ENDS]
    (ax,) = figures[0].axes
    assert written["data"] == ""
    assert rows_of(ax) == ["my comparison"]  # its directory's name
    assert headings(figures[0]) == ["my comparison, TPAUC (FPR ≤ 0.3, TPR ≥ 0.5)"]


@pytest.fixture(scope="module")
def comparison_of_digits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("gains") / "my_comparison"
    options = ("--methods", "ce", "upauci", "--regions", "0.3,0.5", "--seeds", "0", "1", "--epochs", "1")
    run(
        "compare", "-c", "digits", *options, "--warmup_epochs", "1", "--out", out, "--trainer.accelerator=cpu"
    )
    return out


# ---------------------------------------------------------------------- where panels stand


def gains(panel: str, data: str, scale: float = 0.01, methods: int = 3) -> list[Gain]:
    return [
        Gain(name, panel, f"m{number}", scale * number, scale * (number - 1), scale * (number + 1))
        for name in data.split()
        for number in range(methods)
    ]


def boxes(figure: Figure) -> dict[str, Any]:
    return {ax.get_title(loc="left"): ax.get_position() for ax in figure.axes}


def test_small_panels_share_a_column_and_no_text_meets_another() -> None:
    tables = "a_table_with_a_long_name b c d e f g h"
    figure = plot_gain_panels(
        [
            *gains("tables, linear\nOPAUC", tables),
            *gains("tables, mlp\nOPAUC", tables),
            *gains("frozen features\nOPAUC", "birds cats insects"),
            *gains("small network\nOPAUC", "birds cats"),
            *gains("ResNet-18\nOPAUC", "birds"),
        ],
        "CE",
    )
    linear, mlp, frozen, small, resnet = boxes(figure).values()
    assert linear.x0 < mlp.x0 < frozen.x0 == small.x0 == resnet.x0
    np.testing.assert_allclose([mlp.y1, frozen.y1, mlp.y0], [linear.y1, linear.y1, linear.y0])
    assert frozen.y0 > small.y1
    assert small.y0 > resnet.y1
    np.testing.assert_allclose([frozen.height / linear.height, resnet.height / linear.height], [3 / 8, 1 / 8])
    assert [ax.yaxis.get_tick_params()["labelleft"] for ax in figure.axes] == [True, False, True, True, True]
    check_nothing_meets(figure)


@pytest.mark.parametrize(
    ("n_panels", "n_methods", "columns"), [(1, 1, None), (1, 12, None), (4, 3, 4), (5, 2, 1)]
)
def test_nothing_meets_for_any_number_of_panels_and_methods(
    n_panels: int, n_methods: int, columns: int | None
) -> None:
    all_of = [
        gain
        for number in range(n_panels)
        for gain in gains(f"the comparison number {number} of many, linear\nOPAUC", "a b", methods=n_methods)
    ]
    figure = plot_gain_panels(all_of, "CE", columns=columns)
    check_nothing_meets(figure)
    assert len({box.x0 for box in boxes(figure).values()}) == (columns or 1)


def test_a_long_baseline_is_not_cut() -> None:
    name = "cross_entropy_on_balanced_batches_from_its_initial_weights_with_$n$_trials"
    figure = plot_gain_panels(gains("one\nOPAUC", "a b"), name)
    check_nothing_meets(figure)
    text = figure.texts[0].get_text()
    assert text.count("\n") > 0
    assert "".join(text.split()).replace(r"\$", "$") == "".join(
        f"gain in partial AUC over {name}, with its 95 % interval".split()
    )


@pytest.mark.parametrize(("columns", "n_methods"), [(1, 1), (1, 4), (3, 2)])
def test_long_names_leave_room_for_the_panels(columns: int, n_methods: int) -> None:
    data = f"{'a_data_set_' * 7}one {'a_data_set_' * 7}two $x$"
    figure = plot_gain_panels(
        [gain for panel in "pqr" for gain in gains(panel, data, methods=n_methods)], "CE", columns=columns
    )
    check_nothing_meets(figure)
    first, second, third = rows_of(figure.axes[0])
    assert first != second
    assert first.startswith("a_data")
    assert "…" in first
    assert third == r"\$x\$"
    assert figure.axes[0].get_position().x0 * figure.get_figwidth() < 1.5
    long = plot_gain_panels([Gain("a", "p", "a long name " * 9 + end, 0.1, 0, 0.2) for end in "12"], "CE")
    check_nothing_meets(long)
    assert len({text.get_text() for text in long.legends[0].get_texts()}) == 2


def check_nothing_meets(figure: Figure) -> None:
    """Texts and panels lie inside the figure, and none lies on another."""
    renderer = FigureCanvasAgg(figure).get_renderer()  # type: ignore[no-untyped-call]
    figure.draw(renderer)
    texts: list[Any] = [figure.texts[0], *figure.legends]
    for ax in figure.axes:
        texts += [
            ax.patch,
            *(text for text in ax.get_children() if isinstance(text, Text) and text.get_text()),
        ]
        texts += [
            tick.label1
            for axis in (ax.xaxis, ax.yaxis)
            for tick in axis.get_major_ticks()
            if tick.label1.get_visible() and min(axis.get_view_interval()) <= tick.get_loc()
            if tick.get_loc() <= max(axis.get_view_interval())
        ]
    assert len(texts) > 3 + 4 * len(figure.axes)
    extents = [text.get_window_extent(renderer) for text in texts]
    for number, box in enumerate(extents):
        assert figure.bbox.x0 <= box.x0 + 1
        assert box.x1 <= figure.bbox.x1 + 1, texts[number]
        for other, extent in enumerate(extents[:number]):
            across = min(box.x1, extent.x1) - max(box.x0, extent.x0)
            along = min(box.y1, extent.y1) - max(box.y0, extent.y0)
            assert min(across, along) <= 1, (texts[number], texts[other])


def test_a_neighbour_with_other_rows_names_its_own() -> None:
    figure = plot_gain_panels([*gains("one", "a b"), *gains("two", "a c")], "CE", columns=2)
    assert [ax.yaxis.get_tick_params()["labelleft"] for ax in figure.axes] == [True, True]
    assert boxes(figure)["one"].y0 == boxes(figure)["two"].y0


def test_a_panel_that_one_scale_would_hide_gets_its_own() -> None:
    def scales(ratio: float) -> int:
        figure = plot_gain_panels([*gains("one", "a b"), *gains("two", "a b", 0.01 * ratio)], "CE")
        said = "a scale of its own" in figure.texts[0].get_text()
        found = len({ax.get_xlim() for ax in figure.axes})
        assert said == (found > 1)
        return found

    assert scales(0.2) == 1
    assert scales(0.01) == 2
    assert scales(0.0) == 1  # gains of zero are where they should be
    own = plot_gain_panels([*gains("one", "a"), *gains("two", "a", 0.02)], "CE", own_scales=True)
    assert len({ax.get_xlim() for ax in own.axes}) == 2


def test_only_intervals_far_wider_than_most_are_cut() -> None:
    usual = [Gain(str(number), "p", "m", 0.001 * number, -0.05, 0.05) for number in range(5)]
    low, high = reach_of(usual)
    assert low < -0.05
    assert high > 0.05
    wide = [*usual, Gain("wide", "p", "m", 0.03, -0.9, 0.9)]
    low, high = reach_of(wide)
    assert -0.3 < low < -0.05
    assert 0.05 < high < 0.3
    (ax,) = plot_gain_panels(wide, "CE").axes
    ends = {line.get_marker(): line.get_xdata()[0] for line in lines(ax) if line.get_marker() in ARROWS}
    assert ends == {"<": low, ">": high}
    key = plot_gain_panels(wide, "CE").legends[1]
    assert [text.get_text() for text in key.get_texts()] == [
        "interval excludes zero",
        "includes zero",
        "goes on",
    ]


def test_the_marks_of_the_axis_are_the_numbers_that_they_show() -> None:
    for scale in (2e-9, 0.0007, 0.006, 0.013, 0.1, 0.4):
        figure = plot_gain_panels(gains("p", "a b", scale), "CE")
        figure.draw_without_rendering()
        axis = figure.axes[0].xaxis
        for place, label in zip(axis.get_majorticklocs(), axis.get_majorticklabels(), strict=True):
            assert float(label.get_text().replace("−", "-")) == pytest.approx(place, abs=1e-3 * scale)


def test_many_methods_are_distinguishable() -> None:
    looks = looks_of([str(number) for number in range(49)])
    assert len(set(looks.values())) == 49


# ---------------------------------------------------------------------- mistakes


GOOD = "a linear ours 0.1 0 0.02 0.01 0.03"


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("a linear ours 0.1 0 much 0.01 0.03", "line 3: gain is `much`. Write a finite number"),
        ("a linear ours 0.1 0 0.02 nan 0.03", "line 3: gain_low is `nan`"),
        ("a linear ours 0.1 0 0.02 0.03 0.01", "line 3: gain_low 0.03 is above gain_high 0.01"),
        ("a linear ours 0.1 0 0.5 0.01 0.03", "line 3: 0.01, 0.5, 0.03 are not the lower end, the mean and"),
        ("a linear ours 0.1 0 1e300 -1e308 1e308", "line 3: -1e+308, 1e+300, 1e+308 are not the lower end"),
        ("a linear ours 30 0 0.02 0.01 0.03", "line 3: `max_fpr` is a rate"),
        ("a linear ours - 0 0.02 0.01 0.03", "line 3: the region is missing"),
        ("b linear ours 0.1 0 0.5 0.4 0.6", "line 3: a second row for ours"),
    ],
)
def test_a_bad_line_is_named(row: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = write(tmp_path / "mine.csv", GOOD.replace("a ", "b ", 1), row)
    told = refused(capsys, table, "--out", tmp_path / "out")
    assert f"`{table}`, {said}" in told
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"", "no column quantity"),
        (b"method,gain\nce,1\n", "no column quantity"),
        (b"\xff\xfe\x00binary\n", "not a CSV file in UTF-8"),
        (b"quantity,data,backbone,method,max_fpr,min_tpr,baseline,gain,gain_low,gain_high\n", "no row with"),
        (
            b"quantity,data,backbone,method,max_fpr,min_tpr,baseline,gain,gain_low,gain_high\ntest_pauc,a\n",
            "line 2: it has not as many values",
        ),
        (
            b"quantity,data,backbone,method,max_fpr,min_tpr,baseline,gain,gain_low,gain_high\n"
            b"test_pauc,a,,ours,0.1,0,ce,0.1,0,0.2\ntest_pauc,b,,ours,0.1,0,hard_ce,0.1,0,0.2\n",
            "several baselines, ce and hard_ce",
        ),
    ],
)
def test_a_file_that_is_no_table(
    text: bytes, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine.csv").write_bytes(text)
    told = refused(capsys, tmp_path / "mine.csv")
    assert f"`{tmp_path / 'mine.csv'}`" in told
    assert said in told


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("", "needs TABLE"),
        ("nowhere", "`nowhere`: no such file or directory. Give a comparison's directory"),
        (".", "`.`: it has no table.csv"),
        ("=one.csv", "write NAME=PATH to give the table"),
        (
            "one.csv --methods oers",
            "`--methods oers`: no table has it. Did you mean `ours`? Choose from ours, theirs.",
        ),
        ("one.csv --methods ce", "`--methods ce`: all gains are over ce"),
        ("one.csv --methods ours ours", "given twice"),
        ("one.csv --region 0.2", "`--region 0.2`: no table has it. Did you mean"),
        ("one.csv --region 0.2", "Choose from 0.1, 0.3,0.5."),
        ("one.csv --region 30", "`--region 30`"),
        ("one.csv --data_sets c", "`--data_sets c`: no table has it. Choose from a, b."),
        ("one.csv --methods theirs --data_sets b", "there is no gain to draw of what was chosen"),
        ("one.csv --methods theirs", "no gain that was chosen has an interval. Repeat the runs that failed"),
        ("one.csv --columns 0", "`--columns 0`: give a whole number that is at least 1"),
        ("one.csv one.csv", "a table before it has the name `one`, too"),
        ("one.csv other.csv", "`other.csv`: its gains are over hard_ce, those of `one.csv` over ce"),
        ("one.csv --seeds 3", "`--seeds` is not an option"),
    ],
)
def test_mistakes(
    words: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write(
        tmp_path / "one.csv",
        "a - ce 0.1 0 - - -",
        "a - ours 0.1 0 0.02 0.01 0.03",
        "a - theirs 0.1 0 0.02 - -",
        "b - ours 0.3 0.5 0.02 0.01 0.03",
    )
    other = write(tmp_path / "other.csv", GOOD)
    other.write_text(other.read_text().replace(",ce,", ",hard_ce,"))
    assert said in refused(capsys, *words.split())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one.csv", "other.csv"]


def test_a_table_with_nothing_chosen_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run("figure", "gains", FROZEN, SMALL, "--region", "0.05", "--out", tmp_path)
    assert f"`{SMALL}` has no gain of what was chosen" in " ".join(capsys.readouterr().err.split())
    assert {row["comparison"] for row in read(tmp_path / "gains.csv")} == {"frozen features"}


def test_the_command_of_the_page_draws_its_picture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, figures: list[Figure]
) -> None:
    page = (TABLES.parent / "figures.md").read_text(encoding="utf-8")
    command = page.partition("## Gains\n\n```sh\npauc ")[2].partition("```")[0]
    monkeypatch.chdir(TABLES.parents[1])
    run(*shlex.split(command.replace("\\\n", "")), "--out", tmp_path)
    picture, expected = (
        imread(path) for path in (tmp_path / "gains.png", TABLES.parent / "images/figures/gains.png")
    )
    np.testing.assert_allclose(picture.shape, expected.shape, rtol=0.05)  # fonts differ between releases
    assert len(figures[0].axes) == 6


def test_every_figure_has_its_section() -> None:
    page = (TABLES.parent / "figures.md").read_text(encoding="utf-8")
    assert [name for name in FIGURES if f"\n## {name.capitalize()}\n" not in page.replace("ROC", "Roc")] == []
    assert [name for name in FIGURES if f"| [`{name}`](#{name}) |" not in page] == []
