"""A process that trained in a process group leaves it before the interpreter ends."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

# Functions registered earlier are called later: this one sees what is left at the very end.
LAST_WORD = """
import atexit
import torch.distributed as dist
atexit.register(lambda: print("at the end:", dist.is_initialized(), flush=True))
"""
GLOO = """
from datetime import timedelta
from pauc_lightning.cli.process_group import leave_at_exit
{call}
{call}
dist.init_process_group("gloo", init_method="file://{folder}/rendezvous", rank=0, world_size=1)
print("before:", dist.is_initialized())
"""
FIT = """
from lightning.pytorch import Callback
class Says(Callback):
    def on_train_start(self, trainer, pl_module):
        print("before:", dist.is_initialized(), dist.get_backend())
from pauc_lightning.cli import main
import sys
sys.modules["says"] = sys.modules["__main__"]
main(["fit", "-c", "digits", "-c", "ce", "--trainer.accelerator=cpu", "--trainer.strategy=ddp", "--trainer.devices=1",
      "--trainer.max_epochs=1", "--figures.every_n_epochs=0", "--trainer.callbacks+=says.Says"])
"""


def said_by(script: str, folder: Path) -> str:
    ended = subprocess.run(
        [sys.executable, "-c", LAST_WORD + script],
        cwd=folder,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def test_the_group_is_left(tmp_path: Path) -> None:
    said = said_by(GLOO.format(call="leave_at_exit()", folder=tmp_path), tmp_path)
    assert said.splitlines() == ["before: True", "at the end: False"]


def test_without_it_the_group_is_still_there(tmp_path: Path) -> None:
    said = said_by(GLOO.format(call="", folder=tmp_path), tmp_path)
    assert said.splitlines() == ["before: True", "at the end: True"]


def test_pauc_fit_leaves_it(tmp_path: Path) -> None:
    said = said_by(FIT, tmp_path)
    assert "before: True gloo" in said
    assert said.splitlines()[-1] == "at the end: False"
