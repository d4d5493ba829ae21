"""Tables written by the test, against standardisation by hand."""

from __future__ import annotations

import gzip
import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import pytest
import torch
from jsonargparse import ArgumentParser
from torch.utils._python_dispatch import TorchDispatchMode

from pauc_lightning.cli.data import main
from pauc_lightning.data import TabularLT, table_encoding
from pauc_lightning.data.preprocessing import save_preprocessing
from pauc_lightning.data.table_encoding import TableEncoding
from pauc_lightning.data.table_reader import read_table
from pauc_lightning.data.table_state import TableState, standardisation
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


class LargestTensor(TorchDispatchMode):
    """Notes the bytes of the largest tensor that an operation makes."""

    n_bytes = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        views = {arg.untyped_storage().data_ptr() for arg in args if isinstance(arg, torch.Tensor)}
        for tensor in result if isinstance(result, (list, tuple)) else [result]:
            if isinstance(tensor, torch.Tensor) and tensor.untyped_storage().data_ptr() not in views:
                self.n_bytes = max(self.n_bytes, tensor.untyped_storage().nbytes())
        return result


def test_standardising_makes_no_copy_of_the_table() -> None:
    generator = torch.Generator().manual_seed(0)
    inputs = torch.randn(40_000, 120, generator=generator) * 3 + 1
    inputs[:, 60:] = (inputs[:, 60:] > 2).float()
    inputs[::7, 5] = torch.nan
    inputs[:, 9], inputs[:, 70] = 4.0, 1.0  # constant
    is_category = np.arange(120) >= 60
    train = torch.arange(0, 40_000, 2)
    rows = inputs[train].double().numpy()
    with LargestTensor() as watched:  # type: ignore[no-untyped-call]
        subtract, multiply = standardisation(inputs, train, is_category)
        state = TableState(TableEncoding((), "impute"), subtract, multiply, "", (), (), None)
        standardised = state.standardise_(inputs)
    assert standardised is inputs
    assert inputs.nbytes == 19_200_000
    assert watched.n_bytes <= 8 * 2**20 + 8 * 120  # a chunk in float64, not the 38 MB of the whole
    mean, std = np.nanmean(rows, 0), np.nanstd(rows, 0)
    std[[9, 70]] = np.inf
    mean[is_category], std[is_category & np.isfinite(std)] = 0, 1
    np.testing.assert_allclose(subtract.numpy(), mean, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(multiply.numpy(), 1 / std, rtol=1e-6)
    expected = np.nan_to_num((rows - mean) / std)
    np.testing.assert_allclose(inputs[train].numpy(), expected, atol=1e-5)


@pytest.mark.parametrize("kind", ["csv", "csv.gz", "tsv", "parquet"])
def test_inputs_are_standardised_with_the_training_part_only(tmp_path: Path, kind: str) -> None:
    frame = table()
    data = module(write(tmp_path, frame, kind))
    inputs = data.inputs[:]
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
    inputs = data.inputs[:]
    cities = [i for i, name in enumerate(data.column_names) if name.startswith("city")]
    assert len(cities) == 3
    assert inputs[data.split.test[0], cities].tolist() == [0, 0, 0]
    # A number that never changed in training must not explode when it changes.
    assert (inputs[:, data.column_names.index("constant")] == 0).all()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a,b,c\n1,2,3\n4,5,\n", ""),  # an empty value is there
        ("a,b,c\n1,2,3\n\n4,5\n", "line 4 has 2 of 3 values; the others count as missing."),
        ("a,b,c\n1\n4,5\n1,2,3", "2 lines have fewer values than the header, such as line 2 with 1 of 3;"),
        ('a,b,c\n"1, 2\n",3,\n4,5\n', "line 4 has 2 of 3 values"),
        ('"a",b,c\n"x,y,z"\n', "line 2 has 1 of 3 values"),
        ("a,b,c\n1,2,3\n4,5", "cut off: it ends within line 3, which has 2 of 3 values"),
        ('a,b,c\n"1",2,3\n4,5', "cut off: it ends within line 3, which has 2 of 3 values"),
    ],
)
@pytest.mark.parametrize("ending", ["csv", "csv.gz"])
def test_rows_with_too_few_values_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, said: str, ending: str
) -> None:
    path = tmp_path / f"t.{ending}"
    path.write_bytes(gzip.compress(text.encode()) if ending.endswith("gz") else text.encode())
    heard: list[str] = []
    monkeypatch.setattr("lightning.pytorch.utilities.rank_zero_info", heard.append)
    try:
        read_table("path", path)
    except InputError as error:
        heard.append(str(error))
    assert len(heard) == bool(said)
    assert said in "".join(heard)


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
    inputs = data.inputs[:]
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
        ("empty.csv", "is empty: give a file with a header and rows"),
        ("broken.parquet", "cannot be read"),
    ):
        with pytest.raises(InputError, match=message):
            module(str(tmp_path / name)).source  # noqa: B018
    with pytest.raises(InputError, match="`missing` must be"):
        module(path, missing="drop")


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ([f"name {i}" for i in range(N)], "has 200 different texts in 200 rows.*`ignore`.*`id_column`"),
        ([f"{i % 190}" for i in range(N)], "has 190 different texts"),
        (pd.date_range("2020-01-01", periods=N), "has the type datetime64.*neither a number nor a category"),
        ([*range(N - 1), np.inf], "values in 1 rows that are infinite"),
        ([*range(N - 1), 1e300], r"infinite or beyond 1e\+38"),
    ],
)
def test_columns_that_are_no_inputs(
    tmp_path: Path, column: Any, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pauc_lightning.data.table_encoding._MOST_CATEGORIES", 100)
    path = write(tmp_path, table().assign(extra=column), "parquet")
    with pytest.raises(InputError, match=f"column 'extra'.*{message}"):
        module(path).source  # noqa: B018
    assert "extra" not in module(path, ignore=["id", "extra"]).source.class_names


def test_categories_that_the_user_calls_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path, table())
    assert module(path, ignore=[], categorical=["id", "ward"]).input_shape == (3 + 2 + 3 + N,)
    monkeypatch.setattr("pauc_lightning.data.table_encoding._MOST_CATEGORIES", 100)
    with pytest.raises(InputError, match=r"column 'id'.* has 200 categories, more than 100: merge"):
        module(path, ignore=[], categorical=["id"]).source  # noqa: B018


