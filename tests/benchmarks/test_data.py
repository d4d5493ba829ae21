"""The data benchmark measures what it says: the same images, the same kind of result, from both ways."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

from pauc_lightning.benchmarks import data as benchmark
from pauc_lightning.errors import InputError


@pytest.fixture(autouse=True)
def keep_the_number_of_threads() -> Iterator[None]:
    threads = torch.get_num_threads()
    yield
    torch.set_num_threads(threads)


def test_prints_a_line_per_way(capsys: pytest.CaptureFixture[str]) -> None:
    images = ["--images", "200", "--size", "8", "--batch_size", "64", "--workers", "0"]
    table = ["--rows", "1000", "--columns", "3", "--row_batch_size", "64"]
    benchmark.main([*images, *table, "--repeats", "2"])
    _, first, second = capsys.readouterr().out.split("\n\n")
    assert first.startswith("140 training images of 8x8, batches of 64")
    assert second.startswith("700 training rows of 3 numbers, batches of 64")
    for block, names in (
        (first, ("whole batches, in memory (this project)", "one by one, PIL, 0 workers")),
        (
            second,
            (
                "stratified slices, resumable (this project)",
                "plain loop over tensors",
                "one by one, DataLoader of a TensorDataset",
            ),
        ),
    ):
        lines = block.splitlines()[-len(names) :]
        assert [line[:44].strip() for line in lines] == list(names)
        rates = [float(line[44:56].replace(",", "")) for line in lines]
        for line, rate in zip(lines[1:], rates[1:], strict=True):
            assert line.endswith("x")
            assert float(line[56:-1]) == pytest.approx(rates[0] / rate, rel=0.05, abs=0.1)


def test_both_ways_see_all_training_images() -> None:
    module = benchmark._RandomImages(100, 8, 32)
    for epoch in (benchmark._batch_epoch(module), benchmark._pil_epoch(module, 32, 0)):
        assert epoch() == epoch() == 70


def test_all_ways_see_all_training_rows() -> None:
    table = benchmark._RandomTable(1000, 3, 64)
    assert [epoch(table)() for epoch in (benchmark._plain_epoch, benchmark._row_epoch)] == [700, 700]
    # Stratified batches have equal numbers of positives, so that some may be left out or used again.
    assert abs(benchmark._slice_epoch(table)() - 700) <= len(table.train_dataloader())
    assert int(table.targets.sum()) == 20


def test_both_ways_make_images_of_the_same_kind() -> None:
    """Unaugmented, one image is the same either way; augmented, the colours are."""
    module = benchmark._RandomImages(600, 16, 64)
    images = module.source.inputs[:]
    one_by_one = benchmark._PILDataset(images, torch.zeros(600))
    torch.manual_seed(0)
    theirs = torch.stack([one_by_one[i][0] for i in range(600)])
    ours = module.train_transform(images)
    assert theirs.shape == ours.shape == (600, 3, 16, 16)
    black = torch.tensor([-mean / std for mean, std in zip(module.mean, module.std, strict=True)])
    is_black = [((batch - black.view(3, 1, 1)).abs() < 1e-4).all(1) for batch in (theirs, ours)]
    theirs_black, ours_black = (float(where.float().mean()) for where in is_black)
    # One resampling keeps a little of what rotating first and cropping then cuts off.
    assert 0.8 * theirs_black < ours_black < theirs_black
    theirs_inside, ours_inside = (
        batch.permute(0, 2, 3, 1)[~where] for batch, where in zip((theirs, ours), is_black, strict=True)
    )
    torch.testing.assert_close(theirs_inside.mean(0), ours_inside.mean(0), atol=0.02, rtol=0)
    torch.testing.assert_close(theirs_inside.std(0), ours_inside.std(0), atol=0.02, rtol=0)
    one_by_one.transform.transforms = one_by_one.transform.transforms[3:]
    plain = torch.stack([one_by_one[i][0] for i in range(10)])
    torch.testing.assert_close(plain, module.eval_transform(images[:10]))


def test_nonsense_is_refused() -> None:
    with pytest.raises(InputError, match="`--images` must be at least 100, got 3"):
        benchmark.main(["--images", "3"])
    with pytest.raises(InputError, match="`--rows` must be at least 200, got 3"):
        benchmark.main(["--rows", "3"])
