"""Two runs compared sample by sample: the paired interval of the functions, or none where samples differ."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from pauc_lightning.errors import InputError
from pauc_lightning.experiments.cells import Run
from pauc_lightning.experiments.paired import PairedTests
from pauc_lightning.metrics.functional import partial_auc_difference
from pauc_lightning.region import Region
from pauc_lightning.run_files import TEST_SCORES, SavedScores, write_scores

REGION = Region(0.2)
CE, OTHER = (Run(method, REGION, 0) for method in ("ce", "other"))


def scores(seed: int, n: int = 400, index: bool = True) -> SavedScores:
    label = (np.arange(n) % 5 == 0).astype(np.int8)
    noise = np.random.default_rng(seed).normal(size=n)
    return SavedScores(noise + 1.5 * label, label, np.arange(n) if index else None)


def compared(folder: Path, one: SavedScores | None, two: SavedScores | None) -> PairedTests:
    for run, found in ((OTHER, one), (CE, two)):
        (folder / run.method).mkdir()
        if found is not None:
            write_scores(folder / run.method / TEST_SCORES, found)
    return PairedTests({run: folder / run.method for run in (CE, OTHER)})


@pytest.mark.parametrize("index", [True, False])
def test_the_interval_is_that_of_the_paired_difference(tmp_path: Path, index: bool) -> None:
    one, two = scores(1, index=index), scores(2, index=index)
    tests = compared(tmp_path, one, two)
    found = tests(OTHER, CE)
    expected = partial_auc_difference(one.score, two.score, one.label, 0.2)
    assert found is not None
    assert (found.low, found.high) == (expected.low, expected.high)
    (tmp_path / "ce" / TEST_SCORES).unlink()
    assert tests(OTHER, CE) is found  # compared once


@pytest.mark.parametrize(
    "other",
    [
        None,  # a run of an earlier version
        scores(2, n=390),
        SavedScores(scores(2).score, 1 - scores(2).label, np.arange(400)),
        SavedScores(scores(2).score, scores(2).label, np.arange(400) + 1),
        scores(2, index=False),
    ],
)
def test_other_samples_have_no_paired_interval(tmp_path: Path, other: SavedScores | None) -> None:
    assert compared(tmp_path, scores(1), other)(OTHER, CE) is None


def test_a_difference_without_a_variance_has_no_interval_unless_both_are_the_same_model(
    tmp_path: Path,
) -> None:
    label = scores(1).label
    best, worst = (SavedScores(sign * label.astype(float), label, np.arange(400)) for sign in (1, -1))
    for name, other in (("other", worst), ("same", best)):
        (tmp_path / name).mkdir()
        found = compared(tmp_path / name, best, other)(OTHER, CE)
        assert (found is None) == (name == "other")
        assert found is None or (found.low, found.high) == (0, 0)


def test_a_damaged_file_is_said(tmp_path: Path) -> None:
    tests = compared(tmp_path, scores(1), scores(2))
    (tmp_path / "ce" / TEST_SCORES).write_bytes(b"PK")
    with pytest.raises(
        InputError, match=r"test_scores.npz is damaged: delete .*/ce, and its run is repeated"
    ):
        tests(OTHER, CE)
