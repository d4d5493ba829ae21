"""The benchmark's table: every loss, real times, ratios to the reference, exponents from the times it prints."""

from __future__ import annotations

import math

import pytest
import torch

from pauc_lightning.benchmarks import loss
from pauc_lightning.errors import InputError


def test_table(capsys: pytest.CaptureFixture[str]) -> None:
    threads = torch.get_num_threads()
    loss.main(["--batch", "64", "--smallest", "16", "--largest", "256", "--repeats", "2"])
    assert torch.get_num_threads() == threads
    first, second = capsys.readouterr().out.split("\n\n")
    width = max(map(len, loss.LOSSES))

    rows = {
        line[:width].strip(): [float(cell) for cell in line[width:].split()]
        for line in first.splitlines()[2:]
    }
    assert list(rows) == list(loss.LOSSES)
    reference, _ = rows[loss.REFERENCE]
    for median, ratio in rows.values():
        assert ratio == pytest.approx(median / reference, abs=0.01, rel=0.01)

    header, *lines = second.splitlines()[1:]
    assert header[width:].split() == ["16", "64", "256", "exponent"]
    assert len(lines) == len(loss.LOSSES)
    for line in lines:
        smallest, _, largest, exponent = (float(cell) for cell in line[width:].split())
        assert exponent == pytest.approx(math.log(largest / smallest) / math.log(16), abs=0.01)


def test_what_is_timed_is_a_loss_with_a_gradient() -> None:
    n = 32
    index = torch.randperm(n)
    for make in loss.LOSSES.values():
        scores = torch.rand(n, requires_grad=True)
        value = make(n)(scores, (index < n // 2).float(), index)
        assert value.ndim == 0
        torch.autograd.backward(value)
        assert scores.grad is not None
        assert (scores.grad != 0).any()


def test_bad_sizes() -> None:
    with pytest.raises(InputError, match="--largest"):
        loss.main(["--smallest", "64", "--largest", "64"])
