"""A bad config file is named, with the line."""

from __future__ import annotations

from pathlib import Path

import pytest

from pauc_lightning.cli.configs import read_config
from pauc_lightning.errors import InputError


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"model:\n  a: 1\n  b: 2\n  a: 3\n", "`a` is given twice, in lines 2 and 4"),
        (b"model: [1, 2\n", r"line 2"),
        (b"model:\n\ta: 1\n", r"line 2"),
        (b"\x89PNG\r\n\x1a\n\x00", "not a text file"),
        (b"- a\n- b\n", "holds a list, not settings"),
        (b"hello", "holds a str, not settings"),
        (b"a: !!python/object/apply:os.system ['true']\n", "line 1"),
    ],
)
def test_what_is_wrong_is_said_with_the_file(content: bytes, said: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.yaml"
    path.write_bytes(content)
    with pytest.raises(InputError, match=said) as caught:
        read_config(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_merged_and_empty_files_are_fine(tmp_path: Path) -> None:
    path = tmp_path / "good.yaml"
    path.write_text("a: &x {k: 1, l: 2}\nb:\n  <<: *x\n  k: 3\n")
    assert read_config(path) == {"a": {"k": 1, "l": 2}, "b": {"k": 3, "l": 2}}
    path.write_text("# nothing\n")
    assert read_config(path) == {}
    with pytest.raises(InputError, match="no such file"):
        read_config(tmp_path / "god.yaml")
    with pytest.raises(InputError, match="is a directory"):
        read_config(tmp_path)
