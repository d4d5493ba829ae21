"""Tables for trees: what is read, and that a split leaks nothing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from pauc_lightning.errors import InputError
from pauc_lightning.experiments.trees.tables import Table, load_table, made_up_table


def test_numbers_categories_and_missing_values(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text("age,job,label\n30,nurse,1\n,baker,0\n50,,0\n40,baker,1\n")
    table = load_table(path, "label")
    assert table.name == "people"
    assert table.target.tolist() == [1, 0, 0, 1]
    np.testing.assert_array_equal(table.inputs[:, 0], [30, np.nan, 50, 40])
    np.testing.assert_array_equal(table.inputs[:, 1], [1, 0, np.nan, 0])  # in alphabetical order


def test_equal_rows_are_on_one_side() -> None:
    random = np.random.default_rng(0)
    inputs = random.integers(0, 3, (3000, 5)).astype(np.float32)  # at most 243 different rows
    inputs[0, 0], inputs[1, 0] = 0.0, -0.0
    table = Table("t", inputs, (random.random(3000) < 0.3).astype(np.int64))
    parts = table.split(seed=1, train_rows=None)
    rows = [set(map(tuple, (part.inputs + 0.0).tolist())) for part in parts]
    assert not rows[0] & rows[1]
    assert not rows[0] & rows[2]
    assert not rows[1] & rows[2]
    assert sum(len(part.target) for part in parts) == 3000


def test_shares_and_seeds() -> None:
    table = made_up_table(4000)
    parts = table.split(seed=0, train_rows=None)
    n_pos = table.target.sum()
    for part, share in zip(parts, (0.7, 0.15, 0.15), strict=True):
        assert len(part.target) == pytest.approx(share * 4000, abs=3)
        assert part.target.sum() == pytest.approx(share * n_pos, abs=2)
    again, other = table.split(0, None), table.split(1, None)
    np.testing.assert_array_equal(parts.test.inputs, again.test.inputs)
    assert not np.array_equal(parts.test.inputs, other.test.inputs)
    fewer = table.split(0, 500)
    assert len(fewer.train.target) == 500
    np.testing.assert_array_equal(fewer.test.inputs, parts.test.inputs)
    np.testing.assert_array_equal(fewer.train.inputs, parts.train.inputs[:500])


def test_a_large_group_with_a_positive_does_not_take_all_positives_away() -> None:
    inputs = np.arange(1000, dtype=np.float32)[:, None]
    inputs[:400] = -1
    target = np.zeros(1000, dtype=np.int64)
    target[[0, *range(500, 540)]] = 1
    for seed in range(5):
        parts = Table("t", inputs, target).split(seed, None)
        assert min(int(part.target.sum()) for part in parts) >= 5


def test_the_fingerprint_knows_every_value() -> None:
    table = made_up_table(100)
    turned = Table("t", table.inputs, 1 - table.target)
    moved = Table("t", table.inputs + 1, table.target)
    assert len({table.fingerprint, turned.fingerprint, moved.fingerprint}) == 3
    assert table.fingerprint == made_up_table(100).fingerprint


def test_mistakes(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("x,label\n1,0\n2,1\n3,2\n")
    with pytest.raises(InputError, match="has the values 0, 1, 2: it must have 0 and 1"):
        load_table(path, "label")
    with pytest.raises(InputError, match="`--label y` is not a column"):
        load_table(path, "y")
    with pytest.raises(InputError, match="no such file"):
        load_table(tmp_path / "none.csv", "label")
    only = tmp_path / "only.csv"
    only.write_text("label\n0\n1\n")
    with pytest.raises(InputError, match="no columns besides"):
        load_table(only, "label")
    few = Table("few", np.arange(20, dtype=np.float32)[:, None], (np.arange(20) == 3).astype(np.int64))
    with pytest.raises(InputError, match=r"part of few .* lacks a class"):
        few.split(0, None)
