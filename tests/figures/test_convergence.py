"""`pauc figure convergence`: the curves of the runs, on both parts."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from figures.trained import EPOCHS, METHODS, SEEDS, TRAIN, check_files, read, run
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.cbook import is_math_text

from pauc_lightning import Region
from pauc_lightning.errors import InputError
from pauc_lightning.figures.convergence import panels_of, read_curves
from pauc_lightning.figures.runs import FigureRun, find_runs
from pauc_lightning.plotting.convergence import ConvergencePanel, TrainingCurves, plot_convergence


def test_the_data_are_those_of_the_runs(comparison: Path) -> None:
    rows = check_files(comparison, "convergence")
    assert len(rows) == len(METHODS) * len(SEEDS) * EPOCHS * 2
    for row in rows:
        (metrics,) = comparison.glob(f"{row['method']}-*-seed{row['seed']}/version_0/metrics.csv")
        column = f"{row['part']}/pauc"
        (expected,) = [
            entry[column]
            for entry in read(metrics)
            if entry[column] and int(entry["epoch"]) + 1 == int(row["epochs"])
        ]
        assert float(row["pauc"]) == float(expected)


def test_after_a_warm_up_curves_begin_with_the_start(warmed_up: Path, tmp_path: Path) -> None:
    run("figure", "convergence", warmed_up, "--out", tmp_path)
    rows = check_files(tmp_path, "convergence")
    assert {row["part"] for row in rows} == {"val"}
    for seed in SEEDS:
        (warm_up,) = warmed_up.glob(f"warmup*-seed{seed}/version_0/metrics.csv")
        *_, end = (entry["val/auc"] for entry in read(warm_up) if entry["val/auc"])
        for method in METHODS:
            mine = [row for row in rows if (row["method"], row["seed"]) == (method, str(seed))]
            assert [row["epochs"] for row in mine] == ["0", *(str(epoch + 1) for epoch in range(EPOCHS))]
            (metrics,) = warmed_up.glob(f"{method}-*-seed{seed}/version_0/metrics.csv")
            (start,) = (entry for entry in read(metrics) if entry["epoch"] == "-1.0")
            assert float(mine[0]["pauc"]) == float(start["val/pauc"])
            assert float(start["val/auc"]) == pytest.approx(float(end), abs=1e-6)


def test_all_seeds_begin_at_the_axis_with_the_start(warmed_up: Path) -> None:
    curves = {one: read_curves(one.path) for one in find_runs([("", warmed_up)])}
    (panel,) = panels_of(curves)
    figure = plot_convergence([panel])
    (ax,) = figure.axes
    lines = [line for line in ax.lines if line.get_zorder() == 3]
    starts = [tuple(np.asarray(line.get_xydata())[0]) for line in lines]
    mean = np.mean([line["val"][0] for line in curves.values()])
    assert len(lines) == len(METHODS)
    assert starts == [(0.0, pytest.approx(mean))] * len(METHODS)  # the same model for all methods
    assert ax.get_xlim() == (0, EPOCHS)
    assert ax.get_xlabel() == "Epochs (0: the start)"


def test_names_are_written_as_typed_and_leave_room_for_the_axes() -> None:
    curves = TrainingCurves(np.array([1.0, 2.0]), [np.array([0.1, 0.5])])
    names = [r"loss $\foo$ x", "$x_1$", "a very long name of a run that someone chose, number 17"]
    title = "Validation part, a data set $x$ with a name that is longer than the column: OPAUC (FPR ≤ 0.3)"
    figure = plot_convergence([ConvergencePanel(title, "y", dict.fromkeys(names, curves))])
    FigureCanvasAgg(figure).draw()  # type: ignore[no-untyped-call]
    (ax,) = figure.axes
    first, second, third = (text.get_text() for text in ax.texts)
    assert [first, second] == [name.replace("$", r"\$") for name in names[:2]]
    assert third.startswith("a very long")
    assert third.endswith("number 17")
    heading = ax.get_title(loc="left")
    assert heading.replace("\n", " ") == title.replace("$", r"\$")
    assert not any(is_math_text(text) for text in (first, second, heading))
    assert all(text.get_window_extent().x1 <= figure.bbox.x1 for text in ax.texts)
    assert ax.get_window_extent().width > 0.4 * figure.bbox.width


def test_without_a_start_nothing_is_said_of_one(comparison: Path) -> None:
    curves = {one: read_curves(one.path) for one in find_runs([("", comparison)])}
    figure = plot_convergence(panels_of(curves))
    assert figure.axes[-1].get_xlabel() == "Epochs"
    assert all(min(line) == 1 for by_part in curves.values() for line in by_part.values())


def test_there_is_no_warm_up(comparison: Path) -> None:
    assert not list(comparison.glob("warmup*"))


def test_the_same_command_trains_nothing_again(
    comparison: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(comparison.parents[2])
    checkpoints = {path: path.stat().st_mtime_ns for path in comparison.glob("*/*/checkpoints/*.ckpt")}
    pdf = (comparison / "convergence.pdf").read_bytes()
    run("figure", "convergence", *TRAIN)
    assert checkpoints == {
        path: path.stat().st_mtime_ns for path in comparison.glob("*/*/checkpoints/*.ckpt")
    }
    assert (comparison / "convergence.pdf").read_bytes() == pdf  # the same data, the same file
    said = capsys.readouterr().out
    assert "Saved: runs/figures/convergence/convergence.png" in said.replace("\n", " ")
    assert "Next:  pauc figure roc runs/figures/convergence" in said


def test_named_runs_are_drawn_where_one_asks(comparison: Path, tmp_path: Path) -> None:
    (one,) = comparison.glob("ce-*-seed0/version_0")
    run("figure", "convergence", comparison, f"again={one}", "--out", tmp_path)
    rows = check_files(tmp_path, "convergence")
    assert {row["method"] for row in rows} == {*METHODS, "again"}
    assert {row["task"] for row in rows} == {""}


def test_lines_are_means_as_far_as_all_seeds_have_come() -> None:
    region = Region(0.3)
    curves = {
        FigureRun(Path("x"), "ce", region, 0): {"val": {1: 0.2, 2: 0.4, 3: 0.9}},
        FigureRun(Path("y"), "ce", region, 1): {"val": {1: 0.4, 2: 0.8}},
        FigureRun(Path("z"), "auc_m", region, 0): {"val": {1: 0.5}, "train": {1: 0.6}},
    }
    train, val = panels_of(curves)
    assert (train.title, list(train.methods)) == ("Training part, OPAUC (FPR ≤ 0.3)", ["AUC-M"])
    assert list(val.methods) == ["CE", "AUC-M"]
    figure = plot_convergence([train, val])
    line, *_ = figure.axes[1].lines
    np.testing.assert_allclose(np.asarray(line.get_xydata()), [(1, 0.3), (2, 0.6)])
    words = {text.get_text(): text.get_color() for text in figure.axes[1].texts}
    assert words["CE"] == line.get_color()
    assert words["AUC-M"] == figure.axes[0].lines[0].get_color()  # the same colour in all panels


def test_the_band_covers_all_seeds() -> None:
    values = [np.array([0.1, 0.5]), np.array([0.3, 0.9])]
    figure = plot_convergence(
        [ConvergencePanel("t", "y", {"m": TrainingCurves(np.array([1.0, 2.0]), values)})]
    )
    (band,) = figure.axes[0].collections
    corners = np.asarray(band.get_paths()[0].vertices)
    at_end = corners[corners[:, 0] == 2][:, 1]
    assert (at_end.min(), at_end.max()) == (0.5, 0.9)


def test_a_run_that_was_stopped_early_has_no_curve(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"has no metrics\.csv: train it"):
        read_curves(tmp_path)
    (tmp_path / "metrics.csv").write_text("epoch,step,train/loss\n0,4,0.5\n")
    with pytest.raises(InputError, match="holds no validation"):
        read_curves(tmp_path)


def test_the_newest_finished_run_of_a_cell_counts(comparison: Path, tmp_path: Path) -> None:
    cell = tmp_path / "digits" / "my-method-opauc_fpr0.3-seed7"
    (source,) = comparison.glob("ce-*-seed0/version_0")
    for version, ending in (
        ("version_0", "test_metrics.json"),
        ("version_1", "test_metrics.json"),
        ("version_2", "x"),
    ):
        folder = cell / version
        folder.mkdir(parents=True)
        (folder / "config.yaml").write_text((source / "config.yaml").read_text())
        (folder / ending).write_text("{}")
        os.utime(folder / ending, (int(version[-1]), int(version[-1])))
    (tmp_path / "comparison.json").write_text('{"methods": {"my-method": {}}}')
    (found,) = find_runs([("", tmp_path)])
    assert (found.path.name, found.method, found.task) == ("version_1", "my-method", "digits")
    assert found.region == Region(0.3, 0.5)  # as it was trained
