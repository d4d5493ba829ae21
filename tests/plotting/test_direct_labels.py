"""Labels at the ends of lines do not overlap, and stay as near to their lines as they can."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.backends.backend_agg import FigureCanvasAgg
from scipy.optimize import minimize

from pauc_lightning.plotting.direct_labels import LineEnd, label_line_ends, spread
from pauc_lightning.plotting.print_style import print_figure


@settings(deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=12), st.floats(0.01, 0.3))
def test_places_keep_their_distance_and_their_order(wanted: list[float], gap: float) -> None:
    places = spread(wanted, gap, low=0.0, high=1.0)
    room = 1.0 / max(len(wanted) - 1, 1)
    order = np.argsort(wanted, kind="stable")
    assert (np.diff(places[order]) >= min(gap, room) - 1e-9).all()
    assert places.min() >= -1e-9
    assert places.max() <= 1 + 1e-9


def test_the_places_are_the_nearest_that_are_allowed() -> None:
    wanted, gap = np.array([0.1, 0.12, 0.5, 0.52, 0.53, 0.97]), 0.08
    found = spread(wanted, gap, low=0.0, high=1.0)
    constraints = [
        {"type": "ineq", "fun": lambda p, i=i: p[i + 1] - p[i] - gap} for i in range(len(wanted) - 1)
    ]
    truth = minimize(
        lambda p: ((p - wanted) ** 2).sum(),
        np.linspace(0, 1, 6),
        bounds=[(0, 1)] * 6,
        constraints=constraints,
        tol=1e-12,
    )
    np.testing.assert_allclose(found, truth.x, atol=1e-5)


def test_higher_numbers_keep_a_larger_distance() -> None:
    places = spread([0.5, 0.5, 0.5], np.array([0.1, 0.3, 0.1]), low=0.0, high=1.0)
    np.testing.assert_allclose(places, [0.3, 0.5, 0.7])
    squeezed = spread([0.5, 0.5, 0.5], np.array([1.0, 3.0, 1.0]), low=0.0, high=1.0)
    np.testing.assert_allclose(squeezed, [0.0, 0.5, 1.0])


@pytest.mark.parametrize("number", [2, 12])
def test_long_names_have_as_many_lines_as_there_is_room_for(number: int) -> None:
    figure = print_figure(2.0)
    ax = figure.subplots()
    ax.set(xlim=(0, 1), ylim=(0, 1))
    names = [f"a rather long name of the run number {i}, which differs in its middle" for i in range(number)]
    label_line_ends(ax, [LineEnd(0.99, name, "C0", value="0.123±.456") for name in names])
    FigureCanvasAgg(figure).draw()  # type: ignore[no-untyped-call]
    labels = [text.get_text() for text in ax.texts]
    assert len(set(labels)) == number
    assert {label.count("\n") for label in labels} == ({1} if number == 2 else {0})
    assert all(label.endswith("0.123±.456") for label in labels)
    boxes = sorted((text.get_window_extent() for text in ax.texts), key=lambda box: box.y0)
    assert all(lower.y1 <= upper.y0 + 0.5 for lower, upper in pairwise(boxes))
    assert all(box.x1 <= figure.bbox.x1 for box in boxes)
    assert ax.get_window_extent().width > 0.4 * figure.bbox.width


@pytest.mark.parametrize("values", [[0.5] * 6, [0.0, 1.0, 0.99, 5.0]])
def test_words_do_not_overlap_on_paper(values: list[float]) -> None:
    figure = print_figure(2.0)
    ax = figure.subplots()
    ax.set(xlim=(0, 1), ylim=(0, 1))
    label_line_ends(ax, [LineEnd(value, f"line {i}", "C0") for i, value in enumerate(values)])
    FigureCanvasAgg(figure).draw()  # type: ignore[no-untyped-call]
    boxes = sorted((text.get_window_extent() for text in ax.texts), key=lambda box: box.y0)
    assert all(lower.y1 <= upper.y0 + 0.5 for lower, upper in pairwise(boxes))
    assert all(box.x1 <= figure.bbox.x1 for box in boxes)
