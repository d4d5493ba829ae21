from __future__ import annotations

import re

import pytest

from pauc_lightning.benchmarks import step
from pauc_lightning.benchmarks.step import LOG_INTERVAL, METHODS, Timing
from pauc_lightning.errors import InputError


def test_prints_a_ratio_for_every_network_and_method(capsys: pytest.CaptureFixture[str]) -> None:
    step.main(["--batch", "2", "--mlp_batch", "16", "--steps", "1", "--size", "16"])
    printed = capsys.readouterr().out
    assert re.findall(r"^A training step of (.*)$", printed, flags=re.MULTILINE) == [
        "MLP, batches of 16",
        "ResNet-18, batches of 2 images of 16x16",
    ]
    number = r" +(\d+\.\d\d)"
    rows = re.findall(rf"^(.+?){number}{number}{number}{number} +(\d+\.\d)%$", printed, flags=re.MULTILINE)
    assert [name for name, *_ in rows] == [*METHODS, *METHODS]
    assert [row[2] for row in rows if row[0] == "CE, SGD"] == ["1.00", "1.00"]
    assert all(float(row[4]) > 0 for row in rows)


def test_a_log_in_every_block_counts_and_a_disturbance_does_not() -> None:
    logged = [1.0] * (LOG_INTERVAL - 1) + [2.0]
    timings = {"CE, SGD": Timing([1.0] * 30, logged * 2 + [100.0] * LOG_INTERVAL, loading=0.11)}
    assert timings["CE, SGD"].medians() == pytest.approx((1.0, 1.1))
    assert step.report("it", timings).splitlines()[-1].split() == [
        *("CE,", "SGD", "1000.00", "1.00", "1100.00", "1.10", "10.0%")
    ]


def test_nothing_to_time_is_refused() -> None:
    with pytest.raises(InputError, match="`--steps=0` must be at least 1"):
        step.main(["--steps", "0"])
