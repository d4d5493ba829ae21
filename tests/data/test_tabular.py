"""Tables written by the test, against standardisation by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import pytest
import torch

from pauc_lightning.data import TabularLT
from pauc_lightning.data_command import main
from pauc_lightning.errors import InputError

N = 200


def table() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "id": [f"row-{i}" for i in range(N)],
            "age": rng.normal(40, 12, N).round(1),
            "moment": 1_700_000_000 + np.arange(N),
            "smoker": rng.random(N) < 0.3,
            "city": rng.choice(["Rome", "Oslo"], N),
            "ward": rng.integers(1, 4, N),
            "sick": np.arange(N) % 4 == 0,
        }
    )


def write(folder: Path, frame: pd.DataFrame, kind: str = "csv") -> str:
    path = folder / f"table.{kind}"
    if kind == "parquet":
        frame.to_parquet(path)
    else:
        frame.to_csv(path, index=False, sep="\t" if kind.startswith("tsv") else ",")
    return str(path)


def module(path: str, **kwargs: Any) -> TabularLT:
    return TabularLT(**{"path": path, "label": "sick", "ignore": ["id"], "categorical": ["ward"], **kwargs})


@pytest.mark.parametrize("kind", ["csv", "csv.gz", "tsv", "parquet"])
def test_inputs_are_standardised_with_the_training_part_only(tmp_path: Path, kind: str) -> None:
    frame = table()
    data = module(write(tmp_path, frame, kind))
    inputs = data.eval_transform(data.source.inputs[:])
    assert data.column_names == [
        "age",
        "moment",
        "smoker",
        "city=Oslo",
        "city=Rome",
        "ward=1",
        "ward=2",
        "ward=3",
    ]
    assert inputs.dtype == torch.float32
    assert data.input_shape == (8,)
    assert np.array_equal(data.targets, frame["sick"].to_numpy().astype(int))
    train = frame.iloc[data.split.train]
    for column, name in enumerate(["age", "moment", "smoker"]):
        ours = inputs[:, column].double().numpy()
        values = frame[name].to_numpy(dtype=np.float64)
        expected = (values - train[name].mean()) / train[name].std(ddof=0)
        # float32 cannot tell the moments apart as they are written; standardised it must.
        np.testing.assert_allclose(ours, expected, atol=1e-5)
    for column, (name, value) in enumerate(
        [("city", "Oslo"), ("city", "Rome"), ("ward", 1), ("ward", 2), ("ward", 3)]
    ):
        assert np.array_equal(inputs[:, 3 + column].numpy(), (frame[name] == value).to_numpy())


def test_a_category_that_training_never_saw_is_no_category(tmp_path: Path) -> None:
    frame = table()
    first = module(write(tmp_path, frame))
    frame.loc[first.split.test[0], "city"] = "Bonn"
    frame["constant"] = 5.0
    frame.loc[first.split.test[1], "constant"] = 1e6
    data = module(write(tmp_path, frame))
    assert np.array_equal(data.split.train, first.split.train)
    inputs = data.eval_transform(data.source.inputs[:])
    cities = [i for i, name in enumerate(data.column_names) if name.startswith("city")]
    assert len(cities) == 3
    assert inputs[data.split.test[0], cities].tolist() == [0, 0, 0]
    # A number that never changed in training must not explode when it changes.
    assert (inputs[:, data.column_names.index("constant")] == 0).all()


def test_missing_values_are_named_or_imputed(tmp_path: Path) -> None:
    frame = table()
    first = module(write(tmp_path, frame))
    chosen = [int(first.split.train[0]), int(first.split.test[0])]
    frame.loc[chosen, "age"] = np.nan
    frame.loc[chosen[:1], "city"] = None
    path = write(tmp_path, frame)
    with pytest.raises(
        InputError, match=r"of 200 rows .* columns age \(2\), city \(1\): .*`missing: impute`"
    ):
        module(path).source  # noqa: B018  # reads the file
    data = module(path, missing="impute")
    inputs = data.eval_transform(data.source.inputs[:])
    assert torch.isfinite(inputs).all()
    assert inputs[chosen, 0].tolist() == [0, 0]
    assert inputs[chosen[0], 3:5].tolist() == [0, 0]
    train = frame["age"].iloc[data.split.train].dropna()
    other = int(data.split.val[0])
    assert float(inputs[other, 0]) == pytest.approx((frame["age"][other] - train.mean()) / train.std(ddof=0))
    assert len(module(path, ignore=["id", "age", "city"]).source.labels) == N
    frame["sick"] = frame["sick"].astype(object)
    frame.loc[0, "sick"] = None
    with pytest.raises(InputError, match="label 'sick' is missing in 1 of 200 rows"):
        module(write(tmp_path, frame), missing="impute").source  # noqa: B018


@pytest.mark.parametrize(
    ("values", "positive", "expected"),
    [
        ([0, 1], None, 1),
        ([False, True], None, 1),
        ([0.0, 1.0], None, 1),
        ([False, True], [False], 0),
        (["healthy", "sick"], ["sick"], "sick"),
        ([3, 7], [7], 7),
        ([3, 7], ["7"], 7),
        ([3, 7], [7.0], 7),
        ([1, 2, 3, 4], [2, 4], (2, 4)),
    ],
)
def test_labels(tmp_path: Path, values: list[Any], positive: Any, expected: Any) -> None:
    frame = table()
    frame["sick"] = [values[i % len(values)] for i in range(N)]
    data = module(write(tmp_path, frame), positive_values=positive)
    wanted = expected if isinstance(expected, tuple) else (expected,)
    assert data.targets.tolist() == [int(value in wanted) for value in frame["sick"]]


def test_mistakes_are_explained(tmp_path: Path) -> None:
    frame = table()
    path = write(tmp_path, frame)
    for change, message in (
        ({"label": "sik"}, r"`label` names columns \['sik'\].* it has id, age, moment"),
        ({"ignore": ["ID"]}, r"`ignore` names columns \['ID'\]"),
        ({"categorical": ["x"]}, r"`categorical` names columns \['x'\]"),
        ({"label": "ward", "categorical": []}, "`positive_values` is needed"),
        ({"positive_values": ["yes"]}, r"`positive_values` has \['yes'\].*choose from False, True"),
    ):
        with pytest.raises(InputError, match=message):
            module(path, **change).targets  # noqa: B018
    (tmp_path / "table.xlsx").write_text("")
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "broken.parquet").write_text("no table")
    for name, message in (
        ("none.csv", "no such file"),
        ("table.xlsx", "must end in"),
        ("empty.csv", "cannot be read"),
        ("broken.parquet", "cannot be read"),
    ):
        with pytest.raises(InputError, match=message):
            module(str(tmp_path / name)).source  # noqa: B018
    with pytest.raises(InputError, match="`missing` must be"):
        module(path, missing="drop")


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ([f"name {i}" for i in range(N)], "has 200 categories, more than 100"),
        (pd.date_range("2020-01-01", periods=N), "has the type datetime64.*neither a number nor a category"),
        ([*range(N - 1), np.inf], "infinite values"),
    ],
)
def test_columns_that_are_no_inputs(
    tmp_path: Path, column: Any, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pauc_lightning.data.tabular._MOST_CATEGORIES", 100)
    path = write(tmp_path, table().assign(extra=column), "parquet")
    with pytest.raises(InputError, match=f"column 'extra'.*{message}"):
        module(path).source  # noqa: B018
    assert "extra" not in module(path, ignore=["id", "extra"]).source.class_names


def test_from_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path, table().drop(columns="id"))
    config = Path(__file__).parents[2] / "configs/data/tabular.yaml"
    options = ["--data.init_args.path", path, "--data.init_args.label=sick"]
    main(["-c", str(config), *options, "--data.init_args.positive_values=[false]"])
    assert "TabularLT; positive: False (0)" in capsys.readouterr().out
