"""What the documentation quotes is what the files say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

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
        "tests/methods",
    ]


@pytest.mark.parametrize(("path", "text"), QUOTED, ids=[path for path, _ in QUOTED])
def test_quoted_files_are_current(path: str, text: str) -> None:
    assert text == (ROOT / path).read_text(), f"docs/adding-a-method.md quotes {path}: bring it up to date"
