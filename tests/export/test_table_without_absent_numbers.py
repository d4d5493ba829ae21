"""A table in which no number stands for a missing value can be exported as a torch program."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from pauc_lightning.cli import main


def test_the_torch_file_can_be_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    random = np.random.default_rng(0)
    labels = (random.random(300) < 0.3).astype(int)
    rows = np.column_stack([random.normal(size=(300, 2)) + labels[:, None], labels])
    np.savetxt("table.csv", rows, delimiter=",", header="a,b,label", comments="", fmt="%.6g")
    options = ("--data.path=table.csv", "--data.label=label", "--model.backbone=LinearScorer")
    main(
        ["fit", "-c", "tabular", "-c", "ce", *options, "--trainer.max_epochs=1", "--trainer.accelerator=cpu"]
    )
    (run,) = Path("runs").glob("*/version_0")
    main(["export", str(run), "--output=model.pt2"])
    score, _ = torch.export.load("model.pt2").module()(torch.zeros(3, 2, dtype=torch.float64))
    assert score.shape == (3,)
