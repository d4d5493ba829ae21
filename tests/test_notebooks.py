"""The notebooks run from top to bottom, and the files show what they print and draw."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest

NOTEBOOKS = Path(__file__).parent.parent / "notebooks"
NAMES = sorted(path.name for path in NOTEBOOKS.glob("*.ipynb"))


def cells(name: str) -> list[dict[str, Any]]:
    """The code cells of a notebook."""
    notebook = json.loads((NOTEBOOKS / name).read_text(encoding="utf-8"))
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def run(name: str) -> tuple[dict[str, Any], list[dict[str, bytes]]]:
    """Execute a notebook's code cells in one namespace, as a kernel would.

    Returns:
        The namespace, and for each cell the images that Jupyter would show for its last expression, by MIME type.
    """
    namespace: dict[str, Any] = {}
    shown = []
    for number, cell in enumerate(cells(name)):
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


def images(name: str) -> list[bool]:
    """For each code cell, whether the file holds a picture that it drew."""
    return [any("image/png" in output.get("data", {}) for output in cell["outputs"]) for cell in cells(name)]


@pytest.mark.parametrize("name", NAMES)
def test_the_file_holds_the_outputs_of_one_run(name: str) -> None:
    assert [cell["execution_count"] for cell in cells(name)] == list(range(1, len(cells(name)) + 1)), (
        "run it with `make notebooks`"
    )
    assert any(images(name))
    kinds = {output["output_type"] for cell in cells(name) for output in cell["outputs"]}
    assert "error" not in kinds


def test_every_notebook_is_tested() -> None:
    assert NAMES == ["sklearn_pipeline.ipynb", "the_corner.ipynb"]


def test_the_corner() -> None:
    namespace, shown = run("the_corner.ipynb")
    values, best = namespace["values"], namespace["best"]
    assert values["cross-entropy"] < best - 0.03
    assert values["UPAUCI"] > best - 0.005
    assert shown[-1]["image/png"].startswith(b"\x89PNG")
    assert [bool(image) for image in shown] == images("the_corner.ipynb")


def test_sklearn_pipeline() -> None:
    namespace, shown = run("sklearn_pipeline.ipynb")
    corner = {name: values["partial AUC (FPR ≤ 5 %)"] for name, values in namespace["results"].items()}
    assert corner["PartialAUCClassifier"] > corner["logistic regression"] + 0.03
    is_stopped, is_fraud = namespace["is_stopped"], namespace["is_fraud"]
    assert is_stopped[~is_fraud].mean() < 0.02
    assert is_stopped[is_fraud].mean() > 0.7
    assert [bool(image) for image in shown] == images("sklearn_pipeline.ipynb")
