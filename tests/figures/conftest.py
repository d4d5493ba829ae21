from __future__ import annotations

import os
from pathlib import Path

import pytest
from figures.trained import TRAIN, run


@pytest.fixture(scope="session")
def comparison(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `pauc figure convergence` makes, on the digits."""
    folder = tmp_path_factory.mktemp("figures")
    before = Path.cwd()
    os.chdir(folder)
    try:
        run("figure", "convergence", *TRAIN)
    finally:
        os.chdir(before)
    return folder / "runs/figures/convergence"
