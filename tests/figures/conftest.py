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


@pytest.fixture(scope="session")
def warmed_up(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A comparison whose methods start from a common warm-up, on the digits."""
    out = tmp_path_factory.mktemp("warmed") / "up"
    options = [word if word != "--region" else "--regions" for word in TRAIN]
    run("compare", "-c", "digits", *options, "--warmup_epochs", "1", "--out", out)
    return out
