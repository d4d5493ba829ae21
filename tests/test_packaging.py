"""The wheel works by itself: in a fresh environment, from an empty directory."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pauc_lightning

ROOT = Path(__file__).parent.parent


def call(*command: str | Path, cwd: Path) -> str:
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    environment["OMP_NUM_THREADS"] = "1"
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def test_the_wheel_trains_by_name_from_an_empty_directory(tmp_path: Path) -> None:
    call(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", tmp_path / "dist", cwd=ROOT)
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    environment, empty = tmp_path / "environment", tmp_path / "empty"
    call(sys.executable, "-m", "venv", environment, cwd=tmp_path)
    python = environment / "bin/python"
    (packages,) = (environment / "lib").glob("python3*/site-packages")
    # The dependencies, gigabytes of them, are borrowed; a path file does not bring this checkout's editable install.
    (packages / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n")
    call(python, "-m", "pip", "install", "--no-deps", "--no-index", wheel, cwd=tmp_path)
    empty.mkdir()
    assert (
        call(environment / "bin/pauc", "--version", cwd=empty)
        == f"pauc-lightning {pauc_lightning.__version__}\n"
    )
    options = ["--trainer.max_epochs=2", "--model.warmup_epochs=1", "--trainer.accelerator=cpu"]
    said = call(environment / "bin/pauc", "fit", "-c", "digits", "-c", "upauci", *options, cwd=empty)
    assert "Next:  pauc test runs/DigitsLT-UPAUCI/version_0" in said
    where = call(python, "-c", "import pauc_lightning; print(pauc_lightning.__file__)", cwd=empty)
    assert Path(where.strip()).is_relative_to(environment)
