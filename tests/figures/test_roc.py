"""`pauc figure roc`: curves and values are those of the tests."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import torch
from figures.trained import METHODS, SEEDS, check_files, run
from matplotlib.backends.backend_agg import FigureCanvasAgg
from sklearn.metrics import roc_auc_score

from pauc_lightning import Region
from pauc_lightning.metrics.functional import RocCurve
from pauc_lightning.plotting import MethodCurves
from pauc_lightning.plotting.roc_bands import plot_roc_bands
from pauc_lightning.run_files import read_test_scores


def test_values_are_those_of_the_tests(comparison: Path, tmp_path: Path) -> None:
    run("figure", "roc", comparison, "--out", tmp_path)
    rows = check_files(tmp_path, "roc")
    assert {(row["method"], int(row["seed"])) for row in rows} == {(m, s) for m in METHODS for s in SEEDS}
    for method in METHODS:
        (folder,) = comparison.glob(f"{method}-*-seed1/version_0")
        mine = [row for row in rows if (row["method"], row["seed"]) == (method, "1")]
        expected = json.loads((folder / "test_metrics.json").read_text())["pauc"]
        assert float(mine[0]["pauc"]) == pytest.approx(expected, abs=1e-6)
        points = np.array([(float(row["fpr"]), float(row["tpr"])) for row in mine])
        area = np.trapezoid(points[:, 1], points[:, 0]) if hasattr(np, "trapezoid") else np.nan
        saved = read_test_scores(folder)
        assert np.isnan(area) or area == pytest.approx(roc_auc_score(saved.label, saved.score))


def test_an_older_comparison_keeps_the_curve_alone(
    comparison: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder,) = comparison.glob("ce-*-seed0/version_0")
    old = tmp_path / "old"
    old.mkdir()
    for name in ("config.yaml", "test_roc.csv", "test_metrics.json"):
        (old / name).write_text((folder / name).read_text())
    run("figure", "roc", f"old={old}", "--out", tmp_path)
    rows = check_files(tmp_path, "roc")
    assert {row["pauc"] for row in rows} == {str(json.loads((old / "test_metrics.json").read_text())["pauc"])}
    (old / "test_roc.csv").unlink()
    with pytest.raises(SystemExit):
        run("figure", "roc", f"old={old}", "--out", tmp_path)
    assert f"has not been tested: type `pauc test {old}`" in capsys.readouterr().err


def test_long_names_keep_their_values_and_leave_room_for_the_axes() -> None:
    curve = RocCurve.from_counts(torch.tensor([0, 2]), torch.tensor([4, 0]))
    methods = {
        name: MethodCurves([curve, curve], [0.84, 0.86])
        for name in (
            "CE",
            r"loss $\foo$ with 32 letters in all",
            "a very long name that someone chose, number 17",
        )
    }
    figure = plot_roc_bands({"$x$: OPAUC": (Region(0.3), methods)})
    FigureCanvasAgg(figure).draw()  # type: ignore[no-untyped-call]
    (ax,) = figure.axes
    one, two, three = (text.get_text() for text in ax.texts)
    assert one == "CE 0.850±.014"
    assert re.fullmatch(r"loss \\\$\\foo\\\$ w.*….* in all\n0\.850±\.014", two)
    assert re.fullmatch(r"a very long .*….*number 17\n0\.850±\.014", three)
    assert ax.get_title(loc="left") == r"\$x\$: OPAUC"
    boxes = sorted((text.get_window_extent() for text in ax.texts), key=lambda box: box.y0)
    assert all(lower.y1 <= upper.y0 + 0.5 for lower, upper in pairwise(boxes))
    assert all(box.x1 <= figure.bbox.x1 and box.y1 <= figure.bbox.y1 for box in boxes)
    assert ax.get_window_extent().width > 0.4 * figure.bbox.width


def test_the_region_is_enlarged_and_lines_are_means() -> None:
    steep = RocCurve.from_counts(torch.tensor([0, 2]), torch.tensor([4, 0]))  # perfect
    flat = RocCurve.from_counts(torch.tensor([1]), torch.tensor([1]))  # chance
    region = Region(0.4, 0.2)
    panels = {"one": (region, {"CE": MethodCurves([steep, flat], [1.0, 0.5])}), "all": (Region(), {})}
    figure = plot_roc_bands({"one": panels["one"]})
    ax = figure.axes[0]
    assert (ax.get_xlim(), ax.get_ylim()) == ((0, 0.4), (0.2, 1.0))
    x, y = np.asarray(ax.lines[0].get_xydata()).T
    np.testing.assert_allclose(y, (1 + x) / 2, atol=1e-12)
    assert [text.get_text() for text in ax.texts] == ["CE 0.750±.354"]
    (inset,) = ax.child_axes
    assert inset.get_xlim() == (0, 1)
