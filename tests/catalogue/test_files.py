"""Bad files: configs, tables, images, checkpoints, and places that cannot be written to."""

from __future__ import annotations

import errno
import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch
from catalogue.sentences import check_said, contents
from PIL import Image

from pauc_lightning.cli import main

QUIET = ("--trainer.accelerator=cpu", "--trainer.enable_progress_bar=false")
FIT = ("fit", "-c", "digits", "-c", "ce", *QUIET)


@pytest.fixture(autouse=True)
def _in_a_directory_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["pauc"])
    monkeypatch.delenv("PAUC_TRACEBACK", raising=False)


def refused(capfd: pytest.CaptureFixture[str], folder: Path, arguments: tuple[str, ...], *words: str) -> None:
    before = contents(folder)
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 2
    check_said(capfd.readouterr().err, words)
    assert contents(folder) == before


# ---------------------------------------------------------------------- config files

CONFIGS: dict[str, tuple[bytes, tuple[str, ...]]] = {
    "binary": (b"\x89PNG\r\n\x1a\n\x00", ("bad.yaml", "not a text file")),
    "malformed": (b"model: [1, 2\n", ("bad.yaml", "line 2")),
    "tab": (b"model:\n\ta: 1\n", ("bad.yaml", "line 2")),
    "key twice": (b"seed_everything: 1\nseed_everything: 2\n", ("bad.yaml", "seed_everything", "1 and 2")),
    "list": (b"- a\n- b\n", ("bad.yaml", "list")),
    "word": (b"hello\n", ("bad.yaml", "key: value")),
    "code": (b"a: !!python/object/apply:os.system ['true']\n", ("bad.yaml", "line 1")),
    "unknown section": (b"trianer:\n  max_epochs: 3\n", ("bad.yaml", "trianer", "Did you mean `trainer")),
    "unknown key": (b"trainer:\n  max_epoch: 3\n", ("`trainer.max_epoch: 3` in bad.yaml", "max_epochs")),
    "unknown option": (
        b"model:\n  class_path: CE\n  init_args:\n    leraning_rate: 0.1\n",
        ("`model.leraning_rate: 0.1` in bad.yaml", "Did you mean `learning_rate`?"),
    ),
    "unknown method": (b"model:\n  class_path: EC\n", ("`model: EC` in bad.yaml", "Did you mean `CE`?")),
    "unknown backbone": (
        b"model:\n  class_path: CE\n  init_args:\n    backbone: MPLScorer\n",
        ("`model.backbone: MPLScorer` in bad.yaml", "Did you mean `MLPScorer`?"),
    ),
    "wrong type": (
        b"trainer:\n  max_epochs: three\n",
        ("`trainer.max_epochs: three` in bad.yaml", "whole number"),
    ),
    "wrong value": (
        b"model:\n  class_path: CE\n  init_args:\n    max_fpr: abc\n",
        ("`model.max_fpr: abc` in bad.yaml", "give a number"),
    ),
    "not a number": (b"model:\n  class_path: CE\n  init_args:\n    max_fpr: .nan\n", ("max_fpr", "nan")),
    "section is a word": (b"trainer: fast\n", ("trainer",)),
}


@pytest.mark.parametrize(("content", "words"), CONFIGS.values(), ids=CONFIGS)
def test_a_bad_config(
    content: bytes, words: tuple[str, ...], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "bad.yaml").write_bytes(content)
    refused(capfd, tmp_path, (*FIT, "-c", "bad.yaml"), *words)


def test_a_config_that_is_not_there_or_is_a_folder(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "folder.yaml").mkdir()
    refused(capfd, tmp_path, (*FIT, "-c", "nothing.yaml"), "nothing.yaml", "neither a file")
    refused(capfd, tmp_path, ("fit", "-c", "digts"), "digts", "digits")
    refused(capfd, tmp_path, (*FIT, "-c", "folder.yaml"), "folder.yaml", "directory")


# ---------------------------------------------------------------------- tables

