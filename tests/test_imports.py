"""What importing a part of the package loads."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = ("lightning", "torchmetrics", "matplotlib", "sklearn", "pandas", "wandb", "torchvision")


def loaded_by(module: str) -> set[str]:
    """The heavy libraries that a fresh process has loaded after an import."""
    code = (
        f"import {module}, sys; print(*({{name.partition('.')[0] for name in sys.modules}} & set({HEAVY})))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.mark.parametrize(
    "module", ["pauc_lightning.metrics.functional", "pauc_lightning.experiments.compare"]
)
def test_importing_it_loads_nothing_heavy(module: str) -> None:
    assert loaded_by(module) == set()
