from __future__ import annotations

import re

import pytest

from pauc_lightning import InputError
from pauc_lightning.benchmarks.metric import main


def test_prints_agreeing_values_times_and_memory(capfd: pytest.CaptureFixture[str]) -> None:
    main(["--samples", "300000", "--positives", "0.1", "--max_fpr", "0.2", "--repeats", "1"])
    printed, progress = capfd.readouterr()
    assert "300,000 float32 scores, 10.00% positives, max_fpr=0.2, median of 1" in printed
    assert "measuring" in progress
    rows = {
        name.strip(): [float(number) for number in numbers]
        for name, *numbers in re.findall(
            r"^(\S.*?) +([\d.]+) +([\d.]+) +(\d+) +([\d.]+)x$", printed, re.MULTILINE
        )
    }
    ours = rows["binary_partial_auc"]
    mcclish = rows['binary_partial_auc(scale="mcclish")']
    sklearn = rows["sklearn.metrics.roc_auc_score"]
    assert mcclish[0] == sklearn[0]
    assert 0 < ours[0] < 1
    for _, milliseconds, _, faster in (ours, mcclish, sklearn):
        assert faster == pytest.approx(sklearn[1] / milliseconds, rel=0.1)
    assert ours[2] < sklearn[2]  # megabytes
    difference = re.search(r"\|mcclish - scikit-learn\| = (\S+);", printed)
    assert difference is not None
    assert float(difference[1]) < 1e-12


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["--samples", "0"], "`--samples` must be at least 1, got 0"),
        (["--repeats", "0"], "`--repeats` must be at least 1, got 0"),
        (["--positives", "1"], "`--positives` is a fraction"),
        (["--max_fpr", "0"], "`max_fpr`"),
    ],
)
def test_bad_options_are_clear_errors(argv: list[str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        main(argv)
