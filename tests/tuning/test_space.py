"""Search spaces: what is read, and what is refused with the line and the option."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path
from typing import Any

import pytest
import yaml

from pauc_lightning.cli import main
from pauc_lightning.data import DigitsLT
from pauc_lightning.errors import InputError
from pauc_lightning.tuning.space import FALLBACK, Choice, Range, Space, read_space, space_of

ROOT = Path(__file__).parents[2]
FILES = sorted((ROOT / "configs/method").glob("*.search.yaml"))


def test_the_four_forms(tmp_path: Path) -> None:
    path = tmp_path / "m.search.yaml"
    path.write_text(
        "# A comment.\nmodel.a: {log: [1e-5, 1]}\nmodel.b: {linear: [0, 4]}\n"
        "data.c: {integer: [3, 20]}\nmodel.d: {choice: [x, null, true, 1e-3]}\n"
    )
    space = read_space(path)
    assert space.dimensions == {
        "model.a": Range(1e-5, 1, is_log=True),
        "model.b": Range(0, 4),
        "data.c": Range(3, 20, is_integer=True),
        "model.d": Choice(("x", None, True, 0.001)),
    }
    assert space.where("data.c") == f"{path}, line 4, `data.c`"


def test_values_to_try_first(tmp_path: Path) -> None:
    path = tmp_path / "m.search.yaml"
    path.write_text("model.a: {log: [1e-5, 1], first: [0.1, 1e-3]}\nmodel.d: {choice: [x, y], first: [y]}\n")
    assert read_space(path).first == ({"model.a": 0.1}, {"model.a": 0.001}, {"model.d": "y"})


def test_settings_to_try_first_together_come_before_single_values(tmp_path: Path) -> None:
    path = tmp_path / "m.search.yaml"
    path.write_text(
        "model.a: {log: [1e-5, 1], first: [0.1]}\nmodel.d: {choice: [x, y]}\n"
        "first:\n  - {model.a: 1e-3, model.d: y}\n  - {model.d: x}\n"
    )
    space = read_space(path)
    assert space.first == ({"model.a": 0.001, "model.d": "y"}, {"model.d": "x"}, {"model.a": 0.1})
    assert list(space.dimensions) == ["model.a", "model.d"]


def test_mappings_can_be_merged(tmp_path: Path) -> None:
    path = tmp_path / "m.search.yaml"
    path.write_text(
        "<<:\n  - {model.a: {log: [0.001, 0.1], first: [0.1]}}\n  - model.b: {linear: [0, 1]}\n"
        "    model.c: {linear: [0, 1]}\nmodel.c: {linear: [0, 2]}\n"
    )
    space = read_space(path)
    assert space.dimensions == {
        "model.a": Range(0.001, 0.1, is_log=True),
        "model.b": Range(0, 1),
        "model.c": Range(0, 2),
    }
    assert [space.where(f"model.{name}").split()[2] for name in "abc"] == ["2,", "3,", "5,"]
    path.write_text("<<: {model.a: {log: [0, 0.1]}}\n")
    with pytest.raises(InputError, match=r"line 1, `model\.a`: a logarithmic range"):
        read_space(path)


def test_an_option_that_the_data_do_not_have_is_left_out_if_it_is_optional(tmp_path: Path) -> None:
    path = tmp_path / "m.search.yaml"
    path.write_text(
        "model.a: {linear: [0, 1]}\ndata.positive_fraction: {choice: [null, 0.5], optional: true}\n"
        "first: [{model.a: 0.5, data.positive_fraction: 0.5}, {data.positive_fraction: null}]\n"
    )
    space = read_space(path)
    kept: list[dict[str, Any]] = [
        {"positive_fraction": None, "sampler": "stratified"},
        {"positive_fraction": 0.5},
    ]
    for settings in kept:
        assert space.left_out({"class_path": "Own", "init_args": settings}) == {}
    dropped: list[dict[str, Any]] = [{"seed": 0}, {"positive_fraction": None, "sampler": "shuffled"}]
    for settings in dropped:
        without = space.without(space.left_out({"class_path": "Own", "init_args": settings}))
        assert list(without.dimensions) == ["model.a"]
        assert without.first == ({"model.a": 0.5},)


def test_a_name_that_no_data_module_has_is_refused_unless_the_data_are_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "m.search.yaml"
    path.write_text(
        "model.a: {linear: [0, 1]}\ndata.positive_fracton: {choice: [null, 0.5], optional: true}\n"
    )
    space = read_space(path)
    with pytest.raises(InputError) as refused:
        space.left_out({"class_path": "pauc_lightning.data.DigitsLT", "init_args": {"seed": 0}})
    assert f"{path}, line 2, `data.positive_fracton`: no data module has such an option" in str(refused.value)
    assert "Did you mean `positive_fraction`?" in str(refused.value)
    own = {"class_path": "mine.Data", "init_args": {"seed": 0}}
    assert space.left_out(own) == {"data.positive_fracton": "the data have no such option"}
    path.write_text("model.a: {linear: [0, 1]}\ndata.label: {choice: [a, b], optional: true}\n")
    digits = {"class_path": "pauc_lightning.data.DigitsLT", "init_args": {"seed": 0}}
    assert list(read_space(path).left_out(digits)) == ["data.label"]  # an option of TabularLT


def test_options_of_data_modules_of_ones_own_are_known_once_they_are_imported(tmp_path: Path) -> None:
    class Tuned(DigitsLT):
        def __init__(self, wobble_of_the_digits: float = 0.0) -> None:
            super().__init__()

    path = tmp_path / "m.search.yaml"
    path.write_text(
        "model.a: {linear: [0, 1]}\ndata.wobble_of_the_digits: {linear: [0, 1], optional: true}\n"
    )
    digits = {"class_path": "pauc_lightning.data.DigitsLT", "init_args": {"seed": 0}}
    assert list(read_space(path).left_out(digits)) == ["data.wobble_of_the_digits"]
    del Tuned


def test_a_space_without_a_dimension_that_these_data_have_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "m.search.yaml"
    path.write_text("data.positive_fraction: {choice: [null, 0.5], optional: true}\n")
    shuffled = {"sampler": "shuffled", "positive_fraction": None}
    with pytest.raises(InputError, match=r"varies nothing on these data: it has only data\.pos"):
        read_space(path).left_out({"class_path": "pauc_lightning.data.DigitsLT", "init_args": shuffled})


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("data.seed_of_mine: {integer: [0, 4], optional: maybe}", "`optional` is true or false"),
        ("model.omega: {linear: [0, 4], optional: true}", "only options of the data can be `optional`"),
        ("model.omega: {linear: [0, 4], first: [5]}", "`5` under `first` is not among 0 to 4"),
        ("model.omega: {linear: [0, 4], first: 3}", "`first` needs a list"),
        ("first: {model.weight_decay: 1e-4}", "needs a list of settings"),
        ("first: [{}]", "needs a list of settings"),
        ("first: [{model.weight_deacy: 1e-4}]", "Did you mean `model.weight_decay`?"),
        ("first: [{model.weight_decay: 1}]", "`model.weight_decay: 1` is not among"),
        ("model.omega: {first: [3]}", "{log: [low, high]}"),
        ("omega: {linear: [0, 4]}", "model.<option>"),
        ("model.omega: [0, 4]", "{log: [low, high]}"),
        ("model.omega: {uniform: [0, 4]}", "no `uniform`"),
        ("model.omega: {linear: [0, 4], log: [1, 2]}", "{log: [low, high]}"),
        ("model.omega: {linear: [4, 0]}", "`4` is not below `0`"),
        ("model.omega: {linear: [0, a]}", "two numbers"),
        ("model.omega: {linear: [0, .inf]}", "two numbers"),
        ("model.omega: {linear: [0, 1, 2]}", "two numbers"),
        ("model.omega: {log: [0, 4]}", "begins above 0"),
        ("model.omega: {integer: [0.5, 4]}", "whole numbers"),
        ("model.omega: {integer: [3, 20], first: [.inf]}", "`inf` under `first` is not among 3 to 20"),
        ("model.omega: {integer: [3, 20], first: [.nan]}", "`nan` under `first` is not among 3 to 20"),
        ("model.omega: {integer: [3, .nan]}", "two numbers"),
        (f"model.omega: {{integer: [3, 1{'0' * 400}]}}", "two numbers"),
        ("null: {linear: [0, 4]}", "model.<option>"),
        ("true: {linear: [0, 4]}", "model.<option>"),
        ("0x10: {linear: [0, 4]}", "model.<option>"),
        ("data.c: {choice: [1, 2], optinal: true}", "no `optinal`. Did you mean `optional`?"),
        ("data.c: {choice: [1, 2], fist: [1]}", "Did you mean `first`?"),
        ("data.c: [1, 2]", "`optional: true` for an option that not all data have"),
        ("model.omega: {choice: [1]}", "at least two"),
        ("model.omega: {choice: [1, 1]}", "given twice"),
        ("model.omega: {choice: [.nan, 2]}", "`nan` is no finite number"),
        ("model.omega: {choice: [-.inf, 2]}", "`-inf` is no finite number"),
        ("model.omega: {choice: [1, 1.0]}", "`1.0` is given twice"),
        ("model.omega: {choice: [null, 1, null]}", "`null` is given twice"),
        ("model.omega: {choice: [[1], 2]}", "cannot be chosen"),
        ("model.max_fpr: {linear: [0.1, 0.3]}", "--region"),
        ("model.init_args.max_fpr: {linear: [0.1, 0.3]}", "--region"),
        ("data.seed: {integer: [0, 3]}", "--seeds"),
    ],
)
def test_a_malformed_line_is_named(line: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "m.search.yaml"
    path.write_text(f"model.weight_decay: {{log: [1e-5, 1e-3]}}\n{line}\n")
    with pytest.raises(InputError) as refused:
        read_space(path)
    key = line.partition(":")[0]
    assert f"{path}, line 2, `{key}`" in str(refused.value)
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "varies nothing"),
        ("first: [{model.omega: 3}]", "varies nothing"),
        ("model.a: {log: [1, 2]}\nmodel.a: {log: [1, 3]}\n", "lines 1 and 2"),
        ("model.a: {log: [1, 2}\n", "line 1"),
        ("- a\n- b\n", "not settings"),
    ],
)
def test_a_malformed_file_is_named(text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "m.search.yaml"
    path.write_text(text)
    with pytest.raises(InputError) as refused:
        read_space(path)
    assert str(path) in str(refused.value)
    assert said in str(refused.value)


def test_rounding_does_not_leave_the_range() -> None:
    assert Range(0.12345, 0.2).rounded(0.12346) == 0.12345
    assert Range(0.1, 0.12345).rounded(0.1234499) == 0.123
    assert Range(1, 9, is_integer=True).rounded(3) == 3


def test_what_lies_in_a_dimension() -> None:
    assert 4 in Range(0, 4)
    assert 4.5 not in Range(0, 4)
    assert None not in Range(0, 4)
    assert True not in Range(0, 4)
    assert "auto" not in Range(0, 4)
    assert 2.5 not in Range(0, 4, is_integer=True)
    assert True in Choice((True, "a"))
    assert 1 not in Choice((True, "a"))


def test_own_files_come_first_and_methods_without_a_file_vary_the_two_settings_of_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert space_of("upauci").file == ROOT / "configs/method/upauci.search.yaml"
    assert space_of("mine") is FALLBACK
    assert list(FALLBACK.dimensions) == ["model.learning_rate", "model.weight_decay"]
    own = Path("configs/method/upauci.search.yaml")
    own.parent.mkdir(parents=True)
    own.write_text("model.omega: {linear: [0, 1]}\n")
    assert space_of("upauci").file == own
    assert space_of("slow", [ROOT / "configs/method/upauci.yaml"]).file == own  # that of its config
    assert space_of("slow", [ROOT / "configs/method/ce.yaml"]).file == ROOT / "configs/method/ce.search.yaml"
    assert space_of("slow", [tmp_path / "elsewhere/upauci.yaml"]) is FALLBACK  # another method of that name
    (tmp_path / "mine.search.yaml").write_text("model.omega: {linear: [0, 2]}\n")
    assert space_of("other", [tmp_path / "mine.yaml"]).dimensions == {"model.omega": Range(0, 2)}


def test_what_a_directory_records_does_not_change() -> None:
    """Otherwise no search of an earlier version could be continued."""
    noted = Space({"model.a": Choice((None, 1.0, True)), "model.b": Range(1e-4, 1.0, is_log=True)}).noted()
    assert noted["search space"] == {
        "model.a": "one of None, 1.0, True",
        "model.b": "0.0001 to 1 (logarithmic)",
    }


@pytest.mark.parametrize("file", FILES, ids=lambda path: path.stem)
def test_a_shipped_file_varies_options_of_its_method(file: Path) -> None:
    """``pauc fit`` has these options for the method beside the file, and accepts the ends of the ranges."""
    space, method = read_space(file), file.with_name(file.name.replace(".search", ""))
    assert "model.weight_decay" in space.dimensions
    ends = [
        f"--{key}={dimension.values[-1] if isinstance(dimension, Choice) else dimension.high}"
        for key, dimension in space.dimensions.items()
    ]
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), pytest.raises(SystemExit) as stopped:
        main(
            ["fit", "-c", str(ROOT / "configs/data/digits.yaml"), "-c", str(method), *ends, "--print_config"]
        )
    assert stopped.value.code == 0
    config = yaml.safe_load(printed.getvalue())
    parts = [key.split(".") for key in space.dimensions]
    assert all(option in config[section]["init_args"] for section, option in parts)
    assert space.optional == {"data.positive_fraction"}  # a data module of a user's own may not have it
