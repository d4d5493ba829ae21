"""Real jobs for the tests of the executors: ``from executor_jobs import ...``."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import torch

from pauc_lightning.experiments.executors import Ended, Executor, Job
from pauc_lightning.experiments.live import Progress

CALLBACKS = '''
import os, signal, time
from pathlib import Path
from lightning.pytorch import Callback

class Killer(Callback):
    """Kill this process, or the one that started it, in the first runs of the job."""
    def __init__(self, marks: str, times: int = 1, parent: bool = False) -> None:
        self.marks, self.times, self.parent = Path(marks), times, parent

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        # Only the first rank: if another one died, this one would report a lost connection, which is no death.
        is_time = trainer.is_global_zero and trainer.global_step == 3
        if is_time and len(list(self.marks.iterdir())) < self.times:
            (self.marks / str(os.getpid())).touch()
            os.kill(os.getppid() if self.parent else os.getpid(), signal.SIGKILL)
            time.sleep(60)

class Slow(Callback):
    """Take seconds for an epoch."""
    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        time.sleep(0.2)
'''
"""Saved as ``troubles.py`` in the directory in which the jobs run."""
REPORTER = "--trainer.callbacks+=pauc_lightning.experiments.record.ProgressReporter"


def job(name: str, *options: str, method: str = "upauci", threads: int = 1) -> Job:
    """A training of two epochs on the digits, with its test."""
    arguments = ["fit", "-c", "digits", "-c", method, "--trainer.accelerator=cpu", f"--run_name={name}"]
    arguments += [
        "--trainer.max_epochs=2",
        "--trainer.enable_progress_bar=false",
        "--figures.every_n_epochs=0",
    ]
    if method == "upauci":
        arguments += ["--model.warmup_epochs=1"]
    return Job(name, (*arguments, "--test_best=true", REPORTER, *options), threads)


def four_jobs(prefix: str) -> list[Job]:
    """Jobs that differ in method, seed and threads."""
    return [
        job(f"{prefix}-upauci-0"),
        job(f"{prefix}-upauci-1", "--seed_everything=1", "--data.seed=1"),
        job(f"{prefix}-ce-0", method="ce"),
        job(f"{prefix}-threads", "--data.batch_size=512", "--model.backbone.hidden=[512]", threads=2),
    ]


def run_all(
    executor: Executor, jobs: Sequence[Job], on_progress: Callable[[Job, Progress], None] = lambda *_: None
) -> dict[str, Ended]:
    """Run jobs as a caller of executors does."""
    waiting, running, ended = list(jobs), 0, dict[str, Ended]()
    while waiting or running:
        while waiting and running < executor.slots:
            executor.start(waiting.pop(0))
            running += 1
        for end in executor.wait(on_progress):
            ended[end.job.name] = end
            running -= 1
    return ended


def results(names: Iterable[str], version: int = 0) -> list[dict[str, Any]]:
    """The test values and the weights of runs below ``runs``."""
    found = []
    for name in names:
        folder = Path("runs", name, f"version_{version}")
        metrics = json.loads((folder / "test_metrics.json").read_text())
        weights = {
            f"{kind}/{key}": value
            for kind in ("best", "last")
            for key, value in torch.load(folder / f"checkpoints/{kind}.ckpt", weights_only=True)[
                "state_dict"
            ].items()
        }
        found.append({"metrics": metrics, **weights})
    return found


def assert_same(one: Sequence[dict[str, Any]], other: Sequence[dict[str, Any]]) -> None:
    """The results agree in every bit."""
    for first, second in zip(one, other, strict=True):
        assert first.keys() == second.keys()
        assert first["metrics"] == second["metrics"]
        assert all(
            torch.equal(value, second[key]) for key, value in first.items() if isinstance(value, torch.Tensor)
        )


def is_alive(pid: int) -> bool:
    """Whether a process exists and has not ended."""
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (ProcessLookupError, FileNotFoundError):
        return False
