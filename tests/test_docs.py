"""What the documentation quotes is what the files say, and what it shows runs."""

from __future__ import annotations

import json
import re
import runpy
import shlex
from pathlib import Path
from typing import Any

import pytest

from pauc_lightning.cli import main

ROOT = Path(__file__).parent.parent
QUOTED = re.findall(
    r"^```\w+\n# (\S+/\S+)\n(.*?)^```",
    (ROOT / "docs/adding-a-method.md").read_text(),
    re.MULTILINE | re.DOTALL,
)


def test_the_example_is_complete() -> None:
    folders = [str(Path(path).parent) for path, _ in QUOTED]
    assert folders == [
        "pauc_lightning/objectives",
        "pauc_lightning/methods",
        "configs/method",
    ]


@pytest.mark.parametrize(("path", "text"), QUOTED, ids=[path for path, _ in QUOTED])
def test_quoted_files_are_current(path: str, text: str) -> None:
    assert text == (ROOT / path).read_text(), f"docs/adding-a-method.md quotes {path}: bring it up to date"


PAGES = (
    "tutorial",
    "own-backbone",
    "logging",
    "calibration",
    "trained-model",
    "export",
    "surrogates",
    "sklearn",
    "trees",
)
SHORT = (
    "--trainer.max_epochs=4",
    "--model.warmup_epochs=1",
    "--trainer.accelerator=cpu",
    "--figures.every_n_epochs=0",
)
ELSEWHERE = (
    "compare",
    "TimmModel",
)  # tested there, or need another package


def blocks(page: str) -> list[tuple[str, str]]:
    """The language and the text of each code block of a page."""
    text = (ROOT / f"docs/{page}.md").read_text(encoding="utf-8")
    return re.findall(r"^```(\w+)\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def run(command: str) -> None:
    """What a reader types, with fewer epochs."""
    words = shlex.split(command, comments=True)
    if words[0] == "python":
        runpy.run_path(words[1])
    elif words[0] == "pauc" and not any(name in command for name in ELSEWHERE):
        main([*words[1:], *(SHORT if words[1] == "fit" else ())])


@pytest.mark.parametrize("page", PAGES)
def test_a_reader_can_follow_the_page(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In an empty directory: files are saved under the name in their first line, the rest is run in order."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    names: dict[str, Any] = {}
    for language, text in blocks(page):
        file = re.match(r"# (\S+\.(?:py|yaml))\n", text)
        if file is not None:
            (tmp_path / file[1]).write_text(text)
        elif language == "python":
            exec(compile(text, f"docs/{page}.md", "exec"), names)
        elif language == "sh":
            for command in text.replace("\\\n", " ").splitlines():
                run(command)
    if page == "tutorial":
        today = names["today"]
        assert 0.01 < today.decision.mean() < 0.2
        (tested,) = (tmp_path / "runs/TabularLT-UPAUCI/version_0/test").glob("*/test_intervals.json")
        rates = json.loads(tested.read_text())["operating_points"][1]
        assert rates["target_fpr"] == 0.05
        assert rates["tpr"]["value"] > 0.4 > 0.1 > rates["fpr"]["value"]
