"""The notebooks run from top to bottom and show what they say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

NOTEBOOKS = Path(__file__).parent.parent / "notebooks"


def run(name: str) -> dict[str, Any]:
    """Execute a notebook's code cells in one namespace, as a kernel would."""
    notebook = json.loads((NOTEBOOKS / name).read_text())
    namespace: dict[str, Any] = {}
    for number, cell in enumerate(notebook["cells"]):
        if cell["cell_type"] == "code":
            assert cell["outputs"] == [], "notebooks are committed without outputs"
            exec(compile("".join(cell["source"]), f"{name}[{number}]", "exec"), namespace)
    return namespace


def test_every_notebook_is_tested() -> None:
    assert [path.name for path in NOTEBOOKS.glob("*.ipynb")] == ["the_corner.ipynb"]


def test_the_corner() -> None:
    namespace = run("the_corner.ipynb")
    values, best = namespace["values"], namespace["best"]
    assert values["cross-entropy"] < best - 0.03
    assert values["UPAUCI"] > best - 0.005
    assert isinstance(namespace["figure"], Figure)
