"""A checkpoint is whole or refused, with a sentence for each kind of wrong file."""

from __future__ import annotations

import os
import pickle
import zipfile
from pathlib import Path
from typing import Any

import pytest
import torch

from pauc_lightning.checkpoint_io import AtomicCheckpointIO, read_checkpoint, write_checkpoint
from pauc_lightning.errors import InputError

CONTENT = {
    "state_dict": {"weight": torch.arange(1000.0)},
    "loops": {},
    "optimizer_states": [],
    "callbacks": {"a": {"score": torch.tensor(0.5)}},
    "hyper_parameters": {"max_fpr": 0.3},
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    write_checkpoint(CONTENT, tmp_path / "last.ckpt")
    return tmp_path / "last.ckpt"


def test_what_is_written_is_read(path: Path) -> None:
    content = read_checkpoint(path, to_resume=True)
    assert content.keys() == CONTENT.keys()
    assert torch.equal(content["state_dict"]["weight"], torch.arange(1000.0))


def test_the_plugin_writes_beside_the_target_wherever_tmpdir_is(
    tmp_path: Path, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path / "missing"))
    renamed: list[tuple[Path, Path]] = []
    replace = os.replace

    def watch(source: Any, target: Any) -> None:
        renamed.append((Path(source), Path(target)))
        replace(source, target)

    monkeypatch.setattr(os, "replace", watch)
    AtomicCheckpointIO().save_checkpoint({**CONTENT, "epoch": 7}, path)
    ((source, target),) = renamed
    assert target == path
    assert source.parent == path.parent
    assert AtomicCheckpointIO().load_checkpoint(path)["epoch"] == 7
    assert [file.name for file in tmp_path.iterdir()] == ["last.ckpt"]


def test_no_byte_of_the_data_changes_unnoticed(path: Path) -> None:
    """Flipped where torch.load would not look: in the middle of the weights."""
    raw = path.read_bytes()
    inside = raw.index(torch.arange(1000.0).numpy().tobytes())
    for place in (inside, inside + 1999, inside + 3999):
        path.write_bytes(raw[:place] + bytes([raw[place] ^ 1]) + raw[place + 1 :])
        torch.load(path, weights_only=True)  # does not notice
        with pytest.raises(InputError, match="is damaged"):
            read_checkpoint(path)


def test_wherever_a_byte_is_flipped_the_content_is_the_same_or_refused(path: Path) -> None:
    raw = path.read_bytes()
    refused = 0
    for place in range(0, len(raw), 97):
        path.write_bytes(raw[:place] + bytes([raw[place] ^ 0x41]) + raw[place + 1 :])
        try:
            content = read_checkpoint(path)
        except InputError:
            refused += 1
        else:  # in what only fills up
            assert torch.equal(content["state_dict"]["weight"], torch.arange(1000.0))
            assert content["hyper_parameters"] == CONTENT["hyper_parameters"]
    assert refused > 4000 / 97


def test_a_cut_file_is_damaged(path: Path) -> None:
    raw = path.read_bytes()
    for length in (4, 100, len(raw) // 2, len(raw) - 30, len(raw) - 1):
        path.write_bytes(raw[:length])
        with pytest.raises(InputError, match="is damaged"):
            read_checkpoint(path)
    path.write_bytes(b"")
    with pytest.raises(InputError, match=r"is damaged \(it is empty\)"):
        read_checkpoint(path)


def test_a_damaged_file_names_the_other_checkpoint(path: Path) -> None:
    path.with_name("best.ckpt").write_bytes(path.read_bytes())
    path.write_bytes(path.read_bytes()[:1000])
    with pytest.raises(InputError, match=r"use another checkpoint, for example `.*best.ckpt`"):
        read_checkpoint(path)


def save_zip(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("notes.txt", "no checkpoint")


class Malicious:
    def __reduce__(self) -> Any:
        return os.mkdir, ("executed",)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda path: path.write_text("a: 1\n"), "is not a checkpoint: give the path of a .ckpt file"),
        (lambda path: path.write_bytes(pickle.dumps({"a": 1})), "is not a checkpoint: give the path"),
        (lambda path: torch.save({"a": 1, "b": 2}, path), "dictionary with the keys 'a', 'b'"),
        (lambda path: torch.save(torch.ones(3), path), "is not a checkpoint but holds a Tensor"),
        (lambda path: torch.save({}, path), "is not a checkpoint but holds a dict"),
        (lambda path: torch.save(torch.nn.Linear(2, 1).state_dict(), path), "holds weights only"),
        (lambda path: torch.save({"state_dict": Malicious()}, path), "would have to be executed"),
        (save_zip, "is damaged"),
        (lambda path: path.mkdir(), "is a directory, not a checkpoint: give the path of a .ckpt file"),
    ],
)
def test_other_files_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make: Any, sentence: str
) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "other.ckpt"
    make(path)
    for read in (read_checkpoint, AtomicCheckpointIO().load_checkpoint):
        with pytest.raises(InputError) as refusal:
            read(path)
        assert sentence in str(refusal.value)
        assert f"`{path}`" in str(refusal.value)
    assert not (tmp_path / "executed").exists()


def test_weights_are_not_enough_to_resume(path: Path) -> None:
    write_checkpoint({"state_dict": CONTENT["state_dict"], "loops": {}}, path)
    read_checkpoint(path)
    with pytest.raises(InputError, match=r"no run can go on .*\(optimizer_states, callbacks missing\)"):
        read_checkpoint(path, to_resume=True)


def test_a_run_directory_names_its_checkpoint(tmp_path: Path) -> None:
    write_checkpoint(CONTENT, tmp_path / "checkpoints/last.ckpt")
    with pytest.raises(InputError, match=r"give the file `.*checkpoints/last.ckpt`"):
        read_checkpoint(tmp_path)


def test_a_missing_file_names_the_nearest(path: Path) -> None:
    path.with_name("best.ckpt").write_bytes(b"")
    with pytest.raises(InputError, match=r"no such file. Did you mean `.*/best.ckpt`"):
        read_checkpoint(path.with_name("bset.ckpt"))
    with pytest.raises(InputError, match=r"There is no directory `.*nowhere` either"):
        read_checkpoint(path.parent / "nowhere/last.ckpt")
    with pytest.raises(InputError, match="There are no checkpoints in"):
        read_checkpoint(write_checkpoint_free(path.parent / "empty") / "last.ckpt")
    with pytest.raises(InputError, match="no such file"):
        read_checkpoint(path / "inside")


def write_checkpoint_free(folder: Path) -> Path:
    folder.mkdir()
    return folder


def test_an_unreadable_file(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path.chmod(0)
    if os.geteuid() == 0:  # whom the system lets read everything

        def refuse(self: Path, *args: Any) -> None:
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(InputError, match=r"may not be read \(no permission\)"):
        read_checkpoint(path)
