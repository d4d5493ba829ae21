"""Files are complete or absent, whoever else writes them and whatever the disk says."""

from __future__ import annotations

import errno
import os
import resource
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch

from pauc_lightning.checkpoint_io import write_checkpoint
from pauc_lightning.errors import InputError
from pauc_lightning.files import cannot_write, complete_binary_file, complete_file, write_text


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_the_file_appears_when_the_block_has_ended(tmp_path: Path) -> None:
    path = tmp_path / "new/folder/file.txt"
    with complete_file(path) as file:
        file.write("größer")
        assert not path.exists()
    assert path.read_text(encoding="utf-8") == "größer"
    assert names(path.parent) == ["file.txt"]


def test_an_error_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "file.bin"
    path.write_bytes(b"old")
    with pytest.raises(TypeError), complete_binary_file(path) as file:
        file.write(b"new" + None)  # type: ignore[operator]
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["file.bin"]


def test_a_folder_and_a_name_that_is_too_long_are_refused_in_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for folder in (Path(), Path("/"), tmp_path):
        with pytest.raises(InputError, match=r"Is a directory; give the name of a file"):
            write_text(folder, "text")
    with pytest.raises(InputError, match=r"File name too long; choose a shorter name"):
        write_text(tmp_path / ("a" * 300), "text")
    assert names(tmp_path) == []


def test_an_error_about_another_file_is_not_taken_for_one_about_this(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), complete_file(tmp_path / "file"):
        (tmp_path / "missing").read_text()


def test_two_writers_at_once_do_not_harm_each_other(tmp_path: Path) -> None:
    path = tmp_path / "file.txt"
    with complete_file(path) as first:
        first.write("first")
        with complete_file(path) as second:  # finds the first one's partial file, and that it is in use
            second.write("second")
        assert path.read_text() == "second"
    assert path.read_text() == "first"
    assert names(tmp_path) == ["file.txt"]


def test_what_a_killed_writer_left_is_removed_by_the_next(tmp_path: Path) -> None:
    path = tmp_path / "file.txt"
    child = os.fork()
    if child == 0:
        with complete_file(path) as file:
            file.write("half")
            file.flush()
            os.kill(os.getpid(), signal.SIGKILL)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    (left,) = names(tmp_path)
    assert left.startswith(".file.txt.")
    write_text(path, "whole")
    assert names(tmp_path) == ["file.txt"]


def test_permissions_follow_the_umask(tmp_path: Path) -> None:
    mask = os.umask(0o027)
    try:
        write_text(tmp_path / "file", "")
    finally:
        os.umask(mask)
    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o640


def test_a_file_in_the_place_of_the_directory(tmp_path: Path) -> None:
    write_text(tmp_path / "file", "")
    with pytest.raises(InputError, match=r"cannot write .*file/inside: .*; write to a directory"):
        write_text(tmp_path / "file/inside", "")


def test_a_directory_in_the_place_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(InputError, match=r"cannot write .*folder: .*; give the name of a file"):
        write_text(tmp_path / "folder", "")
    assert names(tmp_path) == ["folder"]


@contextmanager
def largest_file(size: int) -> Iterator[None]:
    """Stands for a full disk, which not every machine lets a test make: both fail in the same place."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize(
    "write",
    [
        lambda path: write_text(path, "x" * 100_000),
        lambda path: write_checkpoint({"state_dict": {"weight": torch.zeros(100_000)}}, path),
    ],
    ids=["text", "checkpoint"],
)
def test_no_room_leaves_the_old_file_whole_and_says_so(tmp_path: Path, write: Callable[[Path], None]) -> None:
    path = tmp_path / "last.ckpt"
    path.write_bytes(b"old")
    with largest_file(20_000), pytest.raises(InputError) as refusal:
        write(path)
    assert str(refusal.value) == (
        f"cannot write {path}: File too large; raise the limit on file sizes (`ulimit -f`). The file that was there "
        "before is untouched."
    )
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["last.ckpt"]


@pytest.mark.parametrize(
    ("number", "remedy"),
    [
        (errno.ENOSPC, "No space left on device; free some space there, or write to another disk."),
        (errno.EROFS, "Read-only file system; write to another directory."),
        (errno.EACCES, "Permission denied; make the directory writable, or write to another one."),
    ],
)
def test_every_refusal_of_the_system_has_a_remedy(tmp_path: Path, number: int, remedy: str) -> None:
    error = cannot_write(tmp_path / "last.ckpt", OSError(number, os.strerror(number)))
    assert str(error) == f"cannot write {tmp_path / 'last.ckpt'}: {remedy}"
