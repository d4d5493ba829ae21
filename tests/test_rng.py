from __future__ import annotations

import pytest
import torch

from pauc_lightning.rng import derive_seed, seeded


def test_same_place_same_numbers_and_the_outer_stream_is_untouched() -> None:
    torch.manual_seed(1)
    expected = torch.rand(3)
    torch.manual_seed(1)
    with seeded(5, 7):
        first = torch.rand(3)
    with seeded(5, 7):
        second = torch.rand(3)
    with seeded(7, 5):
        other = torch.rand(3)
    assert torch.equal(first, second)
    assert not torch.equal(first, other)
    assert torch.equal(torch.rand(3), expected)


def test_seeds_of_a_long_run_do_not_repeat() -> None:
    seeds = {derive_seed(seed, step, rank) for seed in range(5) for step in range(5000) for rank in range(4)}
    assert len(seeds) == 5 * 5000 * 4


def test_the_stream_is_that_of_the_derived_seed_and_no_accelerator_is_touched(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("torch.manual_seed formats stack traces for accelerators that are absent")

    expected = torch.rand(5, generator=torch.Generator().manual_seed(derive_seed(3, 1, 4)))
    monkeypatch.setattr(torch, "manual_seed", refuse)
    monkeypatch.setattr(torch.random, "manual_seed", refuse)
    with seeded(3, 1, 4, device=torch.device("cpu")):
        assert torch.equal(torch.rand(5), expected)
