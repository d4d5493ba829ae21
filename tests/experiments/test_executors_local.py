"""Several local processes give the results of one, and survive what happens to them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from executor_jobs import CALLBACKS, assert_same, four_jobs, is_alive, job, results, run_all

from pauc_lightning.cli import main
from pauc_lightning.errors import InputError
from pauc_lightning.experiments.executors import InProcess, LocalProcesses
from pauc_lightning.experiments.live import Progress

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module", autouse=True)
def _folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A directory for all tests of this file, because workers keep theirs."""
    folder, before, path = tmp_path_factory.mktemp("local"), os.getcwd(), [*sys.path]
    os.chdir(folder)
    (folder / "troubles.py").write_text(CALLBACKS)
    yield
    os.chdir(before)
    sys.path[:] = path


@pytest.fixture(scope="module")
def pool(_folder: None) -> Iterator[LocalProcesses]:
    with LocalProcesses(4) as executor:
        yield executor


def test_results_are_those_of_one_process_in_any_order(pool: LocalProcesses) -> None:
    seen: dict[str, list[Progress]] = {}
    jobs = four_jobs("many")
    ended = run_all(pool, jobs[::-1], lambda job, progress: seen.setdefault(job.name, []).append(progress))
    assert {name: end.failure for name, end in ended.items()} == dict.fromkeys(ended)
    assert "UPAUCI on the test part of DigitsLT" in ended["many-upauci-0"].said.text
    assert seen.keys() == {job.name for job in jobs}
    for progress in seen.values():
        assert [p.fraction for p in progress] == sorted(p.fraction for p in progress)
        assert (progress[0].epoch, progress[-1].fraction) == (1, 1.0)
        assert progress[-1].value is not None
    one = four_jobs("one")
    with InProcess(main) as executor:
        run_all(executor, one)
    expected = results(job.name for job in one)
    assert_same(results(job.name for job in jobs), expected)
    again = run_all(pool, four_jobs("many"))  # the workers have run other jobs before
    assert not any(end.failure for end in again.values())
    assert_same(results((job.name for job in jobs), version=1), expected)


def test_a_job_whose_process_is_killed_is_run_again(pool: LocalProcesses) -> None:
    Path("marks").mkdir()
    jobs = [
        job("once", "--trainer.callbacks+=troubles.Killer", "--trainer.callbacks.marks=marks"),
        job("beside"),
    ]
    ended = run_all(pool, jobs)
    assert {name: end.failure for name, end in ended.items()} == {"once": None, "beside": None}
    (warning,) = ended["once"].said.warnings
    assert warning.startswith("The job was run again, because its process was killed by SIGKILL")
    assert_same(results(["once"], version=1), results(["beside"]))
    (killed,) = Path("marks").iterdir()
    assert not is_alive(int(killed.name))


def test_a_job_whose_process_is_killed_twice_fails_with_a_sentence(pool: LocalProcesses) -> None:
    Path("more").mkdir()
    options = [f"--trainer.callbacks.{key}" for key in ("marks=more", "times=2")]
    ended = run_all(pool, [job("twice", "--trainer.callbacks+=troubles.Killer", *options)])
    failure = ended["twice"].failure
    assert failure is not None
    assert failure.reason.startswith(
        "It was tried 2 times, but its process was killed by SIGKILL (if the mem"
    )
    assert not failure.is_mistake


def test_mistakes_and_failures_arrive(pool: LocalProcesses) -> None:
    ended = run_all(pool, [job("typo", "--model.max_fpr=2"), job("nowhere", "--data.seed=-1")])
    for end in ended.values():
        assert end.failure is not None
        assert end.failure.is_mistake
    assert ended["typo"].failure is not None
    assert "max_fpr" in ended["typo"].failure.reason


def test_more_jobs_than_slots_wait_their_turn(pool: LocalProcesses) -> None:
    with pytest.raises(RuntimeError, match="no job"):
        pool.wait(lambda *_: None)
    with LocalProcesses(1) as small:
        for name in ("first", "second"):
            small.start(job(name, "--trainer.max_epochs=1", method="ce"))
        names = [end.job.name for _ in range(2) for end in small.wait(lambda *_: None)]
    assert names == ["first", "second"]


def test_bad_numbers_are_refused() -> None:
    with pytest.raises(InputError, match="`processes` must be a whole number, at least 1, got 0"):
        LocalProcesses(0)


DRIVER = """
import sys
sys.path.insert(0, {tests!r})
from executor_jobs import job
from pauc_lightning.experiments.executors import JobsStopped, LocalProcesses

seen = set()

def on_progress(job, progress):
    if job.name not in seen:
        seen.add(job.name)
        if len(seen) == {n}:
            print("running", *(worker.pid for worker in executor._running), flush=True)

with LocalProcesses({n}) as executor:
    for name in range({n}):
        executor.start(job(f"{name}-{{name}}", "--data.batch_size=16", "--trainer.callbacks+=troubles.Slow"))
    try:
        executor.wait(on_progress)
    except JobsStopped as stopped:
        for end in stopped.ended:
            print(end.failure.reason, "state is saved in" in end.said.text, flush=True)
"""


def start(name: str, n: int) -> tuple[subprocess.Popen[str], list[int]]:
    """A process that runs jobs on ``n`` workers, once all of them train; with the numbers of the workers."""
    code = DRIVER.format(tests=str(ROOT / "tests"), name=name, n=n)
    driver = subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert driver.stdout is not None
    word, *pids = driver.stdout.readline().split()
    assert word == "running"
    return driver, [int(pid) for pid in pids]


def step(name: str) -> int:
    return int(torch.load(f"runs/{name}/version_0/checkpoints/last.ckpt", weights_only=True)["global_step"])


def test_ctrl_c_stops_all_jobs_with_their_states_saved() -> None:
    driver, pids = start("ctrl-c", n=2)
    os.killpg(driver.pid, signal.SIGINT)  # as a terminal does: to all processes
    said, _ = driver.communicate(timeout=120)
    assert said.splitlines() == ["It was stopped. True"] * 2
    assert driver.returncode == 0
    assert not any(map(is_alive, pids))
    assert all(0 < step(f"ctrl-c-{number}") < 34 for number in range(2))


def test_a_killed_parent_leaves_no_process_behind() -> None:
    driver, pids = start("killed", n=1)
    driver.kill()
    driver.communicate(timeout=60)
    deadline = time.monotonic() + 120
    while any(map(is_alive, pids)) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not any(map(is_alive, pids))
    assert 0 < step("killed-0") < 34  # stopped in the first epoch, and saved
