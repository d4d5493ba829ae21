"""`pauc figure sensitivity`: what is trained with which values, and that the boxes show its results."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import yaml
from figures.trained import check_files, run

from pauc_lightning.experiments.variant import Variant
from pauc_lightning.figures import sensitivity
from pauc_lightning.figures.sensitivity import FIXED, START, USUAL, VALUES, variants_of
from pauc_lightning.methods import PAUCI, UPAUCI
from pauc_lightning.models import LinearScorer
from pauc_lightning.plotting.sensitivity import plot_sensitivity

SHORT = ("--seeds", "0", "--epochs", "1", "--warmup_epochs", "1", "--trainer.accelerator=cpu")


def test_trains_and_draws(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(VALUES, "s_neg", (0.0, 2.0))
    monkeypatch.setitem(VALUES, "omega", (0.5, 1.0))
    options = ("--method", "upauci", "--variables", "s_neg", "omega", "--out", tmp_path)
    run("figure", "sensitivity", *options, *SHORT)
    rows = check_files(tmp_path, "sensitivity")
    labels = [
        ("s_neg", "0.0", START),
        ("s_neg", "2.0", "s_neg_2"),
        ("omega", "0.5", USUAL),
        ("omega", "1.0", "omega_1"),
    ]
    assert [(row["variable"], row["value"]) for row in rows] == [label[:2] for label in labels]
    settings = {}
    for row, (_, _, label) in zip(rows, labels, strict=True):
        (folder,) = tmp_path.glob(f"{label}-*-seed0/version_0")
        assert float(row["test_pauc"]) == json.loads((folder / "test_metrics.json").read_text())["pauc"]
        settings[label] = yaml.safe_load((folder / "config.yaml").read_text())["model"]["init_args"]
    assert settings["s_neg_2"]["initial"] == {"s_neg": 2.0}
    assert [settings[label]["closed_form_start"] for label in settings] == [False, False, True, True]
    assert settings["omega_1"]["omega"] == 1.0


@pytest.mark.parametrize("method", ["upauci_ascent", "upauci", "pauci"])
def test_the_fixed_start_is_that_of_the_losses(method: str) -> None:
    cls = PAUCI if method == "pauci" else UPAUCI
    module = cls(backbone=LinearScorer(), max_fpr=0.3, min_tpr=0.5, closed_form_start=False)
    start = {name: float(value) for name, value in module.objective.variables().items()}
    assert start == {name: FIXED[name] for name in start}
    variants = variants_of(method, Variant(), ["omega"])
    usual = next(value for value in VALUES["omega"] if sensitivity.label_of(method, "omega", value) == USUAL)
    assert usual == module.objective.omega
    assert variants[USUAL].last == ()


def test_every_value_can_be_started_from() -> None:
    for name, values in VALUES.items():
        for value in values if name != "omega" else ():
            settings = {"weights": "ascent", "train_size": 3}
            UPAUCI(
                backbone=LinearScorer(),
                max_fpr=0.3,
                min_tpr=0.5,
                closed_form_start=False,
                initial={name: value},
                **settings,  # type: ignore[arg-type]
            )


def test_boxes_are_quartiles() -> None:
    figure = plot_sensitivity(
        {"a": {"0": [0.1, 0.2, 0.3, 0.4, 0.9], "1": [0.5]}, "b": {"0": [0.3]}}, "value", 0.35
    )
    ax = figure.axes[0]
    box = np.asarray(ax.patches[0].get_path().vertices)
    assert (box[:, 1].min(), box[:, 1].max()) == (0.2, 0.4)
    assert [label.get_text() for label in ax.get_xticklabels()] == ["0", "1"]
    reference = ax.lines[0]
    np.testing.assert_array_equal(np.asarray(reference.get_ydata()), [0.35, 0.35])
    dots = [line for line in ax.lines if line.get_marker() == "o"]
    assert sorted(np.asarray(dots[0].get_ydata()).tolist()) == [0.1, 0.2, 0.3, 0.4, 0.9]
