"""Error and cost of Bernstein polynomials as surrogate losses, beside the threshold that needs no approximation.

The paper remarks that its minimax form extends to other convex losses through Bernstein polynomials. On scores in
[0, 1] the gap s of a pair is in [-1, 1]. The polynomial of degree m takes the loss at m + 1 gaps,

    B_m(s) = sum over k of l(2k/m - 1) C(m, k) x^k (1 - x)^(m - k),   x = (1 + s)/2,

and, as a polynomial in f+ - f-, is a sum of products of a moment of the positives and one of the negatives. The
products with both moments not constant form a matrix of rank m - 1. Each of its terms is a product of two means, that
is a difference of three squares, and each square needs a variable of its own to become a mean over instances. For the
squared loss, m = 2, these are the paper's a, b and gamma.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from pauc_lightning.cli.plain_parser import PlainParser
from pauc_lightning.errors import InputError

Values = NDArray[np.float64]
SURROGATES: dict[str, Callable[[Values], Values]] = {
    "logistic": lambda s: np.logaddexp(0, -s),
    "squared hinge": lambda s: np.maximum(0, 1 - s) ** 2,
    "hinge": lambda s: np.maximum(0, 1 - s),
}
"""Losses of a gap, by their names in the table."""


def bernstein(loss: Callable[[Values], Values], degree: int, gaps: Values) -> Values:
    """The Bernstein polynomial of ``loss`` on [−1, 1] at the given gaps.

    Example:
        >>> bernstein(lambda s: (1 - s) ** 2, 2, np.array([-1.0, 0.0, 1.0]))  # 1/2 too high in the middle
        array([4. , 1.5, 0. ])
    """
    k = np.arange(degree + 1)
    # De Casteljau's scheme: only means of neighbours, which is stable for any degree.
    values = np.repeat(loss(2 * k / degree - 1)[:, None], len(gaps), axis=1)
    x = (1 + gaps) / 2
    for _ in range(degree):
        values = (1 - x) * values[:-1] + x * values[1:]
    result: Values = values[0]
    return result


def largest_error(loss: Callable[[Values], Values], degree: int, points: int = 20_001) -> float:
    """The largest difference between the loss and its polynomial on [−1, 1], relative to the largest loss."""
    gaps = np.linspace(-1, 1, points)
    exact = loss(gaps)
    return float(np.abs(bernstein(loss, degree, gaps) - exact).max() / exact.max())


def auxiliary_variables(degree: int) -> int:
    """The variables of the minimax form besides the thresholds: three for each of the degree − 1 products of moments.

    Example:
        >>> auxiliary_variables(2)  # a, b and gamma of the squared loss
        3
    """
    return 3 * (degree - 1)


def largest_coefficient(loss: Callable[[Values], Values], degree: int) -> float:
    """The largest factor of a product of moments, relative to the largest loss; the products cancel to at most 1.

    It is computed in rational numbers, because floating-point ones would not do.
    """
    nodes = [Fraction(float(value)) for value in loss(2 * np.arange(degree + 1) / degree - 1)]
    differences, in_x = nodes, []
    for k in range(degree + 1):
        in_x.append(math.comb(degree, k) * differences[0])
        differences = [right - left for left, right in itertools.pairwise(differences)]
    # x = (1 + s)/2 turns powers of x into powers of s, and s = f⁺ − f⁻ these into products of moments.
    in_s = [
        sum((in_x[k] * math.comb(k, j) / 2**k for k in range(j, degree + 1)), Fraction(0))
        for j in range(degree + 1)
    ]
    return float(max(abs(c) * math.comb(j, j // 2) for j, c in enumerate(in_s)) / max(nodes))


def main(argv: Sequence[str] | None = None) -> None:
    """Print error, variables and coefficients of the polynomials."""
    parser = PlainParser(prog="pauc benchmark bernstein", description=__doc__)
    parser.add_argument(
        "--degrees", type=int, nargs="+", default=[10, 40], help="degrees of the polynomials (default 10 40)"
    )
    parser.add_argument(
        "--scale", type=float, default=5.0, help="the loss is l(scale * s) (default %(default)s)"
    )
    arguments = parser.parse_args(argv)
    if min(arguments.degrees) < 1 or not 0 < arguments.scale < math.inf:
        raise InputError(
            f"`--degrees` must be at least 1 and `--scale` above 0, got {arguments.degrees} and {arguments.scale}."
        )
    scale = arguments.scale
    print(f"Bernstein polynomials of l({scale:g}s) for gaps s in [-1, 1], relative to l({-scale:g})")
    print(f"{'':16}{'degree':>8}{'largest error':>15}{'variables':>11}{'largest coefficient':>21}")
    for name, loss in SURROGATES.items():

        def scaled(gaps: Values, loss: Callable[[Values], Values] = loss) -> Values:
            return loss(scale * gaps)

        for degree in arguments.degrees:
            print(
                f"{name:16}{degree:>8}{largest_error(scaled, degree):>15.4f}{auxiliary_variables(degree):>11}"
                f"{largest_coefficient(scaled, degree):>21.1e}"
            )
    print(f"{'any, threshold':16}{'':8}{0:>15.4f}{1:>11}{1:>21.1e}")
    print("The last line is PartialAUCLoss: exact, with one threshold (two if two-way).")


if __name__ == "__main__":
    main()
