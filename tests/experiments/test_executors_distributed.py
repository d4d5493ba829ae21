"""Jobs that train on several processes, started by an executor or by torchrun on two "nodes"."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from executor_jobs import CALLBACKS, assert_same, is_alive, job, results, run_all

from pauc_lightning.cli import main
from pauc_lightning.experiments.executors import InProcess
from pauc_lightning.experiments.executors.devices import is_distributed, with_one_device
from pauc_lightning.experiments.live import Progress


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "troubles.py").write_text(CALLBACKS)
    before = [*sys.path]
    yield
    sys.path[:] = before


def test_two_processes_equal_two_nodes_even_if_they_are_killed_once() -> None:
    Path("marks").mkdir()
    Path("two.yaml").write_text("trainer: {devices: 2, strategy: ddp}\n")
    killer = ["--trainer.callbacks+=troubles.Killer", "--trainer.callbacks.marks=marks"]
    seen: list[Progress] = []
    jobs = [job("local", "-c", "two.yaml", *killer)]
    with InProcess(main) as executor:
        ended = run_all(executor, jobs, lambda _, progress: seen.append(progress))
    assert ended["local"].failure is None
    said = ended["local"].said.text
    assert said.count("UPAUCI on the test part of DigitsLT") == 1
    assert "Starting with 2 processes" in said
    assert seen[-1].fraction == 1.0
    killed = [int(mark.name) for mark in Path("marks").iterdir()]
    assert killed
    assert not any(map(is_alive, killed))

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--nnodes=2", "--nproc_per_node=1"]
    torchrun += ["--master_addr=127.0.0.1", f"--master_port={port}"]
    pauc = ["-m", "pauc_lightning", *job("nodes").arguments]
    pauc += ["--trainer.num_nodes=2", "--trainer.devices=1", "--trainer.strategy=ddp"]
    nodes = [
        subprocess.Popen(
            [*torchrun, f"--node_rank={rank}", *pauc],
            env={**os.environ, "OMP_NUM_THREADS": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for rank in range(2)
    ]
    try:
        texts = [node.communicate(timeout=300)[0] for node in nodes]
    finally:
        for node in nodes:
            node.kill()  # harmless if it has ended
    assert [node.returncode for node in nodes] == [0, 0], texts
    assert ["UPAUCI on the test part" in text for text in texts] == [True, False]  # the first node speaks
    assert_same(results(["local"], version=1), results(["nodes"]))


def test_mistakes_of_a_distributed_job_are_recognised() -> None:
    mistaken = job("wrong", "--trainer.devices=2", "--model.max_fpr=2")
    failure = run_all(InProcess(main), [mistaken])["wrong"].failure
    assert failure is not None
    assert failure.is_mistake
    assert failure.reason.startswith("`max_fpr` is a rate in [0, 1], got 2")


def test_devices_are_found_in_options_files_and_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("two.yaml").write_text("trainer: {devices: 2}\n")
    Path("run").mkdir()
    Path("run/config.yaml").write_text("trainer: {devices: '0,1'}\n")
    for arguments in (
        ["fit", "-c", "digits", "-c", "two.yaml"],
        ["fit", "--trainer.devices", "3"],
        ["fit", "--trainer.devices=[0, 2]"],
        ["resume", "run"],
        ["test", "run"],
    ):
        assert is_distributed(arguments), arguments
    for arguments in (
        ["fit", "-c", "digits"],
        ["fit", "--trainer.devices=0,"],
        ["fit", "-c", "no-such-file"],  # the command itself complains
        ["compare", "--trainer.devices=2"],
        [],
    ):
        assert not is_distributed(arguments, gpus=8), arguments
    assert is_distributed(["fit", "--trainer.devices=-1"], gpus=8)
    monkeypatch.setenv("LOCAL_RANK", "0")  # torchrun has started this process as one of several
    assert not is_distributed(["fit", "--trainer.devices=2"])


def test_a_job_uses_one_of_several_gpus_unless_it_names_more() -> None:
    Path("two.yaml").write_text("trainer: {devices: 2}\n")
    assert with_one_device(["fit", "-c", "digits"], gpus=2) == ["fit", "-c", "digits", "--trainer.devices=1"]
    for arguments, gpus in ((["fit", "-c", "digits"], 1), (["fit", "-c", "two.yaml"], 2), (["data"], 2)):
        assert with_one_device(arguments, gpus) == arguments
