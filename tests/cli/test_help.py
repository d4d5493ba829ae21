"""Help pages: short, in one style, with the defaults of the classes."""

from __future__ import annotations

import inspect
import re
import sys
from argparse import ArgumentParser
from pathlib import Path

import pytest

from pauc_lightning.benchmarks.command import NAMES
from pauc_lightning.cli import main
from pauc_lightning.cli.command_help import PAGES
from pauc_lightning.cli.options import Option, with_underscores
from pauc_lightning.cli.overview import COMMANDS
from pauc_lightning.data import LongTailDataModule
from pauc_lightning.methods import UPAUCI, PartialAUCModule

FEW_SCREENS = 110
HELP = [
    *([command] for command in COMMANDS),
    *(["benchmark", name] for name in NAMES),
]


@pytest.fixture(autouse=True)
def _in_an_empty_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["pauc"])
    monkeypatch.setenv("COLUMNS", "100")


def page(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("command", HELP, ids=" ".join)
def test_every_page_is_short_and_in_one_style(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    said = page(capsys, *command, "--help")
    assert said.startswith(f"usage: pauc {command[0]}")
    assert len(said.splitlines()) <= FEW_SCREENS
    assert "\x1b" not in said  # no colours in a pipe
    options = set(re.findall(r"(?<!\S)--[\w.-]+", said))
    assert options
    assert not [option for option in options if "-" in option[2:] or "init_args" in option]


def test_the_common_options_have_the_defaults_of_their_classes(capsys: pytest.CaptureFixture[str]) -> None:
    said = " ".join(page(capsys, "fit", "--help").split())
    for prefix, cls in (("model", PartialAUCModule), ("data", LongTailDataModule)):
        defaults = {name: p.default for name, p in inspect.signature(cls).parameters.items()}
        listed = [
            name for names in PAGES["fit"].groups.values() for name in names if name.startswith(f"{prefix}.")
        ]
        assert listed
        for name in listed:
            default = defaults[name.removeprefix(f"{prefix}.")]
            if isinstance(default, (int, float, str)):
                assert f"(default: {default}" in said.split(f"--{name} ")[-1].split(" --")[0]
    assert "(default: constant; cosine for HardCE, PAUCI, PartialAUC and UPAUCI)" in said
    assert "--trainer.max_epochs INT Epochs to train, including the warm-up (default: 50)" in said


def test_the_full_page_and_the_pages_of_classes(capsys: pytest.CaptureFixture[str]) -> None:
    everything = page(capsys, "fit", "--help_all")
    assert everything.startswith("usage: pauc fit -c DATA -c METHOD [options]\n\n")
    assert "--trainer.reload_dataloaders_every_n_epochs" in everything
    assert "torch.nn.Softshrink" not in everything
    method = page(capsys, "fit", "--model.help", "UPAUCI")
    assert method.startswith("--model UPAUCI\n")
    parameters = inspect.signature(UPAUCI).parameters
    assert f"(default: {parameters['omega'].default})" in " ".join(method.split())
    assert "--model.max_fpr FLOAT" in method  # inherited
    assert "--model.train_size" not in method  # comes from the data
    data = page(capsys, "resume", "--data.help=TabularLT")
    assert re.search(r"--data.path TEXT +The file, ending in .csv", data)
    digits = " ".join(page(capsys, "fit", "--data.help", "DigitsLT").split())
    assert re.search(r"--data.positive_classes LIST [^-]*\(default: \[3, 8\]\)", digits)
    trainer = page(capsys, "fit", "--trainer.help")
    assert "--trainer.max_epochs INT" in trainer
    callback = page(capsys, "fit", "--trainer.callbacks.help", "EarlyStopping")
    assert "--trainer.callbacks.patience INT" in callback
    for said in (method, data, trainer, callback):
        assert "init_args" not in said
        assert "::" not in said  # markup of docstrings
        assert all(len(line) <= 100 for line in said.splitlines())


def test_each_page_names_options_that_exist(capsys: pytest.CaptureFixture[str]) -> None:
    for command, content in PAGES.items():
        said = page(capsys, command, "--help")
        assert all(
            f"--{name} " in said or f"--{name}\n" in said
            for names in content.groups.values()
            for name in names
        )


def test_colours_on_a_terminal_only(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = page(capsys, "--help")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    colourful = page(capsys, "--help")
    assert "\x1b[" in colourful
    assert re.sub(r"\x1b\[[\d;]*m", "", colourful) == plain


def test_help_may_come_first(capsys: pytest.CaptureFixture[str]) -> None:
    assert page(capsys, "help") == page(capsys, "--help")
    assert page(capsys, "help", "configs") == page(capsys, "configs", "--help")


def test_dashes_are_taken_for_underscores_in_names_only() -> None:
    given = ["--max-fpr=0-1", "--data.batch-size", "8", "-c", "my-file.yaml", "--", "-1", "--out", "a--b-c"]
    assert with_underscores(given) == [
        *("--max_fpr=0-1", "--data.batch_size", "8", "-c", "my-file.yaml", "--", "-1", "--out", "a--b-c")
    ]


def test_defaults_are_said_once() -> None:
    parser = ArgumentParser()
    first = parser.add_argument("--a", type=int, default=3, help="how many (default %(default)s)")
    second = parser.add_argument("--b", default="x", help="which one (default: x)")
    third = parser.add_argument("--c", help="another (default: the first)")
    assert Option.of_action(first) == Option("--a", "INT", "How many", "3")
    assert Option.of_action(second) == Option("--b", "B", "Which one", "x")
    assert Option.of_action(third) == Option("--c", "C", "Another (default: the first)", "")
