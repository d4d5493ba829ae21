"""Which samples are held out."""

from __future__ import annotations

import numpy as np
import pytest

from pauc_lightning.region import Region
from pauc_lightning.sklearn.holdout import hold_out


def random() -> np.random.RandomState:
    return np.random.RandomState(0)


@pytest.mark.parametrize("with_threshold", [False, True])
def test_every_sample_has_one_place_and_classes_keep_their_shares(with_threshold: bool) -> None:
    target = np.arange(1000) % 10 == 0
    split = hold_out(target, 0.2, Region(0.3), random(), with_threshold=with_threshold)
    np.testing.assert_array_equal(np.sort(np.concatenate(split)), np.arange(1000))
    assert (target[split.validation].sum(), (~target[split.validation]).sum()) == (20, 180)
    assert (target[split.threshold].sum(), (~target[split.threshold]).sum()) == (0, 180 * with_threshold)
    assert not np.array_equal(split.validation, np.arange(200))  # not the first ones


@pytest.mark.parametrize(
    ("n_pos", "n_neg", "region", "is_enough"),
    [
        (20, 100, Region(0.1), True),  # 10 negatives, one of them in the region
        (20, 80, Region(0.1), False),  # 8 negatives, none of them in the region
        (20, 100, Region(0.1, 0.5), True),  # two positives, one of them in the region
        (10, 100, Region(0.1, 0.5), False),
        (3, 100, Region(0.1), False),
    ],
)
def test_nothing_is_held_out_for_a_region_without_samples(
    n_pos: int, n_neg: int, region: Region, is_enough: bool
) -> None:
    target = np.arange(n_pos + n_neg) < n_pos
    split = hold_out(target, 0.1, region, random(), with_threshold=False)
    assert (len(split.validation) > 0) == is_enough
