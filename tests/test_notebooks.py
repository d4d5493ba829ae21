"""The notebooks run from top to bottom, and the files show what they print and draw."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]  # ships no types
import pytest

from pauc_lightning.metrics.functional import partial_auc_difference

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


def printed(name: str) -> str:
    """What the file shows as text."""
    texts = [
        part
        for cell in cells(name)
        for output in cell["outputs"]
        for part in (output.get("text", ""), output.get("data", {}).get("text/plain", ""))
    ]
    return "\n".join("".join(text) for text in texts)


@pytest.mark.parametrize("name", NAMES)
def test_the_file_holds_the_outputs_of_one_run(name: str) -> None:
    assert [cell["execution_count"] for cell in cells(name)] == list(range(1, len(cells(name)) + 1)), (
        "run it with `make notebooks`"
    )
    assert any(images(name))
    kinds = {output["output_type"] for cell in cells(name) for output in cell["outputs"]}
    assert kinds == {"stream", "execute_result"}


@pytest.mark.parametrize("name", NAMES)
def test_the_file_shows_no_path_of_the_machine_and_no_escape_codes(name: str) -> None:
    assert not re.search(r"(?<![\w.])/(tmp|home|root|Users|private|var)/|\x1b", printed(name))


@pytest.mark.parametrize("name", NAMES)
def test_links_lead_somewhere(name: str) -> None:
    notebook = json.loads((NOTEBOOKS / name).read_text(encoding="utf-8"))
    texts = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "markdown"]
    for target, _, heading in re.findall(r"\]\(([^)#\s]+)(#([^)\s]+))?\)", "\n".join(texts)):
        page = NOTEBOOKS / target
        assert page.is_file(), target
        headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
        anchors = [re.sub(r"[^\w -]", "", title).lower().replace(" ", "-") for title in headings]
        assert not heading or heading in anchors


def test_every_notebook_is_tested() -> None:
    assert NAMES == [
        "frozen_features.ipynb",
        "own_table.ipynb",
        "sklearn_pipeline.ipynb",
        "the_corner.ipynb",
    ]


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


def test_own_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # the notebook goes to a folder of its own; this leads back afterwards
    namespace, shown = run("own_table.ipynb")
    assert [bool(image) for image in shown] == images("own_table.ipynb")

    # The yardstick is as good as scikit-learn's, and the model for the corner is ahead of it on the same samples.
    values = namespace["in_corner"]
    assert values["cross-entropy"] == pytest.approx(values["logistic regression"], abs=0.02)
    usual, corner = (namespace["tested"][name] for name in ("cross-entropy", "for the corner"))
    difference = partial_auc_difference(corner.score, usual.score, corner.label, max_fpr=0.01)
    assert difference.low > 0
    splits = namespace["splits"]
    assert (splits.loc["partial_auc"] > splits.loc["ce"]).all()
    assert "No interval excludes zero" in printed("own_table.ipynb")  # as the text says

    # The threshold does what it promises, on claims that no command has seen.
    assert namespace["too_high"]["guaranteed"] < 0.07
    assert 0.35 < namespace["too_high"]["empirical"] < 0.65
    truth = namespace["truth"]
    assert max(values["FPR"] for values in truth.values()) < 0.01
    assert truth["for the corner"]["frauds found"] > truth["cross-entropy"]["frauds found"] + 0.05
    new, new_is_fraud = namespace["new"], namespace["new_is_fraud"]
    assert new.is_alarm[~new_is_fraud].mean() < 0.02
    assert new.is_alarm[new_is_fraud].mean() > 0.4
    assert new.probability[new.is_alarm].min() > new.probability[~new.is_alarm].median()

    # Calibration and the larger model are as the text says.
    errors = {
        name: np.mean((probability - corner.label) ** 2)
        for name, probability in namespace["probabilities"].items()
    }
    assert errors["isotonic"] < errors["platt"]
    network = namespace["tested"]["MLP, cross-entropy"]
    assert partial_auc_difference(network.score, corner.score, corner.label, max_fpr=0.01).value > 0.05


def test_frozen_features(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    namespace, shown = run("frozen_features.ipynb")
    assert [bool(image) for image in shown] == images("frozen_features.ipynb")

    # Each handwritten digit is in one part only, and the new ones are in none.
    features, split = namespace["features"], namespace["data"].split
    originals = [set(features.original.iloc[part]) for part in (split.train, split.val, split.test)]
    originals.append({f"{number:04}" for number in namespace["kept_for_later"]})
    assert len(set.union(*originals)) == sum(map(len, originals))

    # The default batches leave both models half trained; smaller ones do not, and no method is ahead then.
    first = namespace["splits"]["mean"]
    table = pd.read_csv("runs/converged/table.csv").query("quantity == 'test_pauc'").set_index("method")
    assert first["ce"] < first["logistic regression"] - 0.03
    assert table["mean"]["ce"] > first["logistic regression"] - 0.04
    assert table.gain_low["partial_auc"] < 0 < table.gain_high["partial_auc"]
    assert printed("frozen_features.ipynb").count("No interval excludes zero") == 2

    hardest, negatives = namespace["hardest"], namespace["negatives"]
    assert len(hardest) == 20
    assert not (hardest.digit == "8").any()
    assert hardest.score.min() >= negatives.score.drop(hardest.index).max()

    called, is_eight = namespace["decisions"].decision.to_numpy() == 1, namespace["truth"] == 8
    assert len(called) == len(namespace["kept_for_later"])
    assert called[~is_eight].mean() < 0.15
    assert called[is_eight].mean() > 0.6
