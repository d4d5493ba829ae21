"""The module map: imports between packages point one way, also those inside functions."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "pauc_lightning"
FLOORS = (
    ("errors", "__version__"),
    ("arguments", "config_files", "durations", "files", "lazy", "nearest", "region", "run_directory"),
    ("own_code",),
    ("checkpoint_io", "distributed", "rng"),
    ("metrics.functional", "loggers", "run_files"),
    ("calibration", "decisions", "metrics", "plotting", "objectives", "data", "models"),
    ("optim", "trees"),
    ("methods", "sklearn"),
    ("callbacks", "inference"),
    (
        "advice",
        "cli",
        "experiments",
        "export",
        "features",
        "report",
        "figures",
        "tuning",
        "benchmarks",
        "data_command",
        "__main__",
    ),
)
"""From the foundations up: a room may import from lower floors only. The commands on the top floor share a parser."""
ROOMS = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}


def room(module: str) -> str | None:
    """The room that a module lies in; None for the package itself, which only names what is on the lowest floors."""
    parts = module.split(".")[1:]
    names = (".".join(parts[:length]) for length in range(len(parts), 0, -1))
    return next((name for name in names if name in ROOMS), parts[0] if parts else None)


def imports(path: Path) -> Iterator[tuple[str, int]]:
    """Every module of the package that a file imports, with the line; in type checking, too."""
    modules = {".".join(p.relative_to(PACKAGE.parent).with_suffix("").parts) for p in PACKAGE.rglob("*.py")}
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            assert node.level == 0, f"{path}: relative import"
            for alias in node.names:
                name = f"{node.module}.{alias.name}"
                is_module = name in modules or f"{name}.__init__" in modules
                yield name if is_module else node.module, node.lineno
        elif isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)


def test_every_module_has_its_room() -> None:
    names = {path.relative_to(PACKAGE).with_suffix("").parts[0] for path in PACKAGE.rglob("*.py")}
    assert names - {"__init__"} <= set(ROOMS)


def test_no_arrow_points_backwards() -> None:
    wrong = []
    for path in sorted(PACKAGE.rglob("*.py")):
        relative = path.relative_to(PACKAGE.parent).with_suffix("")
        own = room(".".join(relative.parts).removesuffix(".__init__"))
        for module, line in imports(path):
            other = room(module) if module.partition(".")[0] == PACKAGE.name else None
            if own is None or other is None or other == own:
                continue
            is_command = ROOMS[own] == ROOMS[other] == len(FLOORS) - 1
            if ROOMS[other] >= ROOMS[own] and not is_command:
                wrong.append(f"{relative}.py:{line} ({own}) imports {module} ({other})")
    assert wrong == []


def test_importing_the_methods_loads_neither_pandas_nor_scikit_learn() -> None:
    code = "import sys, pauc_lightning.methods; print(*({'pandas', 'sklearn'} & sys.modules.keys()))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
