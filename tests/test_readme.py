"""What the README shows works as shown, and pages link to what exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]


@pytest.mark.parametrize(
    ("page", "least"),
    [
        ("README.md", 0.7),  # chance has 0.15 in this corner
        ("docs/methods/minimax.md", 0.6),  # chance has 0 in this one
    ],
)
def test_a_plain_loop_runs_and_ranks(page: str, least: float, capsys: pytest.CaptureFixture[str]) -> None:
    block = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), flags=re.DOTALL)[0]
    exec(compile(block, page, "exec"), {})
    value = float(capsys.readouterr().out)
    assert least < value <= 1.0


def test_files_that_are_linked_exist() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
            if "://" not in target:
                assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_config_files_that_are_named_exist() -> None:
    for page in PAGES:
        for target in re.findall(r"configs/[\w/.-]+\.yaml", page.read_text()):
            assert (ROOT / target).exists(), f"{page.name} names {target}"


def test_test_files_that_are_named_exist() -> None:
    for page in PAGES:
        for target in re.findall(r"tests/[\w/]+\.py", page.read_text()):
            assert (ROOT / target).exists(), f"{page.name} names {target}"
