"""Jobs that are submitted, to this machine as there is no Slurm: submitit's own local cluster."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from executor_jobs import CALLBACKS, assert_same, job, results, run_all

from pauc_lightning.cli import main
from pauc_lightning.errors import InputError
from pauc_lightning.experiments.executors import InProcess, SlurmExecutor


@pytest.fixture(scope="module", autouse=True)
def _folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    folder, before, path = tmp_path_factory.mktemp("slurm"), os.getcwd(), [*sys.path]
    os.chdir(folder)
    (folder / "troubles.py").write_text(CALLBACKS)
    yield
    os.chdir(before)
    sys.path[:] = path


def test_results_are_those_of_one_process_even_if_one_is_killed() -> None:
    Path("marks").mkdir()
    killer = ["--trainer.callbacks+=troubles.Killer", "--trainer.callbacks.marks=marks"]
    seen = []
    with SlurmExecutor(2, cluster="local") as executor:
        jobs = [job("submitted", *killer), job("wrong", "--model.max_fpr=2")]
        ended = run_all(executor, jobs, lambda job, progress: seen.append((job.name, progress.fraction)))
    assert ended["submitted"].failure is None
    assert "killed by SIGKILL" in ended["submitted"].said.warnings[0]
    assert seen[-1] == ("submitted", 1.0)
    failure = ended["wrong"].failure
    assert failure is not None
    assert failure.is_mistake
    run_all(InProcess(main), [job("here")])
    assert_same(results(["submitted"], version=1), results(["here"]))


def test_slurm_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(InputError, match="needs Slurm's command `srun`"):
        SlurmExecutor(1)
    monkeypatch.setitem(sys.modules, "submitit", None)
    with pytest.raises(InputError, match=r"pip install 'pauc-lightning\[slurm\]'"):
        SlurmExecutor(1)


def test_bad_values_are_refused() -> None:
    with pytest.raises(InputError, match="`timeout_min` must be a whole number, at least 1, got 0"):
        SlurmExecutor(1, timeout_min=0)