def test_a_number_that_is_written_differently_is_the_same_category(tmp_path: Path) -> None:
    frame = table()
    frame["ward"] = frame["ward"].astype(float)
    assert module(write(tmp_path, frame)).column_names[-3:] == ["ward=1", "ward=2", "ward=3"]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (
            1,
            r"column 'age' of .* has numbers in 199 rows and 'unknown' in 1: .*`missing_values`.*`categorical`",
        ),
        (20, "has numbers in 180 rows and 'unknown' in 20"),
        (90, "has numbers in 110 rows and 'unknown' in 90"),
    ],
)
def test_numbers_with_mistakes_are_no_categories(tmp_path: Path, wrong: int, message: str) -> None:
    frame = table()
    frame["age"] = frame["age"].astype(object)
    frame.loc[: wrong - 1, "age"] = "unknown"
    path = write(tmp_path, frame)
    with pytest.raises(InputError, match=message):
        module(path).source  # noqa: B018
    data = module(path, missing="impute", missing_values=["unknown", -999])
    inputs = data.inputs[:]
    assert data.input_shape == (8,)
    assert (inputs[:wrong, 0] == 0).all()
    train = frame["age"].iloc[data.split.train]
    known = train[train != "unknown"].astype(float)
    expected = (float(frame["age"][150]) - known.mean()) / known.std(ddof=0)
    assert float(inputs[150, 0]) == pytest.approx(expected, abs=1e-5)
    assert module(path, ignore=["id", "age"]).input_shape == (7,)
    with pytest.raises(InputError, match=rf"columns age \({wrong}\)"):
        module(path, missing_values="unknown").source  # noqa: B018


