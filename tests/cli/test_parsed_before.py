"""Runs that follow each other in one process: the same settings and results as in processes of their own."""

from __future__ import annotations

import gc
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from jsonargparse import Namespace

from pauc_lightning.cli import app, main
from pauc_lightning.cli.app import PaucCLI
from pauc_lightning.cli.configs import find_and_check
from pauc_lightning.cli.no_profiler import NoProfiler
from pauc_lightning.cli.parsed_before import ParsedBefore
from pauc_lightning.cli.parser import PaucArgumentParser
from pauc_lightning.data import DigitsLT

CELL = (
    *("fit", "-c", "digits", "-c", "upauci", "--figures.every_n_epochs=0", "--model.max_fpr=0.2"),
    *("--run_dir=runs/a", "--run_name=upauci-fpr0.2-seed0", "--seed_everything=0", "--data.seed=0"),
    *("--trainer.callbacks+=pauc_lightning.callbacks.CollapseMonitor", "--model.init_weights=w/last.ckpt"),
)


@pytest.fixture(autouse=True)
def _fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["pauc"])
    monkeypatch.setattr(app, "_PARSED_BEFORE", ParsedBefore())


class Parsed(Exception):
    """Ends a command when its settings are known."""


def settings_of(arguments: Sequence[str], monkeypatch: pytest.MonkeyPatch) -> tuple[Namespace, bool]:
    """The settings of a command, and whether it was parsed."""
    parsers_used = []
    parse = PaucArgumentParser.parse_args

    def noted(self: Any, *args: Any, **kwargs: Any) -> Namespace:
        parsers_used.append(self)
        result: Namespace = parse(self, *args, **kwargs)
        return result

    found: list[Namespace] = []

    def stop(self: PaucCLI) -> None:
        found.append(self.config)
        raise Parsed

    with monkeypatch.context() as patch:
        patch.setattr(PaucArgumentParser, "parse_args", noted)
        patch.setattr(PaucCLI, "_parse_ckpt_path", stop)
        with pytest.raises(Parsed):
            PaucCLI(find_and_check(arguments), "fit")
    return found[0], bool(parsers_used)


def replaced(old: str, new: str, cell: Sequence[str] = CELL) -> list[str]:
    assert old in cell
    return [new if argument == old else argument for argument in cell]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("--seed_everything=0", "--seed_everything=12"),
        ("--data.seed=0", "--data.seed=4294967295"),
        ("--run_name=upauci-fpr0.2-seed0", "--run_name=ce-fpr0.5_tpr0.5-seed7"),
        ("--run_dir=runs/a", "--run_dir=/elsewhere/b"),
        ("--model.init_weights=w/last.ckpt", "--model.init_weights=/x/version_0/checkpoints/last.ckpt"),
    ],
)
def test_plain_values_are_put_in_without_parsing(old: str, new: str, monkeypatch: pytest.MonkeyPatch) -> None:
    first, was_parsed = settings_of(CELL, monkeypatch)
    assert was_parsed
    second, was_parsed = settings_of(replaced(old, new), monkeypatch)
    assert not was_parsed
    monkeypatch.setattr(app, "_PARSED_BEFORE", ParsedBefore())
    wanted, was_parsed = settings_of(replaced(old, new), monkeypatch)
    assert was_parsed
    assert second == wanted != first
    assert settings_of(CELL, monkeypatch)[0] == first


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("--model.max_fpr=0.2", "--model.max_fpr=0.3"),
        ("--seed_everything=0", "--seed_everything=true"),
        ("--seed_everything=0", "--seed_everything=012"),
        ("--run_name=upauci-fpr0.2-seed0", "--run_name=null"),
        ("--model.init_weights=w/last.ckpt", "--model.init_weights=null"),
        ("upauci", "pauci"),
    ],
)
def test_other_differences_are_parsed(old: str, new: str, monkeypatch: pytest.MonkeyPatch) -> None:
    first, _ = settings_of(CELL, monkeypatch)
    second, was_parsed = settings_of(replaced(old, new), monkeypatch)
    assert was_parsed
    assert second != first


