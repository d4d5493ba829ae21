"""The executors run jobs and report their ends."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence

import numpy as np
import pytest
import torch
from threadpoolctl import threadpool_info

from pauc_lightning.errors import InputError
from pauc_lightning.experiments.executors import InProcess, Job, LocalProcesses, SlurmExecutor, executor_for
from pauc_lightning.experiments.executors.threads import threads
from pauc_lightning.experiments.live import Progress, report


def test_in_process_runs_in_order_and_reports_progress_output_and_threads() -> None:
    seen: list[tuple[str, Progress]] = []

    def pauc(arguments: Sequence[str]) -> None:
        report(Progress(1, 2))
        sys.stdout.write(f"{arguments[0]} with {torch.get_num_threads()}\n")

    before = torch.get_num_threads()
    with InProcess(pauc) as executor:
        executor.start(Job("a", ("first",), threads=2))
        executor.start(Job("b", ("second",), threads=1))
        ended = [*executor.wait(lambda job, p: seen.append((job.name, p))), *executor.wait(lambda *_: None)]
    assert [(end.job.name, end.said.text, end.failure) for end in ended] == [
        ("a", "first with 2\n", None),
        ("b", "second with 1\n", None),
    ]
    assert seen == [("a", Progress(1, 2))]
    assert torch.get_num_threads() == before


def test_in_process_tells_mistakes_from_failures() -> None:
    def pauc(arguments: Sequence[str]) -> None:
        if arguments[0] == "mistake":
            sys.stdout.write("error: No such file.\n")
            raise SystemExit(2)
        raise RuntimeError("boom")

    executor = InProcess(pauc)
    executor.start(Job("a", ("mistake",)))
    executor.start(Job("b", ("crash",)))
    (mistake,), (crash,) = executor.wait(lambda *_: None), executor.wait(lambda *_: None)
    assert mistake.failure is not None
    assert (mistake.failure.reason, mistake.failure.is_mistake) == ("No such file.", True)
    assert crash.failure is not None
    assert (crash.failure.reason, crash.failure.is_mistake) == ("RuntimeError: boom", False)
    assert "Traceback" in crash.said.text


def test_executors_are_made_by_name() -> None:
    def pauc(arguments: Sequence[str]) -> None:
        raise AssertionError

    assert isinstance(executor_for("process", 1, pauc), InProcess)
    processes = executor_for("processes", 3, pauc)
    assert isinstance(processes, LocalProcesses)
    assert processes.slots == 3
    slurm = executor_for("slurm", 2, pauc, cluster="local", timeout_min=5)
    assert isinstance(slurm, SlurmExecutor)
    assert slurm.slots == 2


@pytest.mark.parametrize(
    ("kind", "n", "options", "sentence"),
    [
        ("proceses", 2, {}, "must be one of process, processes, ray, slurm, got 'proceses'. Did you mean"),
        ("processes", 0, {}, "`processes` must be a whole number, at least 1, got 0"),
        ("ray", 2.5, {}, "`processes` must be a whole number, at least 1, got 2.5"),
        (
            "process",
            2,
            {},
            "`processes=2`, but the executor 'process' runs one job at a time: use 'processes'",
        ),
        (
            "ray",
            2,
            {"adress": "local"},
            "`adress` is no option of the executor 'ray'. Did you mean `address`. It has address, gpus_per_job",
        ),
        (
            "processes",
            2,
            {"address": "x"},
            "`address` is no option of the executor 'processes': leave it out",
        ),
    ],
)
def test_bad_executors_are_refused(kind: str, n: int, options: dict[str, str], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        executor_for(kind, n, lambda _: None, **options)


def test_a_host_of_a_worker_needs_no_lightning() -> None:
    """Ray starts one beside each worker, and the worker imports Lightning already."""
    code = (
        "import sys, pauc_lightning.experiments.executors.ray_executor; "
        "import pauc_lightning.experiments.executors.slurm_executor; "
        "print(*({'torch', 'lightning', 'sklearn'} & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_threads_are_limited_for_libraries_and_new_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    np.ones((2, 2)) @ np.ones((2, 2))
    before = [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]
    with threads(2):
        assert (os.environ["OMP_NUM_THREADS"], os.environ["OPENBLAS_NUM_THREADS"]) == ("2", "2")
        assert torch.get_num_threads() == 2
    with threads(1):
        now = [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]
        assert now == [1] * len(before)
    assert os.environ["OMP_NUM_THREADS"] == "7"
    assert "OPENBLAS_NUM_THREADS" not in os.environ
    assert before == [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]