def test_a_number_may_stand_for_a_missing_one(tmp_path: Path) -> None:
    frame = table()
    frame.loc[:9, "age"] = -999
    data = module(write(tmp_path, frame), missing="impute", missing_values=[-999])
    inputs = data.inputs[:]
    assert (inputs[:10, 0] == 0).all()
    assert (inputs[10:, 0].abs() < 5).all()


def test_a_few_numbers_among_texts_are_categories(tmp_path: Path) -> None:
    frame = table().assign(children=["none", "1", "2", "3 or more"] * (N // 4))
    names = module(write(tmp_path, frame)).column_names
    assert [name for name in names if name.startswith("children")] == [
        "children=1",
        "children=2",
        "children=3 or more",
        "children=none",
    ]


@pytest.mark.parametrize(
    "values",
    [
        pd.array([True, False] * (N // 2), dtype="boolean"),
        pd.array([1, 0] * (N // 2), dtype="Int64"),
        pd.array([1.0, 0.0] * (N // 2), dtype="Float64"),
        [Decimal(1), Decimal(0)] * (N // 2),
        [2**62 + 2**60, 2**62] * (N // 2),
        [2**70 + 2**60, 2**70] * (N // 2),
    ],
    ids=["boolean", "Int64", "Float64", "decimal", "large", "huge"],
)
def test_every_kind_of_number_is_one(tmp_path: Path, values: Any) -> None:
    kind = "csv" if isinstance(values, list) and isinstance(values[0], int) else "parquet"
    data = module(write(tmp_path, table().assign(extra=values), kind))
    inputs = data.inputs[:][:, data.column_names.index("extra")].numpy()
    is_high = np.arange(N) % 2 == 0
    share = float(is_high[data.split.train].mean())
    expected = (is_high - share) / np.sqrt(share * (1 - share))
    np.testing.assert_allclose(inputs, expected, atol=1e-5)


@pytest.mark.parametrize(
    ("values", "positive", "expected"),
    [
        (["yes", "no"], "[yes]", "yes"),
        (["yes", "no"], "yes", "yes"),
        (["yes", "no"], "['no']", "no"),
        (["Yes", "No"], "[No]", "No"),
        (["on", "off"], "[off]", "off"),
        (["y", "n"], "[y]", "y"),
        (["true", "false"], "[true]", "true"),
        (["TRUE", "FALSE"], "[False]", "FALSE"),
        (["1", "0"], "['1.0']", "1"),
        (["1.0", "0.0"], "[1]", "1.0"),
        (["1", "0"], "[true]", "1"),
    ],
)
def test_labels_that_yaml_takes_for_truths(
    tmp_path: Path, values: list[str], positive: str, expected: str
) -> None:
    rows = [values[i % 3 > 0] for i in range(N)]
    (tmp_path / "table.csv").write_text("x,sick\n" + "".join(f"{i},{v}\n" for i, v in enumerate(rows)))
    config = tmp_path / "data.yaml"
    config.write_text(
        f"data:\n  class_path: TabularLT\n  init_args:\n    path: {tmp_path / 'table.csv'}\n    label: sick\n"
        f"    positive_values: {positive}\n"
    )
    for arguments in (
        ["-c", str(config)],
        [
            "--data=TabularLT",
            f"--data.init_args.path={tmp_path / 'table.csv'}",
            "--data.init_args.label=sick",
            f"--data.init_args.positive_values={positive}",
        ],
    ):
        parser = ArgumentParser()
        parser.add_argument("-c", action="config")
        parser.add_subclass_arguments(TabularLT, "data")
        # jsonargparse 4.49 renamed the method.
        instantiate = parser.instantiate if hasattr(parser, "instantiate") else parser.instantiate_classes
        data = instantiate(parser.parse_args(arguments)).data
        assert data.targets.tolist() == [int(value == expected) for value in rows]


@pytest.mark.parametrize(
    ("labels", "options", "message"),
    [
        ([0] * N, {}, "label 'sick' is 0 in all 200 rows"),
        ([0, 1] * (N // 2), {"positive_values": []}, "`positive_values` is empty: say which of 0, 1"),
        ([0, 1] * (N // 2), {"positive_values": [0, 1]}, r"`positive_values=\[0, 1\]` are all values"),
        ([0, 1] * (N // 2), {"positive_values": [2]}, r"`positive_values` has \[2\]"),
        (
            ["yes", "on", "no", "x"] * (N // 4),
            {"positive_values": [True]},
            "has on, yes: put the value .* in quotes",
        ),
        ([0, 1] * (N // 2), {"ignore": ["id", "sick"]}, "`ignore` names 'sick', which is the label"),
        ([0, 1] * (N // 2), {"categorical": "sick"}, "`categorical` names 'sick', which is the label"),
        ([0, 1] * (N // 2), {"id_column": "sick"}, "`id_column` names 'sick', which is the label"),
        ([0, 1] * (N // 2), {"id_column": "score"}, "`id_column=score` is also the name"),
        ([0, 1] * (N // 2), {"id_column": "nr"}, r"`id_column` names columns \['nr'\]"),
        ([0, 1] * (N // 2), {"id_column": "ward"}, "`categorical` names 'ward', which is the `id_column`"),
    ],
)
def test_mistakes_with_labels_and_roles(
    tmp_path: Path, labels: list[Any], options: dict[str, Any], message: str
) -> None:
    path = write(tmp_path, table().assign(sick=labels))
    with pytest.raises(InputError, match=message):
        module(path, **options).targets  # noqa: B018


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", b"", "is empty"),
        ("a.csv", b"\n\n", "is empty"),
        ("a.csv", b"x,sick\n", "has no rows, only the columns x, sick"),
        ("a.csv", b"x,x,sick\n1,2,0\n", "several columns with the name x"),
        ("a.csv", b"x, x ,sick\n1,2,0\n", "several columns with the name x"),
        (
            "a.csv",
            b"x;sick\n1;0\n",
            "single column 'x;sick'.*separated by semicolons: save the file with commas",
        ),
        ("a.tsv", b"x,sick\n1,0\n", "separated by commas: save the file with tabs"),
        ("a.csv", b"x,sick\n1,0,3\n2,1,4\n", r"more values than the header has names \(2\)"),
        ("a.csv", b"x,sick\n1,0\n1,2,3,4\n", "cannot be read as a table.*line 3"),
        ("a.csv", "x,sick\né,0\n".encode("latin1"), "not encoded in UTF-8.*iconv"),
        ("a.csv.gz", b"no gzip", "cannot be read as a table"),
        ("a.parquet", b"", "cannot be read as a Parquet file"),
        ("a.parquet", b"PAR1 and more", "cannot be read as a Parquet file"),
        ("a.xlsx", b"PK", r"the name must end in one of \.csv"),
        ("a.csv", b"sick\n0\n1\n", "no input columns besides sick"),
    ],
)
def test_files_that_are_no_tables(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(InputError, match=message) as caught:
        TabularLT(str(path), label="sick").source  # noqa: B018
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_places_that_are_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="is a folder"):
        TabularLT(str(tmp_path), label="sick").source  # noqa: B018
    path = write(tmp_path, table())
    monkeypatch.setattr("os.access", lambda *_: False)  # the tests may run as root, who may read everything
    with pytest.raises(InputError, match="may not be read"):
        module(path).source  # noqa: B018


def test_names_are_trimmed_and_a_byte_order_mark_is_no_part_of_them(tmp_path: Path) -> None:
    text = "\ufeffx, sick \n" + "".join(f"{i},{i % 2}\n" for i in range(40))
    (tmp_path / "a.csv").write_text(text, encoding="utf-8")
    data = TabularLT(str(tmp_path / "a.csv"), label="sick")
    assert data.column_names == ["x"]
    assert data.targets.tolist() == [0, 1] * 20


def test_a_column_that_looks_like_an_identifier_is_pointed_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = table().assign(patient_id=np.arange(N)[::-1])
    notices: list[str] = []
    monkeypatch.setattr(table_encoding, "rank_zero_info", notices.append)
    module(write(tmp_path, frame)).source  # noqa: B018
    (notice,) = notices
    assert re.search("column 'patient_id'.*looks like an identifier.*`id_column`", notice)


def test_new_files_become_the_same_inputs_however_they_are_written(tmp_path: Path) -> None:
    frame = table().assign(code=[("01", "1", "none")[i % 3] for i in range(N)])
    path = write(tmp_path, frame)
    data = module(path, missing="impute", missing_values=["unknown"], id_column="id", ignore=[])
    save_preprocessing(tmp_path / "preprocessing.json", data.training_state())
    inputs = data.inputs[:]
    chosen = frame[frame["code"] != "none"].drop(columns="sick")
    wanted = inputs[chosen.index.to_numpy()].clone()

    chosen["ward"] = chosen["ward"].astype(float)  # 1.0
    chosen["moment"] = chosen["moment"].astype(object)
    chosen.iloc[0, chosen.columns.get_loc("moment")] = "unknown"
    chosen["smoker"] = chosen["smoker"].astype(object)
    chosen.iloc[1, chosen.columns.get_loc("smoker")] = None
    wanted[0, data.column_names.index("moment")] = 0
    wanted[1, data.column_names.index("smoker")] = 0
    chosen[chosen.columns[::-1]].to_csv(tmp_path / "new.csv", index=False)
    Path(path).unlink()
    later = module(
        path,
        predict_input=str(tmp_path / "new.csv"),
        preprocessing=str(tmp_path / "preprocessing.json"),
    )
    batch = next(iter(later.predict_dataloader()))
    assert torch.equal(later.eval_transform(batch.input), wanted)
    assert batch.target.tolist() == [-1] * len(chosen)
    assert later.prediction_columns(np.array([0, 1])) == {"index": [0, 1], "id": chosen["id"].tolist()[:2]}
    assert (later.train_size, later.prior, later.input_shape) == (
        data.train_size,
        data.prior,
        data.input_shape,
    )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "cannot be read"),
        ("{", "cannot be read"),
        ("{}", "was not written by a run"),
        ('{"format": "pauc-lightning preprocessing, version 1"}', r"is damaged \(it lacks"),
        (
            '{"format": "pauc-lightning preprocessing, version 1", "data": "DigitsLT", "train_size": 3, "prior": 0.5, '
            '"input_shape": [1, 8, 8]}',
            "does not belong to a run on a table",
        ),
    ],
)
def test_files_that_a_run_did_not_keep(tmp_path: Path, content: str | None, message: str) -> None:
    kept = tmp_path / "preprocessing.json"
    if content is not None:
        kept.write_text(content)
    path = write(tmp_path, table())
    with pytest.raises(InputError, match=rf"`preprocessing=.*{message}"):
        module(path, predict_input=path, preprocessing=str(kept)).predict_dataloader()


def test_from_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path, table().drop(columns="id"))
    config = Path(__file__).parents[2] / "configs/data/tabular.yaml"
    options = ["--data.init_args.path", path, "--data.init_args.label=sick"]
    main(["-c", str(config), *options, "--data.init_args.positive_values=[false]"])
    assert "TabularLT; positive: False (0)" in capsys.readouterr().out
