"""What a command does not need is not imported: no Lightning for a help page, no torchmetrics for a function."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

HEAVY = (
    "torch",
    "lightning",
    "torchmetrics",
    "torchvision",
    "pandas",
    "sklearn",
    "matplotlib",
    "wandb",
    "scipy",
)
CALL = "from pauc_lightning.cli import main\ntry: main({arguments!r})\nexcept SystemExit: pass"


def loaded(code: str, cwd: Path) -> set[str]:
    """The heavy packages that a fresh interpreter has imported after running ``code``."""
    report = f"import sys\nprint('loaded:', *(set({HEAVY!r}) & sys.modules.keys()))"
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\n{report}"], cwd=cwd, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return set(done.stdout.splitlines()[-1].split()[1:])


@pytest.mark.parametrize(
    "arguments",
    [
        *(
            "--help",
            "--version",
            "configs",
            "configs --help",
            "benchmark --help",
            "compare --help",
            "features --help",
            "tune --help",
            "export --help",
            "export",
            "report --help",
        ),
        *(
            "fti",
            "fit -c nothing",
            "compare --methods nothing",
            "tune --methods nothing",
            "figure --help",
            "figure convergence --help",
            "figure sensitivity --help",
            "figure quantile --help",
            "figure gains --help",
            "figure gains nothing",
            "figure nothing",
            "figure roc nothing",
            "features --images x",
            "data --help",
            "data",
            "data --export x",
        ),
    ],
)
def test_a_command_that_needs_no_torch_does_not_import_it(arguments: str, tmp_path: Path) -> None:
    assert loaded(CALL.format(arguments=arguments.split()), tmp_path) == set()


@pytest.mark.parametrize(
    "module", ["objectives", "metrics.functional", "metrics", "optim", "data.samplers", "models"]
)
def test_plain_torch_parts_need_only_torch(module: str, tmp_path: Path) -> None:
    assert loaded(f"import pauc_lightning.{module}", tmp_path) <= {"torch"}


def test_lazy_packages_offer_what_they_list() -> None:
    for name in ("data", "metrics"):
        package = import_module(f"pauc_lightning.{name}")
        assert sorted(package.__all__) == sorted(set(package.__all__))
        for member in package.__all__:
            assert getattr(package, member).__name__ == member
            assert member in dir(package)
        with pytest.raises(AttributeError, match="nothing"):
            package.nothing  # noqa: B018


def test_fit_imports_no_library_of_other_data_or_loggers(tmp_path: Path) -> None:
    """Bare names of all classes are known; what only some of them need is imported when they are used."""
    arguments = [
        "fit",
        "--data",
        "GaussianLT",
        "--model",
        "CE",
        "--model.backbone",
        "LinearScorer",
        "--print_config",
    ]
    assert not loaded(CALL.format(arguments=arguments), tmp_path) & {"pandas", "sklearn", "wandb"}
