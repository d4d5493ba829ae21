from __future__ import annotations

import re

import pytest

from pauc_lightning.benchmarks import sklearn
from pauc_lightning.benchmarks.sklearn import NETWORKS, Timing, report
from pauc_lightning.errors import InputError


def test_prints_a_row_for_every_network_and_both_loops_train(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sklearn, "EPOCHS", 1)
    sklearn.main(["--columns", "6", "--repeats", "1"])
    printed = capsys.readouterr().out
    assert "Fit to 20,000 rows of 6 columns, one in ten positive" in printed
    number = r" +(\d+\.\d+)"
    rows = re.findall(rf"^(\S.*?){number}{number}{number}{number}{number}$", printed, flags=re.MULTILINE)
    assert [row[0] for row in rows] == list(NETWORKS)
    for row in rows:
        plain_value, value = float(row[4]), float(row[5])
        assert min(plain_value, value) > 0.15  # chance has 0.05
        assert plain_value == pytest.approx(value, abs=0.05)


def test_the_ratio_is_the_median_over_pairs_of_fits() -> None:
    fits = {"plain loop": Timing([1.0, 2.0, 4.0], 0.5), "PartialAUCClassifier": Timing([2.0, 2.0, 2.0], 0.75)}
    assert report(1000, 5, {"linear": fits}).splitlines()[-1].split() == [
        *("linear", "2.00", "2.00", "1.00", "0.5000", "0.7500")
    ]


@pytest.mark.parametrize("option", ["--rows=10", "--columns=1", "--repeats=0"])
def test_sizes_that_cannot_be_measured_are_refused(option: str) -> None:
    with pytest.raises(InputError, match=f"`{option}` must be at least"):
        sklearn.main([option])
