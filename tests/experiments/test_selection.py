"""Which epoch of a run is kept and tested, by ``pauc fit`` as users call it."""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path

import pytest
import torch

from pauc_lightning.cli import main

ROOT = Path(__file__).parents[2]
N_ROWS = 400
BATCHES_PER_EPOCH = 2  # of the 280 rows of the training part
VALUES = {
    # AUC, and OPAUC at FPR <= 0.3, of scores by this column, and nearly so on a part of the rows
    "best_auc": (0.6, 0.0),  # 40 % of the negatives above all positives, the others below all
    "best_pauc": (0.5, 0.5),  # half of the positives above all negatives, the others below all
    "worst": (0.0, 0.0),  # all negatives above all positives
}
NETWORK = """\
import torch

class Scripted(torch.nn.Module):
    '''Scores by its first column after the first epoch of training, by the second after the second, and so on.'''

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(1))
        self.register_buffer("batches", torch.tensor(0))

    def forward(self, input):
        self.batches += int(self.training)
        return input[:, (int(self.batches) // 2 - 1) % input.shape[1]] + 0 * self.weight
"""


def write_table(path: Path) -> None:
    """Half positives, half negatives; no two values of a column are equal."""
    lines = ["label," + ",".join(VALUES)]
    for row in range(N_ROWS):
        is_positive, place = row % 2, row / N_ROWS
        noise = place / 100
        best_auc = 1 + noise if is_positive else (2 if place < 0.4 else 0) + noise
        best_pauc = (2 if place < 0.5 else 0) + noise if is_positive else 1 + noise
        worst = noise if is_positive else 1 + noise
        lines.append(f"{is_positive},{best_auc},{best_pauc},{worst}")
    path.write_text("\n".join(lines) + "\n")


def test_the_epoch_with_the_best_partial_auc_is_kept_and_tested(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of three epochs the first has the best AUC, the second the best partial AUC, and the last neither."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "argv", ["pauc"])
    (tmp_path / "scripted_network.py").write_text(NETWORK)
    write_table(tmp_path / "table.csv")
    main(
        [
            *("fit", "-c", str(ROOT / "configs/method/ce.yaml"), "--data=TabularLT", "--data.path=table.csv"),
            *("--data.label=label", "--data.batch_size=140", "--model.backbone=scripted_network.Scripted"),
            *("--trainer.max_epochs=3", "--trainer.accelerator=cpu", "--trainer.enable_progress_bar=false"),
            *("--trainer.log_every_n_steps=1", "--run_name=run", "--test_best=true"),
        ]
    )
    folder = Path("runs/run/version_0")
    with (folder / "metrics.csv").open() as file:
        epochs = [row for row in csv.DictReader(file) if row["val/pauc"]]
    validated = [(float(row["val/auc"]), float(row["val/pauc"])) for row in epochs]
    assert validated == [pytest.approx(value, abs=0.12) for value in VALUES.values()]  # 60 rows
    auc, pauc = zip(*validated, strict=True)
    assert (auc.index(max(auc)), pauc.index(max(pauc))) == (0, 1)

    kept = torch.load(folder / "checkpoints/best.ckpt", weights_only=True)
    assert int(kept["state_dict"]["backbone.batches"]) == 2 * BATCHES_PER_EPOCH
    last = torch.load(folder / "checkpoints/last.ckpt", weights_only=True)
    assert int(last["state_dict"]["backbone.batches"]) == 3 * BATCHES_PER_EPOCH
    tested = json.loads((folder / "test_metrics.json").read_text())
    assert (tested["auc"], tested["pauc"]) == pytest.approx(VALUES["best_pauc"], abs=0.12)
