"""The benchmark of many small runs trains the same by both ways, and its table follows from its measurements."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import torch
from sklearn.metrics import roc_auc_score

from pauc_lightning.benchmarks import matrix
from pauc_lightning.benchmarks.matrix import METHODS, Size, Times
from pauc_lightning.data import TabularLT
from pauc_lightning.errors import InputError


def test_prints_both_times_and_their_ratio(capsys: pytest.CaptureFixture[str]) -> None:
    threads = torch.get_num_threads()
    matrix.main(["--runs", "4", "--rows", "600", "--columns", "3", "--epochs", "2", "--batch", "64"])
    assert torch.get_num_threads() == threads
    printed = capsys.readouterr().out
    assert printed.startswith(
        "6 runs (ce, pauci, upauci; 2 seeds) of a linear scorer, 600 rows of 3 numbers, 2"
    )
    rows = re.findall(r"^(seconds .*?) +([\d.]+) +([\d.]+) +([\d.]+)x$", printed, flags=re.MULTILINE)
    assert [row[0] for row in rows] == ["seconds per run", "seconds of processor time"]
    for _, plain, ours, ratio in rows:
        assert float(ratio) == pytest.approx(float(ours) / float(plain), rel=0.15)
    values = re.findall(r"^mean partial AUC on the test +([\d.]+) +([\d.]+)$", printed, flags=re.MULTILINE)
    assert all(0 < float(value) <= 1 for value in values[0])


def test_the_ratio_is_that_of_the_times() -> None:
    size = Size(seeds=2, rows=400, columns=1, epochs=1, batch=8)
    text = matrix.report(size, Times(6.0, 3.0), Times(12.0, 9.0), ([0.1, 0.3], [0.5]))
    assert text.splitlines()[2].split() == ["seconds", "per", "run", "1.000", "2.000", "2.00x"]
    assert text.splitlines()[3].split()[-3:] == ["0.500", "1.500", "3.00x"]
    assert text.splitlines()[4].split()[-2:] == ["0.2000", "0.5000"]


@pytest.mark.parametrize("method", METHODS)
def test_a_plain_loop_learns(method: str) -> None:
    size = Size(seeds=1, rows=4000, columns=5, epochs=20, batch=256)
    inputs, target = matrix.random_rows(size)
    assert target.float().mean() == pytest.approx(matrix.PRIOR, abs=0.01)
    assert roc_auc_score(target, inputs.sum(1)) > 0.7  # the best linear score
    assert matrix.plain_run(method, inputs, target, size, seed=0) > 0.1  # chance is 0.025


def test_both_ways_take_as_many_steps_on_as_many_rows(tmp_path: Path) -> None:
    size = Size(seeds=1, rows=10_000, columns=2, epochs=1, batch=512)
    inputs, target = matrix.random_rows(size)
    matrix.write_table(tmp_path / "table.csv", inputs, target)
    data = TabularLT(path=str(tmp_path / "table.csv"), label="label", batch_size=512)
    sizes = [len(part) for _, part in data.split.items()]
    assert sizes == pytest.approx(matrix.part_sizes(size.rows), abs=2)
    assert len(data.train_dataloader()) == -(-matrix.part_sizes(size.rows)[0] // size.batch)
    assert data.targets.tolist() == target.tolist()


def test_mistakes() -> None:
    with pytest.raises(InputError, match="`--rows` must be at least 400, got 3"):
        matrix.main(["--rows", "3"])
