"""The losses and the optimizers are plain torch: importing them loads none of the heavy libraries."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = (
    "lightning",
    "torchmetrics",
    "sklearn",
    "pandas",
    "torchvision",
    "matplotlib",
    "wandb",
    "jsonargparse",
)


@pytest.mark.parametrize("package", ["pauc_lightning.objectives", "pauc_lightning.optim"])
def test_only_torch_is_loaded(package: str) -> None:
    script = f"import sys, {package}; print(*sorted({{name.partition('.')[0] for name in sys.modules}}))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    loaded = done.stdout.split()
    assert "torch" in loaded
    assert not set(loaded) & set(HEAVY)


def test_losses_do_not_know_the_optimizers() -> None:
    script = "import sys, pauc_lightning.objectives; print('pauc_lightning.optim' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
