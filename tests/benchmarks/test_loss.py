"""The benchmark's table: every loss, real times, ratios to the reference, exponents from the times it prints."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch

from pauc_lightning.benchmarks import loss
from pauc_lightning.errors import InputError


def test_table(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loss, "LARGEST_QUADRATIC", 64)
    threads = torch.get_num_threads()
    figure = tmp_path / "new" / "loss.png"
    options = [
        "--batch",
        "64",
        "--smallest",
        "16",
        "--largest",
        "256",
        "--repeats",
        "2",
        "--figure",
        str(figure),
    ]
    loss.main(options)
    assert torch.get_num_threads() == threads
    first, second, third, last = capsys.readouterr().out.split("\n\n")
    width = max(map(len, loss.LOSSES))

    for table, names in ((first, set()), (third, loss.QUADRATIC)):
        rows = {
            line[:width].strip(): [float(cell) for cell in line[width:].split()]
            for line in table.splitlines()[2:]
        }
        assert list(rows) == [name for name in loss.LOSSES if name not in names]
        reference, _ = rows[loss.REFERENCE]
        for median, ratio in rows.values():
            assert ratio == pytest.approx(median / reference, abs=0.01, rel=0.01)

    header, *lines = second.splitlines()[1:]
    assert header[width:].split() == ["16", "64", "256", "exponent"]
    assert len(lines) == len(loss.LOSSES)
    for line in lines:
        *times, exponent = line[width:].split()
        assert (times[-1] == "–") == (line[:width].strip() in loss.QUADRATIC)
        known = [float(time) for time in times if time != "–"]
        growth = math.log(known[-1] / known[0]) / math.log(4 ** (len(known) - 1))
        assert float(exponent) == pytest.approx(growth, abs=0.01)
    assert str(figure) in last
    assert figure.read_bytes().startswith(b"\x89PNG")


def test_what_is_timed_is_a_loss_with_a_gradient() -> None:
    n = 32
    generator = torch.Generator().manual_seed(0)
    index = torch.randperm(n, generator=generator)
    for make in loss.LOSSES.values():
        scores = torch.rand(n, generator=generator).requires_grad_()
        value = make(n)(scores, (index < n // 2).float(), index)
        assert value.ndim == 0
        torch.autograd.backward(value)
        assert scores.grad is not None
        assert (scores.grad != 0).any()


def test_bad_sizes() -> None:
    with pytest.raises(InputError, match="--largest"):
        loss.main(["--smallest", "64", "--largest", "64"])


def test_a_figure_of_another_kind_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"`--figure` must be the name of a PNG file, got .*end it in \.png"):
        loss.main(["--figure", str(tmp_path / "loss.pdf")])