ROWS = "".join(f"{i % 7},{i % 3},{i % 2}\n" for i in range(60))
TABLES: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "header only": ("a,b,y\n", "", ("table.csv", "no rows")),
    "empty file": ("", "", ("table.csv",)),
    "no label column": (f"a,b,z\n{ROWS}", "", ("label", "y", "a, b, z")),
    "column twice": (f"a,a,y\n{ROWS}", "", ("several columns", "a")),
    "all labels 0": ("a,b,y\n" + "1,2,0\n" * 30, "", ("y", "0")),
    "other labels": (f"a,b,y\n{ROWS}".replace(",1\n", ",yes\n"), "", ("positive_values", "yes")),
    "positive values: none": (f"a,b,y\n{ROWS}", "--data.positive_values=[2]", ("positive_values", "2")),
    "positive values: all": (f"a,b,y\n{ROWS}", "--data.positive_values=[0,1]", ("positive_values",)),
    "positive values: empty": (f"a,b,y\n{ROWS}", "--data.positive_values=[]", ("positive_values",)),
    "ignored label": (f"a,b,y\n{ROWS}", "--data.ignore=[y]", ("ignore", "y", "label")),
    "ignored unknown": (f"a,b,y\n{ROWS}", "--data.ignore=[z]", ("ignore", "z")),
    "nothing left": (f"a,b,y\n{ROWS}", "--data.ignore=[a,b]", ("table.csv", "no input columns")),
    "categorical unknown": (f"a,b,y\n{ROWS}", "--data.categorical=[z]", ("categorical", "z")),
    "missing values": (f"a,b,y\n,1,0\n{ROWS}", "", ("a (1)", "impute")),
    "missing label": (f"a,b,y\n1,1,\n{ROWS}", "", ("y", "1 of 61")),
    "infinite": (f"a,b,y\ninf,1,0\n{ROWS}", "", ("a", "infinite")),
    "missing unknown": (f"a,b,y\n{ROWS}", "--data.missing=drop", ("--data.missing=drop", "impute")),
    "one positive": ("a,b,y\n" + "1,2,0\n" * 30 + "1,2,1\n", "", ("positive",)),
    "cut off": (f"a,b,y\n{ROWS}1", "", ("cut off", "line 62", "1 of 3 values")),
    "ragged": (f"a,b,y\n{ROWS}1,2,3,4,5\n", "", ("table.csv",)),
}


