"""Run notebooks and keep their outputs in them: ``python docs/site/run_notebooks.py notebooks/*.ipynb``.

What differs from run to run without meaning anything, times and versions, is left out, so that a change of the file is
a change of the notebook.
"""

from __future__ import annotations

import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient


def run(path: Path) -> None:
    """Run one notebook in its folder and write it back."""
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(
        notebook, kernel_name="python3", record_timing=False, resources={"metadata": {"path": path.parent}}
    ).execute()
    notebook.metadata["language_info"] = {"name": "python"}
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = [
                output for output in cell.outputs if output.get("name") != "stderr"
            ]  # progress and warnings
    nbformat.write(notebook, path)


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        run(Path(argument))
