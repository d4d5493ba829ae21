"""The reliability figure shows the bins that it claims to show."""

from __future__ import annotations

import numpy as np
import pytest

from pauc_lightning.errors import InputError
from pauc_lightning.metrics.functional import reliability_bins
from pauc_lightning.plotting import plot_reliability

RNG = np.random.default_rng(0)


@pytest.mark.parametrize(("prior", "binning"), [(0.02, "halving"), (0.4, "equal_mass")])
def test_points_are_the_bins_on_axes_that_fit_the_prior(prior: float, binning: str) -> None:
    labels = RNG.random(4000) < prior
    p = np.clip(RNG.normal(0.02 + 0.9 * labels, 0.02), 0.0, 1.0)
    figure = plot_reliability({"raw": p, "squared": p**2}, labels, title="Test")
    ax, counts = figure.axes
    assert ax.get_xscale() == ax.get_yscale() == ("log" if binning == "halving" else "linear")
    _, raw, squared = ax.get_lines()
    for line, values in ((raw, p), (squared, p**2)):
        bins = reliability_bins(values, labels, 10, binning)  # type: ignore[arg-type]
        shown = bins.rate > 0 if binning == "halving" else bins.rate >= 0
        assert np.allclose(np.asarray(line.get_ydata(), float), bins.rate[shown])
        x = np.maximum(bins.probability[shown], 0.0)
        assert np.allclose(np.asarray(line.get_xdata(), float), x)
        assert 1 < len(bins.rate) <= 10
    assert counts.get_xlabel() == "predicted probability"
    (legend,) = figure.legends
    assert [text.get_text().split(" (")[0] for text in legend.get_texts()] == ["raw", "squared"]
    figure.savefig("/dev/null", format="png")


def test_extremes_can_be_drawn() -> None:
    for labels in (np.zeros(50), np.ones(50), np.arange(50) < 1):
        for log in (True, False):
            values = np.linspace(0, 1, 50)
            plot_reliability({"a": values, "b": np.zeros(50)}, labels, log=log).savefig(
                "/dev/null", format="png"
            )


def test_mistakes_are_refused() -> None:
    with pytest.raises(InputError, match="at least one curve"):
        plot_reliability({}, [0, 1])
    with pytest.raises(InputError, match="got -1: apply the sigmoid"):
        plot_reliability({"logits": [3.0, -1.0]}, [1, 0])
