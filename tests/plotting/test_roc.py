from __future__ import annotations

import io

import matplotlib
import numpy as np
import pytest
import torch
from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.patches import Rectangle
from sklearn.metrics import auc, roc_auc_score
from torch import Tensor

from pauc_lightning import Region
from pauc_lightning.metrics.functional import RocCurve, binary_partial_auc
from pauc_lightning.plotting import draw_roc, plot_roc, plot_roc_curves


def make_samples(n: int = 500, levels: int = 20, seed: int = 0) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    target = (torch.rand(n, generator=generator) < 0.3).long()
    return ((torch.randn(n, generator=generator) + target) * levels).round() / levels, target


def filled_area(ax: Axes) -> float:
    """The area of the filled polygon, by the shoelace formula."""
    total = 0.0
    for path in ax.collections[0].get_paths():
        for polygon in path.to_polygons():
            x, y = np.asarray(polygon).T
            total += abs(np.dot(x[:-1], y[1:]) - np.dot(x[1:], y[:-1])) / 2
    return total


@pytest.mark.parametrize("levels", [0, 0.5, 2, 1e9])
@pytest.mark.parametrize("region", [Region(), Region(0.5), Region(0.75, 0.5), Region(0.75, 0.25, 0.25)])
def test_the_filled_area_is_the_partial_auc_with_and_without_ties(region: Region, levels: float) -> None:
    # 400 negatives and 200 positives: every rate here is a whole number of them.
    generator = torch.Generator().manual_seed(1)
    target = torch.arange(600) % 3 == 0
    scores = ((torch.randn(600, generator=generator, dtype=torch.float64) + target) * levels).round()
    figure = plot_roc(scores, target, region)
    area = filled_area(figure.axes[0])
    value = binary_partial_auc(scores, target, region.max_fpr, region.min_tpr, region.min_fpr, scale="area")
    assert area == pytest.approx(value.item(), abs=1e-9)
    printed = float(figure.axes[0].get_title().split(" = ")[1])
    assert printed == pytest.approx(area / region.size, abs=5.1e-5)  # four digits


def test_figure_shows_region_value_and_zoom() -> None:
    scores, target = make_samples()
    region = Region(max_fpr=0.3, min_tpr=0.6)
    figure = plot_roc(scores, target, region, name="ours")
    (ax,) = figure.axes
    filled = (
        p for p in ax.patches if to_rgba(p.get_facecolor())[3] > 0
    )  # older matplotlib frames the inset by a patch, too
    (patch,) = (p for p in filled if isinstance(p, Rectangle) and p.get_width() < 1)
    assert (patch.get_x(), patch.get_y()) == (0, 0.6)
    assert (patch.get_width(), patch.get_height()) == pytest.approx((0.3, 0.4))
    value = binary_partial_auc(scores, target, max_fpr=0.3, min_tpr=0.6)
    assert ax.get_title() == f"TPAUC (FPR ≤ 0.3, TPR ≥ 0.6) = {value:.4f}"
    assert [line.get_label() for line in ax.lines] == ["ours", "chance"]
    (zoom,) = ax.child_axes
    assert (zoom.get_xlim(), zoom.get_ylim()) == ((0, 0.3), (0.6, 1))
    assert not plot_roc(scores, target, Region(0.8)).axes[0].child_axes
    assert plot_roc(scores, target, region, title="mine").axes[0].get_title() == "mine"
    png = io.BytesIO()
    figure.savefig(png, format="png")
    assert png.getvalue().startswith(b"\x89PNG")


def test_several_curves_carry_their_own_values() -> None:
    samples = {f"model {seed}": make_samples(n=300 + seed, seed=seed) for seed in range(9)}
    region = Region(max_fpr=0.3)
    (ax,) = plot_roc_curves(samples, region).axes
    *lines, _chance = ax.lines
    for line, (name, (scores, target)) in zip(lines, samples.items(), strict=True):
        assert line.get_label() == f"{name} ({binary_partial_auc(scores, target, max_fpr=0.3):.4f})"
        x, y = np.asarray(line.get_xydata()).T
        assert auc(x, y) == pytest.approx(roc_auc_score(target, scores), abs=1e-12)
    assert len({(line.get_color(), line.get_linestyle()) for line in lines}) == len(lines)
    assert not ax.collections or not ax.collections[0].get_paths()  # no single area to fill


def test_figures_are_not_registered_with_pyplot() -> None:
    # pyplot keeps every figure it knows alive: one per epoch would fill the memory
    before = pyplot.get_fignums(), matplotlib.get_backend()
    figure, ax = draw_roc({"model": RocCurve.from_scores(*make_samples())}, Region(0.3))
    assert ax.figure is figure
    assert (pyplot.get_fignums(), matplotlib.get_backend()) == before
