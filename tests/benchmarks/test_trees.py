"""`pauc benchmark trees` trains everything once, continues, and refuses to mix."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
import torch

from pauc_lightning.benchmarks import trees
from pauc_lightning.cli import main
from pauc_lightning.errors import InputError
from pauc_lightning.experiments.trees import study
from pauc_lightning.experiments.trees.boosters import Length, make_booster
from pauc_lightning.experiments.trees.search import Library, Method, draw
from pauc_lightning.experiments.trees.tables import made_up_table
from pauc_lightning.metrics.functional import binary_partial_auc
from pauc_lightning.trees import partial_auc_metric


@pytest.fixture
def table(tmp_path: Path) -> Path:
    made = made_up_table(2500)
    path = tmp_path / "small.csv"
    rows = np.column_stack([made.inputs[:, :3], made.target])
    np.savetxt(path, rows, delimiter=",", header="a,b,c,label", comments="", fmt="%.6g")
    return path


def options(table: Path, out: Path) -> list[str]:
    return ["--data", str(table), "--trials", "2", "--rounds", "4", "--regions", "0.05", "--out", str(out)]


def test_the_command_prints_the_table_and_continues(
    table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    threads = torch.get_num_threads()
    out = tmp_path / "out"
    main(["benchmark", "trees", *options(table, out), "--seeds", "0"])
    assert torch.get_num_threads() == threads
    first = capsys.readouterr().out
    assert "| small | xgboost |" in first
    assert "| small | lightgbm |" in first
    assert "16 trainings" in first  # 2 libraries, 4 objectives, 2 trials
    assert "Next:" in first
    assert (out / "table.md").read_text().splitlines()[0] == first.splitlines()[0]
    trained: list[str] = []

    def counted(library: Library, method: Method, *rest: object) -> object:
        trained.append(f"{library} {method}")
        return make_booster(library, method, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(study, "make_booster", counted)
    (out / "small-xgboost-ranking-seed0.json").unlink()
    main(["benchmark", "trees", *options(table, out), "--seeds", "0"])
    assert trained == ["xgboost ranking"]
    numbers = [line for line in capsys.readouterr().out.splitlines() if line.startswith("| small")]
    assert numbers == [line for line in first.splitlines() if line.startswith("| small")]


def test_a_directory_keeps_to_one_kind_of_result(table: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    few = ["--libraries", "lightgbm", "--methods", "log_loss", "--seeds", "0"]
    trees.main([*options(table, out), *few])
    with pytest.raises(InputError, match=r"other settings \(rounds: 4, now 5\)"):
        trees.main([*options(table, out), *few, "--rounds", "5"])
    table.write_text(table.read_text().replace("label\n", "label\n9,9,9,0\n", 1))
    with pytest.raises(InputError, match="made from another table with the name small"):
        trees.main([*options(table, out), *few])


def test_damaged_results_are_named(table: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    few = ["--libraries", "lightgbm", "--methods", "log_loss", "--seeds", "0"]
    trees.main([*options(table, out), *few])
    (result,) = out.glob("small-*.json")
    result.write_text("{}")
    with pytest.raises(InputError, match="is no result of"):
        trees.main([*options(table, out), *few])
    result.write_text("{")
    with pytest.raises(InputError, match="cannot be read"):
        trees.main([*options(table, out), *few])


@pytest.mark.parametrize("library", ["xgboost", "lightgbm"])
@pytest.mark.parametrize("method", ["log_loss", "weighted_log_loss", "ranking", "partial_auc"])
def test_the_curves_are_those_of_the_model(library: Library, method: Method) -> None:
    """With the validation part as the test part, the scores of r rounds have the r-th value of the curve."""
    parts = made_up_table(3000).split(0, None)
    parts = parts._replace(test=parts.validation)
    booster = make_booster(library, method, parts, Length(12, 12), 1)
    for trial in range(3):
        curves, test_scores = booster.train(draw(trial, 0, library, method, 0.1), [partial_auc_metric(0.1)])
        for rounds in (1, len(curves[0])):
            value = float(binary_partial_auc(test_scores(rounds), parts.validation.target, 0.1))
            assert curves[0][rounds - 1] == pytest.approx(value, abs=1e-5)
    assert max(curves[0]) > 0.15  # chance is 0.05


@pytest.mark.parametrize("library", ["xgboost", "lightgbm"])
def test_training_stops_when_nothing_has_improved_for_long(library: Library) -> None:
    parts = made_up_table(1500).split(0, None)
    booster = make_booster(library, "log_loss", parts, Length(400, 5), 1)
    metrics = [partial_auc_metric(0.1), partial_auc_metric(0.3)]
    curves, _ = booster.train(draw(0, 0, library, "log_loss", None), metrics)
    assert len(curves[0]) == len(curves[1]) < 400
    last = max(int(np.argmax(curve)) for curve in curves)
    assert len(curves[0]) == last + 1 + 5


def test_objectives_share_the_draws_of_the_common_settings() -> None:
    settings = [
        draw(3, 1, "xgboost", method, 0.01) for method in ("log_loss", "weighted_log_loss", "partial_auc")
    ]
    assert len({dataclasses.replace(one, own=()) for one in settings}) == 1  # type: ignore[arg-type]
    ranking = draw(3, 1, "xgboost", "ranking", None)
    assert ranking.learning_rate == settings[0].learning_rate
    assert ranking.l2 == pytest.approx(settings[0].l2 / 1000)  # as its Hessians are smaller
    assert draw(4, 1, "xgboost", "log_loss", None) != settings[0]
    for trial in range(30):
        own = draw(trial, 0, "lightgbm", "partial_auc", 0.05).own
        assert 0.05 <= float(own["max_fpr"]) <= 0.3


def test_the_best_trial_by_validation_is_tested(tmp_path: Path) -> None:
    table = made_up_table(2500)
    plan = study.Plan(("lightgbm",), ("log_loss",), (0.05, 0.3), (0,), 3, None, Length(6, 6), 1)
    cell = study.Cell(table.name, "lightgbm", "log_loss", 0)
    parts = table.split(0, None)
    result = study.run_cell(cell, plan, table, parts, tmp_path, lambda: None)
    booster = make_booster("lightgbm", "log_loss", parts, plan.length, 1)
    metrics = [partial_auc_metric(0.05), partial_auc_metric(0.3)]
    all_curves = [booster.train(draw(t, 0, "lightgbm", "log_loss", None), metrics).curves for t in range(3)]
    for k, chosen in enumerate(result.chosen):
        best = max(range(3), key=lambda t: max(all_curves[t][k]))
        assert chosen.validation == max(all_curves[best][k])
        assert chosen.settings == draw(best, 0, "lightgbm", "log_loss", None)
    assert json.loads((tmp_path / cell.file).read_text())["trainings"] == 3
    assert study.read_result(tmp_path / cell.file) == result


def test_mistakes(table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="`--trials` must be a whole number, at least 1, got 0"):
        trees.main([*options(table, tmp_path / "out"), "--trials", "0"])
    with pytest.raises(InputError, match="`--train_rows`"):
        trees.main([*options(table, tmp_path / "out"), "--train_rows", "3"])
    with pytest.raises(InputError, match="max_fpr"):
        trees.main([*options(table, tmp_path / "out"), "--regions", "7"])
    with pytest.raises(InputError, match="names two files alike"):
        trees.main([*options(table, tmp_path / "out"), "--data", str(table), str(table)])
    monkeypatch.setitem(__import__("sys").modules, "lightgbm", None)
    with pytest.raises(
        InputError, match=r"lightgbm is not installed: pip install 'pauc-lightning\[lightgbm\]'"
    ):
        trees.main(options(table, tmp_path / "out"))
