"""The wheel and the sdist work by themselves: what they hold, what they need, and that they run elsewhere."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from email.message import Message
from email.parser import Parser
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
import yaml

import pauc_lightning

ROOT = Path(__file__).parent.parent
NOT_FOR_USERS = ("dev", "docs", "release")  # extras that the package itself must not need


def call(*command: str | Path, cwd: Path) -> str:
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    environment["OMP_NUM_THREADS"] = "1"
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the wheel and the sdist, built without a network."""
    directory = tmp_path_factory.mktemp("dist")
    call(sys.executable, "-m", "hatchling", "build", "-d", directory, cwd=ROOT)
    return directory


@pytest.fixture(scope="module")
def wheel(dist: Path) -> Path:
    (path,) = dist.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def sdist(dist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The unpacked sdist."""
    (path,) = dist.glob("*.tar.gz")
    directory = tmp_path_factory.mktemp("sdist")
    with tarfile.open(path) as archive:
        archive.extractall(directory, filter="data")
    (unpacked,) = directory.iterdir()
    return unpacked


@pytest.fixture(scope="module")
def metadata(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        return Parser().parsestr(archive.read(name).decode())


def urls(metadata: Message) -> dict[str, str]:
    """The project's addresses by their names."""
    return dict(line.split(", ") for line in metadata.get_all("Project-URL", []))


def files_below(folder: str) -> set[str]:
    """Paths of the repository's files in a folder, without what Python leaves there."""
    found = (path for path in (ROOT / folder).rglob("*") if path.is_file())
    return {path.relative_to(ROOT).as_posix() for path in found if "__pycache__" not in path.parts}


def test_the_wheel_trains_by_name_from_an_empty_directory(wheel: Path, tmp_path: Path) -> None:
    environment, empty = tmp_path / "environment", tmp_path / "empty"
    call(sys.executable, "-m", "venv", environment, cwd=tmp_path)
    python = environment / "bin/python"
    (packages,) = (environment / "lib").glob("python3*/site-packages")
    # The dependencies, gigabytes of them, are borrowed; a path file does not bring this checkout's editable install.
    (packages / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n")
    call(python, "-m", "pip", "install", "--no-deps", "--no-index", wheel, cwd=tmp_path)
    empty.mkdir()
    assert (
        call(environment / "bin/pauc", "--version", cwd=empty)
        == f"pauc-lightning {pauc_lightning.__version__}\n"
    )
    options = ["--trainer.max_epochs=2", "--model.warmup_epochs=1", "--trainer.accelerator=cpu"]
    said = call(environment / "bin/pauc", "fit", "-c", "digits", "-c", "upauci", *options, cwd=empty)
    assert "Next:  pauc test runs/DigitsLT-UPAUCI/version_0" in said
    where = call(python, "-c", "import pauc_lightning; print(pauc_lightning.__file__)", cwd=empty)
    assert Path(where.strip()).is_relative_to(environment)


def test_the_wheel_holds_the_package_and_the_configs_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert held == files_below("pauc_lightning") | {
        f"pauc_lightning/{name}" for name in files_below("configs")
    }


def test_the_description_has_no_relative_link(metadata: Message) -> None:
    description = metadata.get_payload()
    assert isinstance(description, str)
    targets = re.findall(r"\]\(([^)]*)\)", description)
    assert len(targets) > 5
    assert [target for target in targets if not target.startswith("https://")] == []
    image = re.search(r"!\[[^\]]*\]\((\S+)\)", description)
    assert image is not None
    path = image[1].removeprefix(f"{urls(metadata)['Homepage']}/raw/main/")
    assert (ROOT / path).is_file(), image[1]


def test_the_citation_is_of_this_version_and_address(metadata: Message) -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["version"] == metadata["Version"] == pauc_lightning.__version__
    assert citation["repository-code"] == citation["url"] == urls(metadata)["Homepage"]


def test_every_import_is_a_declared_dependency(metadata: Message) -> None:
    required = set()
    for line in metadata.get_all("Requires-Dist", []):
        extra = re.search(r"extra == '(\w+)'", line)
        if extra is None or extra[1] not in NOT_FOR_USERS:
            required.add(normalized(re.split(r"[^\w.-]", line)[0]))
    distributions = packages_distributions()
    undeclared = {
        (module, path.name)
        for path in (ROOT / "pauc_lightning").rglob("*.py")
        for module in imported_modules(path)
        # The module's own name, too: xgboost-cpu provides xgboost as well, and the tests have the smaller one.
        if not required & {normalized(name) for name in (module, *distributions.get(module, ()))}
    }
    assert not undeclared


def normalized(distribution: str) -> str:
    return re.sub(r"[-_.]+", "-", distribution).lower()


def imported_modules(path: Path) -> set[str]:
    """Top-level names that a file imports anywhere in it, without the standard library and this package."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            names.add(node.module.split(".")[0])
    return names - {"pauc_lightning", *sys.stdlib_module_names}


def test_the_sdist_holds_what_the_repository_holds(sdist: Path) -> None:
    for folder in ("pauc_lightning", "configs", "tests", "docs", "notebooks", ".ci", ".github"):
        missing = files_below(folder) - {path.relative_to(sdist).as_posix() for path in sdist.rglob("*")}
        assert not missing
    for name in ("Makefile", "mkdocs.yml", "hatch_build.py", ".pre-commit-config.yaml", "CITATION.cff"):
        assert (sdist / name).is_file(), name


def test_the_tests_of_the_sdist_run_in_it(sdist: Path) -> None:
    """A fast selection that reads configs, docs and the README, and imports helpers from tests/."""
    selection = ("test_readme.py", "test_docs.py", "test_config_files.py", "test_region.py")
    options = ["-q", "-p", "no:cacheprovider", "-k", "not follow_the_page"]
    said = call(sys.executable, "-m", "pytest", *options, *(f"tests/{name}" for name in selection), cwd=sdist)
    assert re.search(r"\d+ passed", said)
    where = call(sys.executable, "-c", "import pauc_lightning; print(pauc_lightning.__file__)", cwd=sdist)
    assert Path(where.strip()).is_relative_to(sdist)
