"""Axes and charts: values land where they belong."""

from __future__ import annotations

import itertools
import re

import numpy as np
import pytest
from report.reading import parse

from pauc_lightning.report.chart import Chart
from pauc_lightning.report.scale import Scale, linear, logarithmic, logit


@pytest.mark.parametrize(
    "scale",
    [linear(-2.0, 5.0, "linear"), logarithmic(0.001, 1.0, "logarithmic"), logit(0.01, 0.999, "logit")],
    ids=lambda scale: str(scale.label),
)
def test_an_axis_maps_its_ends_and_is_undone_by_its_inverse(scale: Scale) -> None:
    np.testing.assert_allclose(scale.place([scale.low, scale.high]), [0, 1], atol=1e-12)
    np.testing.assert_allclose(scale.place(scale.spread(7)), np.linspace(0, 1, 7), atol=1e-9)
    assert all(scale.low <= value <= scale.high for value, _ in scale.ticks)
    np.testing.assert_allclose(scale.place([scale.low - 1, scale.high + 1]), [0, 1], atol=1e-12)


@pytest.mark.parametrize(
    ("low", "high", "labels"),
    [
        (0.0, 1.0, ["0", "0.2", "0.4", "0.6", "0.8", "1"]),
        (0.0, 0.05, ["0", "0.01", "0.02", "0.03", "0.04", "0.05"]),
        (-1.3, 0.9, ["-1", "-0.5", "0", "0.5"]),
        (0.0, 2e6, ["0", "5e+05", "1e+06", "1.5e+06", "2e+06"]),
        (3.0, 3.0, ["2.8", "3", "3.2"]),
    ],
)
def test_ticks_are_round_numbers(low: float, high: float, labels: list[str]) -> None:
    found = [name for _, name in linear(low, high, "").ticks]
    assert found == labels


def test_a_line_goes_through_its_points() -> None:
    chart = Chart(linear(0, 10, "x"), linear(0, 1, "y"), "a line", height=200)
    chart.line([0, 10], [0, 1], "c0")
    (path,) = [one for one in parse(chart.svg()).all("path") if "line" in one.attributes["class"]]
    numbers = [float(number) for number in re.findall(r"[\d.]+", path.attributes["d"])]
    assert numbers == [chart.left, chart.bottom, chart.right, chart.top]


def drawn(x: list[float], y: list[float]) -> str:
    chart = Chart(linear(0, 10, ""), linear(0, 10, ""), "", is_square=True)
    chart.line(x, y, "c0")
    return next(
        one for one in parse(chart.svg()).all("path") if "line" in one.attributes["class"]
    ).attributes["d"]


def test_steps_become_horizontal_and_vertical_strokes_and_peaks_stay() -> None:
    assert re.fullmatch(r"M\S+ \S+H\S+V\S+", drawn([0, 5, 10, 10], [0, 0, 0, 10]))
    up_and_down = drawn([5, 5, 5], [0, 10, 2])
    assert up_and_down.count("V") == 2  # the peak between is not lost


def test_a_value_that_does_not_exist_interrupts_the_line() -> None:
    assert drawn([0, 1, 2, 3, 4], [0, 1, float("nan"), 3, 4]).count("M") == 2
    assert drawn([float("nan"), 1, 2], [0, 1, 2]).count("M") == 1


def test_a_chart_is_an_image_with_words_and_escapes_them() -> None:
    svg = parse(Chart(linear(0, 1, "<x>"), linear(0, 1, "y"), 'a "chart"').svg()).one("svg")
    assert svg.attributes["role"] == "img"
    assert svg.attributes["aria-label"] == 'a "chart"'
    assert "<x>" in [text.text for text in svg.all("text")]


def test_bars_have_the_heights_of_their_values() -> None:
    chart = Chart(linear(0, 2, ""), linear(0, 1, ""), "")
    chart.bars(np.array([0.0, 1.0, 2.0]), 0.0, np.array([0.5, 0.0]), "bar")
    (path,) = parse(chart.svg()).all("path", "bar")
    (top,) = re.findall(r"V([\d.]+)H", path.attributes["d"])
    assert float(top) == pytest.approx((chart.top + chart.bottom) / 2, abs=0.1)


def test_read_outs_cover_the_chart_without_gaps() -> None:
    chart = Chart(linear(0, 1, ""), linear(0, 1, ""), "")
    at = np.array([0.1, 0.4, 0.9])
    chart.read_out(at, at, ["a", "b", "c"])
    hits = parse(chart.svg()).all("rect", "hit")
    edges = [(float(hit.attributes["x"]), float(hit.attributes["width"])) for hit in hits]
    assert edges[0][0] == chart.left
    for (x, width), (following, _) in itertools.pairwise(edges):
        assert x + width == pytest.approx(following, abs=0.11)
    assert sum(edges[-1]) == pytest.approx(chart.right, abs=0.11)
