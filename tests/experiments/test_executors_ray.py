"""A real Ray on this machine gives the results of one process, and survives what happens to its workers."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from executor_jobs import CALLBACKS, assert_same, four_jobs, job, results, run_all

from pauc_lightning.cli import main
from pauc_lightning.errors import InputError
from pauc_lightning.experiments.executors import Executor, InProcess, Job, JobsStopped, RayExecutor
from pauc_lightning.experiments.executors.ray_executor import Host
from pauc_lightning.experiments.live import Progress


@pytest.fixture(scope="module", autouse=True)
def _folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A directory for all tests of this file, because workers keep theirs."""
    folder, before, path = tmp_path_factory.mktemp("ray"), os.getcwd(), [*sys.path]
    os.chdir(folder)
    (folder / "troubles.py").write_text(CALLBACKS)
    yield
    os.chdir(before)
    sys.path[:] = path


@pytest.mark.parametrize(
    ("address", "sentence"),
    [
        (
            "127.0.0.1:1",
            r"No Ray cluster answers at `address=127.0.0.1:1` \(.*refused\): check the addre",
        ),
        (
            "somewhere",
            "`address` must be local, auto or HOST:PORT, such as 10.0.0.1:6379, got 'somewhere'",
        ),
    ],
)
def test_an_address_without_a_cluster_is_refused(address: str, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        RayExecutor(1, address)


def test_ray_is_optional(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(InputError, match=r"needs the package Ray: pip install 'pauc-lightning\[ray\]'"):
        RayExecutor(1)


@pytest.fixture(scope="module")
def cluster(_folder: None) -> Iterator[Executor]:
    with RayExecutor(2, "local") as executor:
        yield executor


def test_results_are_those_of_one_process(cluster: Executor, capfd: pytest.CaptureFixture[str]) -> None:
    seen: dict[str, list[Progress]] = {}
    jobs = four_jobs("ray")
    order = [jobs[3], jobs[1], jobs[0], jobs[2]]  # the job with two threads takes the room of two others
    ended = run_all(cluster, order, lambda job, progress: seen.setdefault(job.name, []).append(progress))
    assert {name: end.failure for name, end in ended.items()} == dict.fromkeys(ended)
    assert "UPAUCI on the test part of DigitsLT" in ended["ray-upauci-0"].said.text
    assert {name: values[-1].fraction for name, values in seen.items()} == {job.name: 1.0 for job in jobs}
    one = four_jobs("one")
    run_all(InProcess(main), one)
    assert_same(results(job.name for job in jobs), results(job.name for job in one))
    said = capfd.readouterr()
    assert (said.out, said.err) == ("", "")  # Ray keeps quiet


@pytest.mark.parametrize("parent", ["true", "false"])
def test_a_job_whose_worker_is_killed_is_run_again(cluster: Executor, parent: str) -> None:
    """Either the process that trains, or Ray's own that stands for its node."""
    name = f"killed-{parent}"
    Path(name).mkdir()
    options = [f"--trainer.callbacks.{key}" for key in (f"marks={name}", f"parent={parent}")]
    end = run_all(cluster, [job(name, "--trainer.callbacks+=troubles.Killer", *options)])[name]
    assert end.failure is None
    (warning,) = end.said.warnings
    assert ("its Ray worker or the node" if parent == "true" else "killed by SIGKILL") in warning
    assert_same(results([name], version=1), results(["one-upauci-0"]))


def test_a_node_that_does_not_share_the_directory_is_named(cluster: Executor) -> None:
    with RayExecutor(1) as executor:
        assert isinstance(executor, RayExecutor)
        executor._mark(Path("runs").absolute()).unlink()  # as on a node with another file system
        executor.start(job("unshared"))
        with pytest.raises(
            InputError, match=r"The node \S+ of the Ray cluster does not see `.*runs`: put the runs"
        ):
            executor.wait(lambda *_: None)


def test_a_node_with_another_version_is_named(tmp_path: Path) -> None:
    (tmp_path / "mark").touch()
    complaint = Host().prepare(str(tmp_path), str(tmp_path / "mark"), {"torch": "1.0"})
    assert complaint is not None
    assert "of the Ray cluster has torch" in complaint
    assert complaint.endswith("but this machine has 1.0: install the same version.")


def test_a_job_that_fits_no_node_is_refused(cluster: Executor) -> None:
    with pytest.raises(InputError, match="No node of the Ray cluster has 100000 CPUs and 0 GPUs"):
        cluster.start(Job("large", ("fit",), threads=100_000))
    with pytest.raises(InputError, match="`gpus_per_job` must be a finite number of at least 0, got -1"):
        RayExecutor(1, gpus_per_job=-1)


def test_ctrl_c_stops_the_jobs_with_their_states_saved(cluster: Executor) -> None:
    def interrupt(job: Job, progress: Progress) -> None:
        if progress.fraction > 0:
            raise KeyboardInterrupt

    cluster.start(job("stopped", "--data.batch_size=16", "--trainer.callbacks+=troubles.Slow"))
    with pytest.raises(JobsStopped) as stopped:
        cluster.wait(interrupt)
    (end,) = stopped.value.ended
    assert end.failure is not None
    assert end.failure.reason == "It was stopped."
    assert "the state is saved in runs/stopped/version_0/checkpoints/last.ckpt" in end.said.text
