from __future__ import annotations

import re

import pytest

from pauc_lightning.benchmarks import step


def test_prints_a_ratio_for_every_optimizer(capsys: pytest.CaptureFixture[str]) -> None:
    step.main(["--batch", "4", "--repeats", "2"])
    printed = capsys.readouterr().out
    rows = re.findall(r"^(.+?) +(\d+\.\d) +(\d+\.\d\d)$", printed, flags=re.MULTILINE)
    assert [name for name, _, _ in rows] == [
        "cross-entropy, SGD",
        "PAUCI, ASGDA",
        "UPAUCI two-way, ASGDA",
        "UPAUCI, ASGDA, rho = 1",
    ]
    assert rows[0][2] == "1.00"
    assert all(float(ratio) > 0 for _, _, ratio in rows)
