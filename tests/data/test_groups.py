"""Groups stay on one side of a split, and the parts are as they should be otherwise."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas  # type: ignore[import-untyped]
import pytest
import torch
from catalogue.sentences import check_said
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from pauc_lightning.cli import main as pauc
from pauc_lightning.data import LongTailDataModule, Source, TabularLT, split_long_tail
from pauc_lightning.data.groups import _Plan, divide_groups, equal_rows, joined, numbered
from pauc_lightning.data.longtail import Split
from pauc_lightning.errors import InputError

FRACTIONS = (0.7, 0.15, 0.15)


def parts_of(split: Split) -> list[NDArray[np.int64]]:
    return [part for _, part in split.items()]


# ------------------------------------------------------------------ the division itself


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 12), st.integers(0, 3)), min_size=1, max_size=120),
    st.integers(0, 3),
    st.sampled_from([None, 0.3, 1.0]),
)
def test_every_kept_sample_is_in_one_part_and_no_group_in_two(
    samples: list[tuple[int, int]], seed: int, ratio: float | None
) -> None:
    groups, labels = (np.array(column) for column in zip(*samples, strict=True))
    split = split_long_tail(labels, ratio, seed, groups)
    together = np.concatenate(parts_of(split))
    plain = np.concatenate(parts_of(split_long_tail(labels, ratio, seed)))
    assert sorted(together) == sorted(plain)  # groups do not decide which samples are kept
    places = [set(groups[part].tolist()) for part in parts_of(split)]
    assert not places[0] & places[1]
    assert not places[0] & places[2]
    assert not places[1] & places[2]
    assert all((np.diff(part) > 0).all() for part in parts_of(split))
    again = split_long_tail(labels, ratio, seed, groups + 100)  # names of groups do not matter
    assert all(map(np.array_equal, parts_of(split), parts_of(again)))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("kind", ["one class per group", "mixed"])
def test_each_class_is_divided_as_it_should_be(kind: str, seed: int) -> None:
    random = np.random.default_rng(seed)
    sizes = random.integers(1, 16, 600)
    groups = random.permutation(np.repeat(np.arange(600), sizes))
    share = random.random(600) ** 4  # some patients have many positives
    labels = (
        (np.arange(600) % 10 == 0)[groups]
        if kind == "one class per group"
        else random.random(len(groups)) < share[groups]
    ).astype(np.int64)
    parts = parts_of(split_long_tail(labels, None, seed, groups))
    for label in (0, 1):
        n = (labels == label).sum()
        found = [(labels[part] == label).sum() / n for part in parts]
        assert found == pytest.approx(FRACTIONS, abs=0.01)


def test_groups_of_one_change_nothing() -> None:
    labels = np.random.default_rng(0).integers(0, 3, 500)
    plain = split_long_tail(labels, 0.5, 7)
    grouped = split_long_tail(labels, 0.5, 7, np.arange(500)[::-1].copy())
    assert all(map(np.array_equal, parts_of(plain), parts_of(grouped)))


def test_a_split_without_groups_is_the_one_that_it_always_was() -> None:
    """Written down before there were groups."""
    split = split_long_tail(np.arange(40) % 3, 0.5, 11)
    assert split.val.tolist() == [3, 5, 6, 25]
    assert split.test.tolist() == [2, 10, 15, 19, 27, 30, 38]


def test_seeds_give_different_splits_of_few_groups() -> None:
    random = np.random.default_rng(0)
    groups = np.repeat(np.arange(14), random.integers(20, 60, 14))
    labels = (random.random(len(groups)) < 0.2).astype(np.int64)
    tests = {tuple(np.unique(groups[split_long_tail(labels, None, seed, groups).test])) for seed in range(12)}
    assert len(tests) >= 8


def deviation(labels: NDArray[np.int64], part_of: NDArray[np.int64]) -> float:
    totals = np.bincount(labels)
    return sum(
        float(
            (
                (np.bincount(labels[part_of == part], minlength=len(totals)) - share * totals) ** 2
                / (share * totals)
            ).sum()
        )
        for part, share in enumerate(FRACTIONS)
    )


def test_few_groups_are_divided_nearly_as_well_as_possible() -> None:
    """Against all 3⁸ divisions: better than 99 % of them on average."""
    ranks = []
    for seed in range(6):
        random = np.random.default_rng(seed)
        groups = np.repeat(np.arange(8), random.integers(5, 40, 8))
        labels = (random.random(len(groups)) < 0.3).astype(np.int64)
        ours = deviation(labels, divide_groups(labels, groups, FRACTIONS, seed))
        every = [deviation(labels, np.array(parts)[groups]) for parts in product(range(3), repeat=8)]
        ranks.append(np.mean([other < ours - 1e-9 for other in every]))
    assert np.mean(ranks) < 0.01


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.lists(st.integers(1, 12), min_size=3, max_size=6), min_size=1, max_size=3), st.integers(0, 9)
)
def test_three_groups_of_a_class_are_enough(classes: list[list[int]], seed: int) -> None:
    """The lists hold the sizes of the groups of each class."""
    sizes = [(k, n) for k, of_class in enumerate(classes) for n in of_class]
    labels = np.concatenate([np.full(n, k) for k, n in sizes])
    groups = np.concatenate([np.full(n, number) for number, (_, n) in enumerate(sizes)])
    part_of = divide_groups(labels, groups, FRACTIONS, seed)
    for k in range(len(classes)):
        assert set(part_of[labels == k]) == {0, 1, 2}


def test_a_group_that_moves_leaves_nothing_behind() -> None:
    plans = [
        _Plan([[(0, 4), (1, 2)], [(0, 6)], [(1, 5)]], [[7.0, 5.0], [1.5, 1.0], [1.5, 1.0]]) for _ in "ab"
    ]
    plans[0].put(0, 2)
    plans[0].put(0, 0)
    plans[1].put(0, 0)
    costs = [[plan.cost(group, part) for group in (1, 2) for part in range(3)] for plan in plans]
    assert costs[0] == costs[1]


def test_which_rows_are_equal() -> None:
    rows = torch.tensor([[1.0, float("nan")], [2.0, 0.0], [1.0, float("nan")], [2.0, -0.0], [1.0, 2.0]])
    assert equal_rows(rows).tolist() == [0, 1, 0, 1, 2]
    assert numbered(["x", "y", "x"]).tolist() == [0, 1, 0]


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), min_size=1, max_size=25))
def test_joined_groups_are_the_connected_components(pairs: list[tuple[int, int]]) -> None:
    """Against the repeated merging of sets."""
    first, second = (numbered(list(column)) for column in zip(*pairs, strict=True))
    sets = [{i} for i in range(len(pairs))]
    for i, j in product(range(len(pairs)), repeat=2):
        if first[i] == first[j] or second[i] == second[j]:
            one, other = (next(members for members in sets if k in members) for k in (i, j))
            if one is not other:
                sets.remove(other)
                one |= other
    found = joined(first, second)
    assert {frozenset(np.flatnonzero(found == k).tolist()) for k in set(found.tolist())} == set(
        map(frozenset, sets)
    )


# ------------------------------------------------------------------ tables


def write_visits(path: Path, n_patients: int = 60, copies: int = 0) -> pandas.DataFrame:
    """Several visits of each patient, written so that 07 and 7 are two patients."""
    random = np.random.default_rng(0)
    names = [f"{i:02d}" if i % 2 else str(i) for i in range(n_patients)]
    patients = np.repeat(np.arange(n_patients), random.integers(1, 9, n_patients))
    table = pandas.DataFrame(
        {
            "patient": [names[i] for i in patients],
            "a": random.normal(size=len(patients)),
            "b": random.normal(size=len(patients)),
            "sick": (random.random(len(patients)) < 0.3).astype(int),
        }
    ).sample(frac=1, random_state=0)
    table = pandas.concat([table, table.iloc[:copies].assign(patient="copy")], ignore_index=True)
    table.to_csv(path, index=False)
    return table


def visits(path: Path, **options: Any) -> TabularLT:
    return TabularLT(str(path), "sick", group_column="patient", batch_size=32, **options)


def test_a_patient_is_in_one_part_and_no_input(tmp_path: Path) -> None:
    table = write_visits(tmp_path / "visits.csv")
    data = visits(tmp_path / "visits.csv", id_column="patient")
    assert data.column_names == ["a", "b"]
    places = [set(table.patient[part]) for part in parts_of(data.split)]
    assert sum(map(len, places)) == table.patient.nunique() == 60
    for part, share in zip(parts_of(data.split), FRACTIONS, strict=True):
        assert data.targets[part].sum() / table.sick.sum() == pytest.approx(share, abs=0.02)
    assert data.prediction_columns(np.arange(2))["patient"] == table.patient[data.split.test[:2]].tolist()


def test_equal_rows_are_kept_together_on_request(tmp_path: Path) -> None:
    table = write_visits(tmp_path / "visits.csv", copies=40)
    key = table.a.to_numpy()

    def n_shared(data: TabularLT) -> int:
        split = data.split
        return len(np.intersect1d(key[split.train], key[np.concatenate([split.val, split.test])]))

    path = str(tmp_path / "visits.csv")
    options: Any = {"ignore": ["patient"], "batch_size": 32}
    assert n_shared(TabularLT(path, "sick", **options)) > 0
    assert n_shared(TabularLT(path, "sick", duplicates="together", **options)) == 0
    both = visits(
        tmp_path / "visits.csv", duplicates="together"
    )  # the copies join many patients into one group
    assert n_shared(both) == 0
    places = [set(table.patient[part]) for part in parts_of(both.split)]
    assert sum(map(len, places)) == table.patient.nunique()
    assert "copy" in places[0]


def test_new_data_need_no_groups(tmp_path: Path) -> None:
    table = write_visits(tmp_path / "visits.csv")
    data = visits(tmp_path / "visits.csv")
    table.drop(columns="patient").to_csv(tmp_path / "new.csv", index=False)
    torch.testing.assert_close(
        data.load_new(tmp_path / "new.csv").inputs[:], data.load_new(tmp_path / "visits.csv").inputs[:]
    )


def test_what_pauc_data_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "visits.csv"
    table = write_visits(path, copies=10)
    arguments = ["data", "-c", "tabular", f"--data.path={path}", "--data.label=sick"]
    pauc([*arguments, "--data.ignore=[patient]"])
    said = " ".join(capsys.readouterr().out.split())
    assert (
        f"20 of {len(table)} rows have the same inputs as another one; the most frequent inputs are those of 2"
        in said
    )
    assert "Groups" not in said
    pauc([*arguments, "--data.group_column=patient", "--data.duplicates=together"])
    said = " ".join(capsys.readouterr().out.split())
    assert "Groups: " in said
    assert "Those with the same inputs are in the same part" in said
    write_visits(path)
    pauc([*arguments, "--data.group_column=patient"])
    said = " ".join(capsys.readouterr().out.split())
    largest = table.patient[:-10].value_counts().max()
    assert f"Groups: 60, the largest of {largest} samples" in said
    assert "no two rows have the same inputs" in said


def test_every_process_makes_the_same_split(tmp_path: Path) -> None:
    """Also one whose hashes of text are other ones."""
    write_visits(tmp_path / "visits.csv", copies=5)
    options = (
        "--data.path=visits.csv --data.label=sick --data.group_column=patient --data.duplicates=together"
    )
    command = f"-m pauc_lightning data -c tabular {options} --export=split.json"
    places = os.pathsep.join(filter(None, sys.path))
    subprocess.run(
        [sys.executable, *command.split()],
        cwd=tmp_path,
        env={**os.environ, "PYTHONHASHSEED": "3", "PYTHONPATH": places},
        check=True,
        capture_output=True,
    )
    exported = json.loads((tmp_path / "split.json").read_text())
    here = visits(tmp_path / "visits.csv", duplicates="together").split
    assert [exported["train"], exported["val"], exported["test"]] == [
        part.tolist() for part in parts_of(here)
    ]


def test_a_split_file_that_divides_groups_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "visits.csv"
    write_visits(path)
    TabularLT(str(path), "sick", ignore=["patient"], batch_size=32).export_split(str(tmp_path / "rows.json"))
    with pytest.raises(
        InputError, match=r"`split_file` has samples of \d+ groups both in the train and in the val"
    ):
        visits(path, split_file=str(tmp_path / "rows.json")).split  # noqa: B018
    visits(path, seed=4).export_split(str(tmp_path / "groups.json"))
    again = visits(path, split_file=str(tmp_path / "groups.json"))
    assert all(map(np.array_equal, parts_of(again.split), parts_of(visits(path, seed=4).split)))


def test_other_groups_than_in_training_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["pauc"])
    write_visits(Path("visits.csv"))
    data = (
        "-c tabular --data.path=visits.csv --data.label=sick --data.batch_size=64 --data.group_column=patient"
    )
    short = "--trainer.max_epochs=1 --trainer.accelerator=cpu --trainer.enable_progress_bar=false"
    pauc(f"fit -c ce {data} {short} --figures.every_n_epochs=0 --model.max_fpr=0.5".split())
    run = "runs/TabularLT-CE/version_0"
    pauc(["test", run])
    capsys.readouterr()
    for command in (["test", run], ["resume", run, "--trainer.max_epochs=2"]):
        with pytest.raises(SystemExit):
            pauc([*command, "--data.group_column=null", "--data.ignore=[patient]"])
        check_said(capsys.readouterr().err, ["parts"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"group_column": "sick"}, "`group_column` names 'sick', which is the label"),
        ({"group_column": "patent"}, r"`group_column` names columns \['patent'\] that .* does not have"),
        ({"categorical": ["patient"]}, "`categorical` names 'patient', which is the `group_column`"),
        ({"duplicates": "keep"}, "`duplicates` must be one of ignore, together, got 'keep'"),
    ],
)
def test_mistakes_are_explained(options: dict[str, Any], message: str, tmp_path: Path) -> None:
    write_visits(tmp_path / "visits.csv")
    with pytest.raises(InputError, match=message):
        TabularLT(str(tmp_path / "visits.csv"), "sick", **{"group_column": "patient", **options}).split  # noqa: B018


def test_a_missing_group_is_not_a_group(tmp_path: Path) -> None:
    table = write_visits(tmp_path / "visits.csv")
    table.loc[3:5, "patient"] = None
    table.to_csv(tmp_path / "visits.csv", index=False)
    with pytest.raises(InputError, match=r"`group_column=patient` is missing in 3 of \d+ rows"):
        visits(tmp_path / "visits.csv").split  # noqa: B018


def test_too_few_groups_are_named(tmp_path: Path) -> None:
    table = write_visits(tmp_path / "visits.csv")
    table["sick"] = table.patient.isin(["01", "03"]).astype(int)
    table.to_csv(tmp_path / "visits.csv", index=False)
    with pytest.raises(
        InputError, match=r"no positives .* all \d+ positives are in 2 groups .* finer `group_col"
    ):
        visits(tmp_path / "visits.csv").split  # noqa: B018


# ------------------------------------------------------------------ data modules of your own


class Days(LongTailDataModule):
    def load_source(self) -> Source:
        labels = np.arange(400) % 4 // 3
        return Source(torch.randn(400, 2), labels, groups=np.arange(400) // 10)


def test_groups_of_a_data_module_of_your_own() -> None:
    days = Days(positive_classes=[1])
    places = [set((part // 10).tolist()) for part in parts_of(days.split)]
    assert [len(place) for place in places] == [28, 6, 6]
    assert sum(map(len, places)) == 40
    assert days.notes() == [
        "Groups: 40, the largest of 10 samples. Each is in one part, and the parts are as near to 0.7, 0.15 and 0.15 "
        "of each class as this allows."
    ]
