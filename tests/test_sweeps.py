"""A shipped sweep is one that W&B accepts, and its agents call `pauc` with options that exist."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

import pytest
import yaml
from wandb.sdk.launch.sweeps.utils import create_sweep_command, create_sweep_command_args

from pauc_lightning.cli import main

ROOT = Path(__file__).parent.parent
SWEEPS = sorted((ROOT / "sweeps").glob("*.yaml"))


def read(path: Path) -> dict[str, Any]:
    return dict(yaml.safe_load(path.read_text(encoding="utf-8")))


@pytest.fixture(scope="module")
def engine() -> Any:
    """W&B's package of sweeps, which warns about a newer pydantic."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip("sweeps")


@pytest.mark.parametrize("path", SWEEPS, ids=lambda path: path.stem)
def test_wandb_accepts_it(path: Path, engine: Any) -> None:
    from sweeps.config import schema_violations_from_proposed_config

    assert schema_violations_from_proposed_config(read(path)) == []
    broken = {**read(path), "metric": {"name": "val/pauc", "goal": "upwards"}}
    assert schema_violations_from_proposed_config(broken) != []


@pytest.mark.parametrize("path", SWEEPS, ids=lambda path: path.stem)
def test_the_command_of_an_agent_trains(
    path: Path,
    engine: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The engine draws the values, W&B's agent makes the command, and `pauc fit` takes them as its settings."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["pauc"])
    config = read(path)
    drawn = engine.next_run(
        {key: value for key, value in config.items() if key != "early_terminate"}, []
    ).config
    macros = {**create_sweep_command_args({"args": drawn}), "env": ["/usr/bin/env"]}
    words: list[str] = []
    for word in create_sweep_command(list(config["command"])):
        words += macros[word[2:-1]] if word.startswith("${") else [word]
    assert words[:3] == ["/usr/bin/env", "pauc", "fit"]
    with pytest.raises(SystemExit) as stopped:
        main([*words[2:], "--print_config"])
    assert stopped.value.code == 0
    said = yaml.safe_load(capsys.readouterr().out)
    assert said["wandb"] == "online"
    assert drawn.keys() == config["parameters"].keys()
    for name, value in drawn.items():
        section, option = name.split(".")
        assert said[section]["init_args"][option] == pytest.approx(value["value"])


def test_the_documentation_quotes_the_file() -> None:
    page = (ROOT / "docs/logging.md").read_text(encoding="utf-8")
    for path in SWEEPS:
        assert path.read_text(encoding="utf-8") in page, (
            f"docs/logging.md quotes {path.name}: bring it up to date"
        )
