"""The commands and the code of docs/from-a-table-to-decisions.md, from top to bottom in an empty directory."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]  # ships no types
import pytest

from pauc_lightning.cli import main
from pauc_lightning.data.example_claims import example_claims

PAGE = Path(__file__).parents[1] / "docs" / "from-a-table-to-decisions.md"
RUN = Path("runs/TabularLT-PartialAUC/version_0")


@pytest.fixture(scope="module")
def walked(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """The directory after the last line of the page, and the names that its code has defined."""
    folder = tmp_path_factory.mktemp("walk")
    names: dict[str, Any] = {}
    text = PAGE.read_text(encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for language, block in re.findall(r"^```(\w+)\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
            if language == "yaml":
                (folder / "claims.yaml").write_text(block, encoding="utf-8")
            elif language == "python":
                exec(compile(block, PAGE.name, "exec"), names)
            elif language == "sh":
                for line in block.replace("\\\n", " ").splitlines():
                    words = shlex.split(line, comments=True)
                    if words[0] == "pauc":
                        main(words[1:])
                    else:
                        assert words[:2] == ["pip", "install"]
    return folder, names


def test_the_threshold_is_guaranteed_and_decides(walked: tuple[Path, dict[str, Any]]) -> None:
    folder, _ = walked
    content = json.loads((folder / RUN / "operating_points.json").read_text())
    point = next(point for point in content["points"] if point["target_fpr"] == 0.01)
    assert content["n_neg"] >= point["negatives_needed"] == 299
    threshold = point["guaranteed"]["threshold"]
    decisions = pd.read_csv(folder / "decisions.csv")
    assert decisions.decision.tolist() == (decisions.score >= threshold).astype(int).tolist()
    assert decisions.claim_id.tolist() == pd.read_csv(folder / "new_claims.csv").claim_id.tolist()
    assert decisions.probability.between(0, 1).all()


def test_the_rates_are_as_promised(walked: tuple[Path, dict[str, Any]]) -> None:
    folder, _ = walked
    (tested,) = (folder / RUN / "test").glob("*/test_intervals.json")
    point = next(
        one for one in json.loads(tested.read_text())["operating_points"] if one["target_fpr"] == 0.01
    )
    assert point["fpr"]["low"] <= 0.01
    assert point["tpr"]["value"] > 0.4
    # The outcomes of the new claims, which no command has seen.
    is_fraud = np.array(example_claims(2000, seed=1, with_new_channel=True)["outcome"]) == "fraud"
    decision = pd.read_csv(folder / "decisions.csv").decision.to_numpy()
    assert decision[~is_fraud].mean() < 0.02
    assert decision[is_fraud].mean() > 0.4


def test_onnx_and_python_decide_alike(walked: tuple[Path, dict[str, Any]]) -> None:
    folder, names = walked
    decisions = pd.read_csv(folder / "decisions.csv")
    np.testing.assert_allclose(names["score"], decisions.score, atol=1e-6)
    np.testing.assert_allclose(names["probability"], decisions.probability, atol=1e-5)
    assert names["decision"].tolist() == (decisions.decision == 1).tolist()
    assert names["flagged"].tolist() == (decisions.decision == 1).tolist()


def test_the_report_compares_the_two_runs(walked: tuple[Path, dict[str, Any]]) -> None:
    folder, _ = walked
    report = (folder / "report.html").read_text(encoding="utf-8")
    assert "TabularLT-CE" in report
    assert "TabularLT-PartialAUC" in report


def test_the_pipeline_keeps_the_rate(walked: tuple[Path, dict[str, Any]]) -> None:
    folder, names = walked
    called, is_fraud = names["called"], (names["y_test"] == "fraud").to_numpy()
    assert called[~is_fraud].mean() < 0.02
    assert called[is_fraud].mean() > 0.4
    assert set(pd.read_csv(folder / "pipeline_decisions.csv").decision) == {"fraud", "honest"}
