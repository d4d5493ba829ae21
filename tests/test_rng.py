from __future__ import annotations

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