@pytest.mark.parametrize(("content", "options", "words"), TABLES.values(), ids=TABLES)
def test_a_bad_table(
    content: str, options: str, words: tuple[str, ...], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "table.csv").write_text(content)
    given = ("--model.backbone=LinearScorer", "--data=TabularLT", "--data.path=table.csv", "--data.label=y")
    refused(capfd, tmp_path, ("fit", "-c", "ce", *given, *QUIET, *options.split()), *words)


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("nothing.csv", ("nothing.csv", "no such file")),
        ("table.txt", ("table.txt", ".csv")),
        ("table.parquet", ("table.parquet",)),
        ("table.csv.gz", ("table.csv.gz",)),
    ],
)
def test_a_table_that_cannot_be_read(
    path: str, words: tuple[str, ...], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    if path != "nothing.csv":
        (tmp_path / path).write_text("something else\n")
    given = ("--model.backbone=LinearScorer", "--data=TabularLT", f"--data.path={path}", "--data.label=y")
    refused(capfd, tmp_path, ("fit", "-c", "ce", *given, *QUIET), *words)


# ---------------------------------------------------------------------- image folders


def _images(root: Path) -> None:
    for name in ("ant", "bee"):
        (root / name).mkdir(parents=True)
        for i in range(20):
            Image.new("RGB", (8, 8), (i, i, i)).save(root / name / f"{i}.png")


def _clear(root: Path) -> None:
    for child in root.iterdir():
        shutil.rmtree(child)


IMAGES: dict[str, tuple[Callable[[Path], object], str, tuple[str, ...]]] = {
    "no folder": (shutil.rmtree, "", ("root", "photos")),
    "empty folder": (_clear, "", ("photos",)),
    "one class": (lambda root: shutil.rmtree(root / "ant"), "", ("photos",)),
    "unknown class": (lambda root: None, "--data.positive_classes=[cat]", ("positive_classes", "cat", "ant")),
    "corrupt": (lambda root: (root / "bee/3.png").write_bytes(b"no image"), "", ("3.png",)),
    "cut": (
        lambda root: (root / "bee/3.png").write_bytes((root / "bee/3.png").read_bytes()[:40]),
        "",
        ("3.png",),
    ),
    "corrupt in a worker": (
        lambda root: (root / "bee/3.png").write_bytes(b"no image"),
        "--data.in_memory=false --data.num_workers=1 --model.max_fpr=1 --model.regions=[]",
        ("3.png",),
    ),
    "size": (lambda root: None, "--data.image_size=0", ("image_size", "0")),
}


@pytest.mark.parametrize(("spoil", "options", "words"), IMAGES.values(), ids=IMAGES)
def test_a_bad_folder(
    spoil: Callable[[Path], object],
    options: str,
    words: tuple[str, ...],
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    _images(tmp_path / "photos")
    spoil(tmp_path / "photos")
    given = ("--model.backbone=LinearScorer", "--data=ImageFolderLT", "--data.root=photos")
    positive = () if "positive_classes" in options else ("--data.positive_classes=[bee]",)
    small = ("--data.image_size=8", "--data.crop_padding=0") if "image_size" not in options else ()
    cache = ("--data.cache_dir=null",)
    refused(
        capfd,
        tmp_path,
        ("fit", "-c", "ce", *given, *positive, *small, *cache, *QUIET, *options.split()),
        *words,
    )


# ---------------------------------------------------------------------- checkpoints


@pytest.fixture(scope="module")
def finished_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of one epoch, made once; tests work on copies."""
    folder = tmp_path_factory.mktemp("finished")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["pauc"])
        main([*FIT, "--trainer.max_epochs=1", f"--run_dir={folder}", "--run_name=run"])
    return folder / "run/version_0"


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-2000])


def _flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    middle = len(content) // 2
    content[middle : middle + 8] = bytes(255 - byte for byte in content[middle : middle + 8])
    path.write_bytes(content)


def _make_directory(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _replace(path: Path, content: object) -> None:
    torch.save(content, path)


DAMAGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "text": (lambda path: path.write_text("weights"), "not a checkpoint"),
    "empty": (lambda path: path.write_bytes(b""), "damaged"),
    "dictionary": (lambda path: _replace(path, {"a": 1}), "not a checkpoint"),
    "list": (lambda path: _replace(path, [1, 2]), "not a checkpoint"),
    "state_dict": (lambda path: _replace(path, {"w": torch.zeros(2)}), "state_dict"),
    "cut": (_cut, "damaged"),
    "flipped bytes": (_flip, "damaged"),
    "directory": (_make_directory, "directory"),
    "missing": (lambda path: path.unlink(), "no such file"),
}
USES: dict[str, tuple[str, ...]] = {
    "fit": (*FIT, "--ckpt_path=some.ckpt"),
    "test": ("test", "-c", "digits", "-c", "ce", *QUIET, "--ckpt_path=some.ckpt"),
    "predict": ("predict", "-c", "digits", "-c", "ce", *QUIET, "--ckpt_path=some.ckpt"),
    "validate": ("validate", "-c", "digits", "-c", "ce", *QUIET, "--ckpt_path=some.ckpt"),
    "init_weights": (*FIT, "--model.init_weights=some.ckpt"),
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_bad_checkpoint(
    use: str, damage: str, finished_run: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    spoil, words = DAMAGES[damage]
    shutil.copy(finished_run / "checkpoints/last.ckpt", tmp_path / "some.ckpt")
    spoil(tmp_path / "some.ckpt")
    capfd.readouterr()
    refused(capfd, tmp_path, USES[use], "some.ckpt", words)


@pytest.mark.parametrize("command", ["resume", "test", "predict", "validate"])
def test_a_bad_run(
    command: str, finished_run: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "run"
    shutil.copytree(finished_run, run)
    name = "last" if command == "resume" else "best"
    capfd.readouterr()
    refused(capfd, tmp_path, (command, "run", "--model.omgea=3"), "--model.omgea=3", "CE has no option")
    refused(capfd, tmp_path, (command, "run", "--ckpt_path=other.ckpt"), "other.ckpt", "no such file")
    _flip(run / f"checkpoints/{name}.ckpt")
    refused(capfd, tmp_path, (command, "run"), f"{name}.ckpt", "damaged")
    (run / f"checkpoints/{name}.ckpt").unlink()
    refused(capfd, tmp_path, (command, "run"), f"no {name} checkpoint", "--ckpt_path")
    shutil.rmtree(run / "checkpoints")
    refused(capfd, tmp_path, (command, "run"), "run")
    (run / "config.yaml").write_text("a: [")
    refused(capfd, tmp_path, (command, "run"), "config.yaml", "line 1")


def test_a_checkpoint_of_another_backbone(
    finished_run: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    shutil.copy(finished_run / "checkpoints/last.ckpt", tmp_path / "some.ckpt")
    capfd.readouterr()
    for use in USES.values():
        refused(capfd, tmp_path, (*use, "--model.backbone=LinearScorer"), "some.ckpt", "LinearScorer")


# ---------------------------------------------------------------------- places


def test_a_run_dir_that_is_a_file(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "taken").write_text("mine")
    refused(capfd, tmp_path, (*FIT, "--run_dir=taken"), "taken", "directory")
    refused(capfd, tmp_path, (*FIT, "--run_dir=taken/below"), "taken", "directory")
    refused(capfd, tmp_path, (*FIT, f"--run_name={'x' * 300}"), "xxx", "shorter")
    refused(capfd, tmp_path, (*FIT, "--run_dir=/proc/nothing"), "/proc/nothing")


@pytest.mark.parametrize(
    "code", [errno.ENOSPC, errno.EROFS, errno.EACCES, errno.EDQUOT], ids=errno.errorcode.get
)
def test_a_place_that_cannot_be_written_to(
    code: int, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The system refuses to make the run's directory, and then to write its first file."""

    def refuse(path: Any, *arguments: Any, **options: Any) -> None:
        raise OSError(code, os.strerror(code), str(path))

    with monkeypatch.context() as patch:
        patch.setattr(Path, "mkdir", refuse)
        refused(capfd, tmp_path, FIT, "runs", ". ")
    if code == errno.EACCES:
        return  # a file that is open may be written
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", refuse)
        refused(capfd, tmp_path, FIT, "config.yaml")


def test_a_config_without_permission(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "secret.yaml").write_text("seed_everything: 1\n")
    read_text = Path.read_text

    def refuse(path: Path, *arguments: Any, **options: Any) -> str:
        if path.name == "secret.yaml":
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return read_text(path, *arguments, **options)

    monkeypatch.setattr(Path, "read_text", refuse)
    refused(capfd, tmp_path, (*FIT, "-c", "secret.yaml"), "secret.yaml", "permission")


class Limited(NamedTuple):
    """A process with less than this one: run it with `run`."""

    command: tuple[str, ...]
    prepare: Callable[[], None]

    def run(self, folder: Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "pauc_lightning", *self.command],
            cwd=folder,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
            preexec_fn=self.prepare,
            capture_output=True,
            text=True,
            timeout=300,
        )


def test_files_may_not_become_large_enough(tmp_path: Path) -> None:
    """`ulimit -f`: the first checkpoint does not fit, which is said, and nothing half-written is left."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))

    done = Limited((*FIT, "--trainer.max_epochs=1"), limit).run(tmp_path)
    assert done.returncode == 2, done.stderr
    (said,) = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    assert "Traceback" not in done.stderr
    assert ".ckpt" in said
    assert "ulimit -f" in said
    assert not [path for path in tmp_path.rglob("*") if path.suffix in (".ckpt", ".partial")]
