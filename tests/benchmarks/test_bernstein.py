"""Bernstein polynomials: against scipy and closed forms, and what a minimax form would need."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.interpolate import BPoly

from pauc_lightning.benchmarks import bernstein
from pauc_lightning.errors import InputError


@pytest.mark.parametrize("name", bernstein.SURROGATES)
@pytest.mark.parametrize("degree", [1, 10, 40])
def test_polynomial(name: str, degree: int) -> None:
    loss = bernstein.SURROGATES[name]
    gaps = np.linspace(-1, 1, 50)
    nodes = loss(2 * np.arange(degree + 1) / degree - 1)
    expected = BPoly(nodes[:, None], [-1, 1])(gaps)
    np.testing.assert_allclose(bernstein.bernstein(loss, degree, gaps), expected, rtol=1e-12)


@pytest.mark.parametrize("degree", [2, 10, 40])
def test_error_in_closed_form(degree: int) -> None:
    """The polynomial of (1 − s)² is too high by (1 − s²)/m; that of a line is the line."""
    square = bernstein.SURROGATES["squared hinge"]  # up to a gap of 1 it is the square
    assert bernstein.largest_error(square, degree) == pytest.approx(1 / degree / 4)
    assert bernstein.largest_error(bernstein.SURROGATES["hinge"], degree) == pytest.approx(0, abs=1e-12)


def test_kink_in_closed_form() -> None:
    """At a kink in the middle of |s| the error is C(m, m/2)/2^m."""
    assert bernstein.largest_error(np.abs, 10) == pytest.approx(252 / 1024, rel=1e-6)


@pytest.mark.parametrize("degree", [2, 5, 8])
def test_rank_and_largest_coefficient(degree: int) -> None:
    """Of the matrix of products of moments, made by numpy's polynomials."""

    def loss(gaps: bernstein.Values) -> bernstein.Values:  # all its derivatives differ from zero
        return np.exp(-gaps)

    nodes = loss(2 * np.arange(degree + 1) / degree - 1)
    in_s = np.polynomial.Polynomial.fit(
        np.linspace(-1, 1, degree + 1), BPoly(nodes[:, None], [-1, 1])(np.linspace(-1, 1, degree + 1)), degree
    ).convert()
    products = np.zeros((degree + 1, degree + 1))
    for j, coefficient in enumerate(in_s.coef):
        for a, factor in enumerate(np.poly1d([1, -1]) ** j if j else [1.0]):
            products[j - a, a] += coefficient * factor
    largest = np.abs(products).max() / nodes.max()
    assert bernstein.largest_coefficient(loss, degree) == pytest.approx(largest, rel=1e-6)
    if degree == 2:
        assert np.linalg.matrix_rank(products[1:, 1:]) == 1
    assert bernstein.auxiliary_variables(degree) == 3 * (degree - 1)
    corner = np.triu(np.ones((degree - 1, degree - 1)))[
        :, ::-1
    ]  # not zero where the powers add up to degree at most
    assert np.array_equal(products[1:degree, 1:degree] != 0, corner != 0)  # so its rank is degree − 1


def test_table(capsys: pytest.CaptureFixture[str]) -> None:
    bernstein.main(["--degrees", "2", "4", "--scale", "1"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[4].split() == ["squared", "hinge", "2", "0.1250", "3", "5.0e-01"]
    assert lines[8].split()[-3:] == ["0.0000", "1", "1.0e+00"]
    with pytest.raises(InputError, match="`--degrees` must be at least 1"):
        bernstein.main(["--degrees", "0"])
