"""The notebooks run from top to bottom and show their figures."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

NOTEBOOKS = Path(__file__).parent.parent / "notebooks"


def run(name: str) -> tuple[dict[str, Any], list[dict[str, bytes]]]:
    """Execute a notebook's code cells in one namespace, as a kernel would.

    Returns:
        The namespace, and for each cell the images that Jupyter would show for its last expression, by MIME type.
    """
    notebook = json.loads((NOTEBOOKS / name).read_text())
    namespace: dict[str, Any] = {}
    shown = []
    for number, cell in enumerate(notebook["cells"]):
        if cell["cell_type"] != "code":
            continue
        assert cell["outputs"] == [], "notebooks are committed without outputs"
        body = ast.parse("".join(cell["source"]))
        last = body.body.pop() if body.body and isinstance(body.body[-1], ast.Expr) else None
        exec(compile(body, f"{name}[{number}]", "exec"), namespace)
        value = None
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), f"{name}[{number}]", "eval"), namespace)
        # Jupyter asks a value for its representations by methods of these names, and prints its repr otherwise.
        png = getattr(value, "_repr_png_", lambda: None)()
        shown.append({"image/png": png} if png else {})
    return namespace, shown


def test_every_notebook_is_tested() -> None:
    assert [path.name for path in NOTEBOOKS.glob("*.ipynb")] == ["the_corner.ipynb"]


def test_the_corner() -> None:
    namespace, shown = run("the_corner.ipynb")
    values, best = namespace["values"], namespace["best"]
    assert values["cross-entropy"] < best - 0.03
    assert values["UPAUCI"] > best - 0.005
    assert shown[-1]["image/png"].startswith(b"\x89PNG")
