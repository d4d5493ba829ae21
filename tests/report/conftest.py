"""Two small runs that were really trained and tested, for all tests of reports."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from pauc_lightning.cli import main

SHORT = (
    "--trainer.max_epochs=4",
    "--trainer.accelerator=cpu",
    "--trainer.enable_progress_bar=false",
    "--figures.every_n_epochs=0",
    "--trainer.log_every_n_steps=2",
)


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the runs ``ce`` and ``upauci``, for FPR ≤ 0.2 on the digits; both are tested."""
    folder = tmp_path_factory.mktemp("report")
    for method in ("ce", "upauci"):
        main(
            [
                *("fit", "-c", "digits", "-c", method, f"--run_dir={folder}", f"--run_name={method}"),
                *("--model.max_fpr=0.2", "--model.warmup_epochs=1", *SHORT),
            ]
        )
        main(["test", str(folder / method / "version_0"), "--trainer.enable_progress_bar=false"])
    return folder


@pytest.fixture
def runs(trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the runs that a test may damage, in ``runs/`` of an empty current directory."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(trained, tmp_path / "runs")
    return Path("runs")
