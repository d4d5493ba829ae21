"""`pauc figure scores`: the scores of the tests, and thresholds that keep the region's rates."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from figures.trained import METHODS, check_files, run
from matplotlib.backends.backend_agg import FigureCanvasAgg

from pauc_lightning import Region
from pauc_lightning.errors import InputError
from pauc_lightning.figures.runs import FigureRun
from pauc_lightning.figures.scores import one_seed
from pauc_lightning.plotting.score_panels import ScorePanel, histogram, plot_score_panels
from pauc_lightning.run_files import read_test_scores


def test_the_scores_are_those_of_the_test(comparison: Path, tmp_path: Path) -> None:
    run("figure", "scores", comparison, "--out", tmp_path, "--seed", "1")
    rows = check_files(tmp_path, "scores")
    for method in METHODS:
        (folder,) = comparison.glob(f"{method}-*-seed1/version_0")
        saved = read_test_scores(folder)
        mine = [row for row in rows if row["method"] == method]
        assert {row["seed"] for row in mine} == {"1"}
        assert [float(row["score"]) for row in mine] == saved.score.tolist()
        assert [int(row["label"]) for row in mine] == saved.label.tolist()


@pytest.mark.parametrize("region", [Region(0.3), Region(0.25, 0.5), Region(0.5, 0.8), Region(0.4, 0.0, 0.1)])
def test_thresholds_in_the_band_have_rates_in_the_region(region: Region) -> None:
    rng = np.random.default_rng(0)
    label = (np.arange(200) % 4 == 0).astype(float)
    score = rng.random(200) * 0.6 + 0.4 * label
    low, high = ScorePanel(score, label, region, 0.5).thresholds
    assert low < high

    def rates(threshold: float) -> tuple[float, float]:
        return float((score[label == 0] >= threshold).mean()), float((score[label == 1] >= threshold).mean())

    for threshold in np.linspace(low, high, 50):
        fpr, tpr = rates(threshold)
        assert fpr <= region.max_fpr
        assert fpr >= region.min_fpr - 1 / 150
        assert tpr >= region.min_tpr
    assert rates(low)[0] > region.max_fpr - 1 / 150  # not a sample less than allowed
    if region.is_two_way:
        assert rates(high + 1e-9)[1] < region.min_tpr + 1 / 50


def test_no_threshold_has_both_rates() -> None:
    scores = ScorePanel(np.array([0.1, 0.2, 0.8, 0.9]), np.array([1, 1, 0, 0]), Region(0.5, 0.5), 0.0)
    low, high = scores.thresholds
    assert (low, high) == (0.9, 0.2)
    plot_score_panels({"wrong way round": scores})


def test_bars_are_shares_of_each_class() -> None:
    scores = ScorePanel(np.array([0.1, 0.9, 0.9, 0.05]), np.array([0, 1, 0, 0]), Region(0.5), 0.5)
    edges, positive, negative = histogram(scores, bins=2)
    assert (edges.tolist(), positive.tolist()) == ([0, 0.5, 1], [0, 1])
    np.testing.assert_allclose(negative, [2 / 3, 1 / 3])
    figure = plot_score_panels({"mine": scores}, bins=2)
    assert figure.axes[0].get_title(loc="left") == "mine   OPAUC (FPR ≤ 0.5) = 0.500"


def test_a_long_name_does_not_push_its_value_off_the_edge() -> None:
    scores = ScorePanel(np.array([0.1, 0.9, 0.9, 0.05]), np.array([0, 1, 0, 0]), Region(0.5), 0.5)
    names = (
        "$x_1$",
        "the loss that I tried as the ninth one",
        f"another name {'of many words ' * 9}ends here",
    )
    figure = plot_score_panels(dict.fromkeys(names, scores))
    FigureCanvasAgg(figure).draw()  # type: ignore[no-untyped-call]
    value = "OPAUC (FPR ≤ 0.5) = 0.500"
    short, middle, cut = (ax.get_title(loc="left") for ax in figure.axes)
    assert short == rf"\$x_1\$   {value}"
    assert middle == f"{names[1]}\n{value}"
    assert re.fullmatch(rf"another name .*….* ends here\n{re.escape(value)}", cut)
    titles = [text for ax in figure.axes for text in ax.get_children() if text in (ax._left_title,)]  # type: ignore[attr-defined]
    assert all(title.get_window_extent().x1 <= figure.bbox.x1 for title in titles)
    one, two, three = (ax.get_window_extent().height for ax in figure.axes)
    assert one == pytest.approx(two) == pytest.approx(three)


def test_a_region_without_a_negative_is_refused() -> None:
    with pytest.raises(InputError, match="raise max_fpr"):
        _ = ScorePanel(np.array([0.1, 0.9]), np.array([0, 1]), Region(0.5), 0.5).thresholds


def test_scores_of_different_models_are_not_mixed() -> None:
    runs = [FigureRun(Path(str(seed)), "ce", Region(0.3), seed) for seed in (2, 0)]
    assert [run.seed for run in one_seed(runs, None)] == [2]
    assert [run.seed for run in one_seed(runs, "0")] == [0]
    with pytest.raises(InputError, match="The seeds are 0, 2"):
        one_seed(runs, "1")
