from __future__ import annotations

import re

import numpy as np
import pytest

from pauc_lightning import InputError
from pauc_lightning.benchmarks.bootstrap import KINDS, REGIONS, Kind, interval, loop, main, make_samples
from pauc_lightning.region import Region


def test_prints_time_memory_and_the_ratio_to_the_loop(capfd: pytest.CaptureFixture[str]) -> None:
    main(
        ["--samples", "20000", "--resamples", "400", "--loop", "2", "--positives", "0.1", "--kinds", "paired"]
    )
    printed, progress = capfd.readouterr()
    assert "20,000 scores, 400 resamples" in printed
    assert "loop: extrapolated from 2 of its resamples" in printed
    assert "positives, AUC, paired" in progress
    rows = re.findall(
        r"^ +10.00%  (\S.*?) +paired +([\d.]+) +([\d.]+) +([\d.]+) +(\d+) +(\d+) +(\d+)x$", printed, re.M
    )
    assert [row[0] for row in rows] == [region.title for region in REGIONS]
    for _, error, analytic, _, megabytes, _, _ in rows:
        assert float(error) == pytest.approx(float(analytic), rel=0.2)
        assert int(megabytes) > 100


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("region", REGIONS, ids=lambda region: region.name)
def test_the_loop_computes_what_the_bootstrap_does(kind: Kind, region: Region) -> None:
    samples = make_samples(2000, 0.2)
    body = loop(samples, region, kind)
    values = [body() for _ in range(300)]
    found = interval(samples, region, kind, "bootstrap", 2000)
    assert np.mean(values) == pytest.approx(found.value, abs=0.5 * found.standard_error)
    assert np.std(values) == pytest.approx(found.standard_error, rel=0.2)


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["--samples", "10"], "`--samples` must be a whole number, at least 1000, got 10"),
        (["--resamples", "0"], "`--resamples` must be"),
        (["--loop", "0"], "`--loop` must be"),
        (["--positives", "1"], "`--positives` must be"),
        (["--kinds", "pared"], "paired"),
    ],
)
def test_bad_options_are_clear_errors(argv: list[str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        main(argv)