def test_what_comes_later_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file after the option decides; so the option's value must not be put in."""
    (tmp_path / "mine.yaml").write_text("run_name: from-the-file\n")
    for name in ("from-the-file", "something-else"):
        settings, _ = settings_of([*CELL, "-c", "mine.yaml"], monkeypatch)
        assert settings.fit.run_name == "from-the-file"
        later = ["fit", f"--run_name={name}", *CELL[1:6], "-c", "mine.yaml"]
        assert settings_of(later, monkeypatch)[0].fit.run_name == "from-the-file"


def test_a_changed_config_file_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "mine.yaml"
    for rate in (0.25, 0.125):
        path.write_text(f"model: {{class_path: CE, init_args: {{learning_rate: {rate}}}}}\n")
        settings, was_parsed = settings_of(["fit", "-c", "digits", "-c", "mine.yaml"], monkeypatch)
        assert was_parsed
        assert settings.fit.model.init_args.learning_rate == rate
        path.unlink()  # the new file gets another number


def test_a_mistake_after_a_known_command_is_still_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    settings_of(CELL, monkeypatch)
    with pytest.raises(SystemExit) as stopped:
        main([*CELL, "--model.max_fpt=0.3"])
    assert stopped.value.code == 2
    assert "--model.max_fpt" in capsys.readouterr().err


def fit(method: str, seed: int, folder: str, *more: str) -> list[str]:
    small = [
        "--trainer.max_epochs=2",
        "--model.warmup_epochs=0",
        "--trainer.accelerator=cpu",
        "--test_best=true",
    ]
    place = [f"--run_dir={folder}", f"--run_name={method}-seed{seed}", f"--seed_everything={seed}"]
    quiet = ["--trainer.enable_progress_bar=false", "--figures.after_evaluation=false"]
    return ["fit", "-c", "digits", "-c", method, *small, *quiet, *more, *place, f"--data.seed={seed}"]


def results(folder: Path, name: str) -> tuple[list[str], dict[str, Any]]:
    run = folder / name / "version_0"
    state = torch.load(run / "checkpoints/last.ckpt", weights_only=True)
    texts = [(run / file).read_text() for file in ("metrics.csv", "test_metrics.json", "preprocessing.json")]
    settings = (
        (run / "config.yaml").read_text().replace(str(folder), "").replace(f"run_dir: {folder.name}", "")
    )
    return [*texts, settings], state


def test_runs_of_one_process_end_as_in_processes_of_their_own(tmp_path: Path) -> None:
    commands = [fit("upauci", 1, "own"), fit("ce", 1, "own", "--model.learning_rate=0.1")]
    fresh = [
        subprocess.Popen(
            [sys.executable, "-c", f"from pauc_lightning.cli import main; main({command!r})"],
            cwd=tmp_path,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        for command in commands
    ]
    for command in (
        fit("ce", 0, "shared", "--model.learning_rate=0.1"),
        fit("upauci", 0, "shared", "--data.batch_size=64"),
        fit("upauci", 0, "shared"),
        fit("ce", 1, "shared", "--model.learning_rate=0.1"),
        fit("upauci", 1, "shared"),
    ):
        main(command)
    for process in fresh:
        _, errors = process.communicate(timeout=300)
        assert process.returncode == 0, errors.decode()[-2000:]
    for name in ("upauci-seed1", "ce-seed1"):
        own, own_state = results(tmp_path / "own", name)
        shared, shared_state = results(tmp_path / "shared", name)
        assert shared == own
        assert shared_state["state_dict"].keys() == own_state["state_dict"].keys()
        for key, value in own_state["state_dict"].items():
            assert torch.equal(shared_state["state_dict"][key], value), key


def test_the_parser_keeps_no_run_in_memory() -> None:
    main(fit("ce", 0, "runs"))
    gc.collect()
    assert [data for data in gc.get_objects() if type(data) is DigitsLT] == []


@pytest.mark.parametrize(("options", "is_ours"), [([], True), (["--trainer.profiler=simple"], False)])
def test_only_a_run_without_a_profiler_gets_ours(
    options: list[str], is_ours: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []
    monkeypatch.setattr(PaucCLI, "fit", lambda self, **_: found.append(self.trainer.profiler))
    monkeypatch.setattr(PaucCLI, "after_fit", lambda self: None)
    main([*fit("ce", 0, "runs"), *options])
    assert isinstance(found[0], NoProfiler) == is_ours
