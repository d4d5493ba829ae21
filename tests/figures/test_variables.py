"""`pauc figure variables`: trained values, saddle points and closed forms, as the runs logged them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from figures.trained import EPOCHS, SEEDS, check_files, run

from pauc_lightning.plotting.variables import Trajectory, plot_variables


def test_the_values_are_those_of_the_runs(comparison: Path, tmp_path: Path) -> None:
    run("figure", "variables", comparison, "--out", tmp_path)
    rows = check_files(tmp_path, "variables")
    assert {row["method"] for row in rows} == {"upauci"}  # cross-entropy has none
    assert len(rows) == len(SEEDS) * EPOCHS * 5
    (checkpoint,) = comparison.glob("upauci-*-seed0/version_0/checkpoints/last.ckpt")
    state = torch.load(checkpoint, weights_only=True)["state_dict"]
    for row in rows:
        if (row["seed"], row["epochs"]) == ("0", str(EPOCHS)):
            trained = float(state[f"objective.{row['variable']}"])
            assert float(row["trained"]) == pytest.approx(trained, abs=1e-6)


def test_runs_without_the_values_are_refused(
    comparison: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder,) = comparison.glob("ce-*-seed0/version_0")
    with pytest.raises(SystemExit):
        run("figure", "variables", folder, "--out", tmp_path)
    assert (
        "trained with --trainer.callbacks+=pauc_lightning.callbacks.TrainingCurve" in capsys.readouterr().err
    )


def test_lines_are_means_over_the_seeds() -> None:
    epochs = np.array([1.0, 2.0])
    kinds = {
        "end": [np.array([0.0, 0.2]), np.array([0.2, 0.4])],
        "saddle": [np.array([0.5, 0.5]), np.array([0.7, 0.9])],
        "exact": [np.array([0.9, 0.9])] * 2,
    }
    figure = plot_variables(
        {"UPAUCI": {name: Trajectory(epochs, kinds) for name in ("a", "b", "gamma", "s_neg")}}
    )
    assert len(figure.axes) == 3  # a and b share a panel
    end, saddle, exact, *_ = figure.axes[0].lines
    np.testing.assert_allclose(np.asarray(end.get_ydata()), [0.1, 0.3])
    np.testing.assert_allclose(np.asarray(saddle.get_ydata()), [0.6, 0.7])
    np.testing.assert_allclose(np.asarray(exact.get_ydata()), [0.9, 0.9])
    assert [text.get_text() for ax in figure.axes for text in ax.texts] == ["a", "b", "γ", "s′"]
