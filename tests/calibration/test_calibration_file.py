"""The calibration of a run: written, read, and refused if it is not what it seems."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from pauc_lightning.calibration import METHODS, Calibration
from pauc_lightning.errors import InputError

RNG = np.random.default_rng(0)
LABELS = RNG.random(500) < 0.2
SCORES = 1 / (1 + np.exp(-RNG.normal(np.where(LABELS, 1.0, -1.0))))


def test_what_is_read_is_what_was_written_to_the_last_bit(tmp_path: Path) -> None:
    fitted = Calibration.fit(SCORES, LABELS, batch_prior=0.5)
    fitted.write(tmp_path / "calibration.json")
    read = Calibration.read(tmp_path / "calibration.json")
    assert read == fitted
    for method in METHODS:
        assert np.array_equal(read.method(method)(SCORES), fitted.method(method)(SCORES))
    assert read.prior == LABELS.mean()


def test_scores_that_rank_backwards_leave_a_file_that_says_why(tmp_path: Path) -> None:
    fitted = Calibration.fit(1 - SCORES, LABELS)
    assert not fitted.calibrators
    fitted.write(tmp_path / "calibration.json")
    with pytest.raises(
        InputError, match="`calibrate=platt` is not possible: `scores` are not higher for pos"
    ):
        Calibration.read(tmp_path / "calibration.json").method("platt")


def test_unknown_methods_are_refused() -> None:
    with pytest.raises(InputError, match="one of platt, temperature, isotonic, got 'plat'"):
        Calibration.fit(SCORES, LABELS).method("plat")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda c: c.update(format="other"), "is not a calibration of a run"),
        (lambda c: c["platt"].pop("slope"), r"damaged \(KeyError"),
        (lambda c: c["platt"].update(slope="steep"), r"damaged \(ValueError"),
        (lambda c: c["temperature"].update(temperature=float("nan")), "not finite"),
        (lambda c: c["isotonic"]["scores"].reverse(), "does not rise"),
        (lambda c: c["isotonic"]["scores"].pop(), "does not rise"),
        (lambda c: c.update(n_pos=0, n_neg=0), "damaged"),
    ],
)
def test_damaged_files_are_refused(change: object, said: str, tmp_path: Path) -> None:
    path = tmp_path / "calibration.json"
    Calibration.fit(SCORES, LABELS).write(path)
    content = json.loads(path.read_text())
    assert callable(change)
    change(content)
    path.write_text(json.dumps(content))
    with pytest.raises(InputError, match=said):
        Calibration.read(path)


def test_half_a_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "calibration.json"
    with pytest.raises(InputError, match="cannot be read"):
        Calibration.read(path)
    Calibration.fit(SCORES, LABELS).write(path)
    path.write_text(path.read_text()[:100])
    with pytest.raises(InputError, match="damaged"):
        Calibration.read(path)
