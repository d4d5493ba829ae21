"""The base data module, by way of DigitsLT; alone, under a Trainer, and on two processes."""

from __future__ import annotations

import hashlib
import os
import warnings
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from ddp import run_on_ranks
from jsonargparse import ArgumentParser
from lightning.pytorch import Callback, LightningModule, Trainer
from sklearn.datasets import load_digits
from torch import Tensor
from torch.utils.data import DataLoader

from pauc_lightning.data import DigitsLT, LongTailDataModule, Sample, Source
from pauc_lightning.errors import InputError


def test_the_split_of_the_digits_is_the_same_everywhere_and_for_ever() -> None:
    data = DigitsLT(seed=0)
    digest = hashlib.sha256()
    for _, part in data.split.items():
        digest.update(part.astype("<i8").tobytes())
    assert digest.hexdigest() == "06148d2c19118be8647d033877edbe6b9a78b5be60f616f126cc59803eb45a20"


def test_the_batches_of_the_digits_are_the_same_everywhere_and_for_ever() -> None:
    sampler = DigitsLT(seed=0).batch_sampler()
    sampler.set_epoch(1)
    digest = hashlib.sha256(np.concatenate(list(sampler)).astype("<i8").tobytes())
    assert digest.hexdigest() == "01f82e201bf683586bfbeda400628d1ae169b079ad516935331155e1ba48048a"


def test_images_and_labels_belong_together() -> None:
    data = DigitsLT(positive_classes=[4], imbalance_ratio=None)
    digits = load_digits()
    for name, members in data.split.items():
        dataset = data.dataset(name)  # type: ignore[arg-type]
        assert len(dataset) == len(members)
        for position in (0, 7, len(members) - 1):
            sample = dataset[position]
            source = members[position]
            np.testing.assert_allclose(sample.input[0].numpy() * 6 + 4.9, digits.images[source], atol=1e-5)
            assert sample.target == int(digits.target[source] == 4)
            assert sample.index == position


def test_a_batch_is_the_stack_of_its_samples() -> None:
    dataset = DigitsLT().dataset("train")
    batch = dataset.__getitems__([5, 0, 5])
    singles = [dataset[i] for i in (5, 0, 5)]
    for column, values in zip(batch, zip(*singles, strict=True), strict=True):
        assert column is not None
        assert torch.equal(column, torch.stack(values))
        assert column.dtype == values[0].dtype
    # a DataLoader of the user's, without our collate function, stacks single samples to the same
    (loaded,) = DataLoader(_Singles(dataset), batch_size=3)
    assert isinstance(loaded, Sample)
    assert torch.equal(loaded.input, dataset.__getitems__([0, 1, 2]).input)


class _Singles(torch.utils.data.Dataset[Sample]):
    def __init__(self, dataset: torch.utils.data.Dataset[Sample]) -> None:
        self.dataset = dataset

    def __len__(self) -> int:
        return 3

    def __getitem__(self, index: int) -> Sample:
        return self.dataset[index]


@pytest.mark.parametrize("sampler", ["stratified", "shuffled"])
def test_prior_and_size_are_those_of_the_batches(sampler: Any) -> None:
    data = DigitsLT(sampler=sampler, batch_size=50)
    batches = list(data.train_dataloader())
    target = torch.cat([batch.target for batch in batches])
    assert data.prior == pytest.approx(target.float().mean().item())
    seen = [int(batch.index.max()) for batch in batches if batch.index is not None]
    assert max(seen) < data.train_size == len(data.split.train)
    assert data.input_shape == (1, 8, 8)


def test_positive_fraction_becomes_the_prior() -> None:
    assert DigitsLT(positive_fraction=0.5, batch_size=64).prior == pytest.approx(0.5, abs=0.01)


def test_counts_by_class_and_by_part() -> None:
    data = DigitsLT()
    counts = data.class_counts
    assert [row.label for row in counts if row.is_positive] == [3, 8]
    for name, part in data.split.items():
        assert sum(getattr(row, name) for row in counts) == len(part)
    assert sum(row.train for row in counts if row.is_positive) == 104
    assert data.summary().splitlines()[1].split() == ["train", "104", "536"]


def test_the_evaluation_parts_are_large_enough_for_two_way_regions() -> None:
    data = DigitsLT()
    for part in (data.split.val, data.split.test):
        n_pos = int(data.targets[part].sum())
        assert n_pos * 0.3 >= 5


def test_pixels_are_standardised() -> None:
    data = DigitsLT()
    pixels = data.eval_transform(data.source.inputs[:])
    assert abs(pixels.mean().item()) < 0.01
    assert abs(pixels.std().item() - 1) < 0.01


def test_bad_arguments_are_refused() -> None:
    with pytest.raises(InputError, match=r"unknown ids \[10\]: choose from classes 0 to 9"):
        _ = DigitsLT(positive_classes=[10]).prior
    with pytest.raises(InputError, match="has no effect"):
        DigitsLT(sampler="shuffled", positive_fraction=0.5)
    with pytest.raises(InputError, match='`sampler` must be "stratified" or "shuffled"'):
        DigitsLT(sampler="random")
    with pytest.raises(InputError, match="`eval_batch_size` must be a whole number, at least 1, got 0"):
        DigitsLT(eval_batch_size=0)
    with pytest.raises(InputError, match="`seed` must be a whole number, at least 0, got -1"):
        DigitsLT(seed=-1)
    with pytest.raises(InputError, match="the val part has no positives"):
        _ = DigitsLT(positive_classes=[9], imbalance_ratio=0.02).train_size
    with pytest.raises(TypeError, match="num_worker"):
        DigitsLT(num_worker=1)


def test_the_command_line_knows_every_argument() -> None:
    parser = ArgumentParser(exit_on_error=False)
    parser.add_subclass_arguments(LongTailDataModule, "data")
    config = parser.parse_args(
        ["--data=DigitsLT", "--data.positive_classes=[1, 7]", "--data.imbalance_ratio=null", "--data.seed=3"]
    )
    arguments = config.data.init_args.as_dict()
    expected = {
        "positive_classes": [1, 7],
        "imbalance_ratio": None,
        "batch_size": 128,
        "eval_batch_size": 1024,
        "sampler": "stratified",
        "positive_fraction": None,
        "seed": 3,
        "num_workers": 0,
    }
    assert {name: arguments[name] for name in expected} == expected


class Watcher(LightningModule):
    """Scores digits and writes down which samples it was given, and how they looked."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Sequential(torch.nn.BatchNorm1d(64), torch.nn.Linear(64, 1))
        self.seen: dict[str, list[list[int]]] = {"train": [], "val": [], "test": []}
        self.inputs: dict[str, float] = {}

    def _watch(self, part: str, batch: Sample) -> Tensor:
        assert batch.index is not None
        self.seen[part].append(batch.index.tolist())
        self.inputs[part] = batch.input.mean().item()
        loss: Tensor = self.layer(batch.input.flatten(1)).mean()
        return loss

    def training_step(self, batch: Sample, batch_idx: int) -> Tensor:
        return self._watch("train", batch)

    def validation_step(self, batch: Sample, batch_idx: int) -> None:
        self._watch("val", batch)

    def test_step(self, batch: Sample, batch_idx: int) -> None:
        self._watch("test", batch)

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.SGD(self.parameters(), 0.01)


class Shifted(DigitsLT):
    """Training inputs are marked, so that a mix-up of the transforms shows."""

    def train_transform(self, input: Tensor) -> Tensor:
        return input * 0 + 100

    def eval_transform(self, input: Tensor) -> Tensor:
        return input * 0 - 100


def make_trainer(**kwargs: Any) -> Trainer:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Trainer(
            accelerator="cpu",
            logger=False,
            enable_checkpointing=False,
            enable_progress_bar=False,
            enable_model_summary=False,
            **{"use_distributed_sampler": False, "num_sanity_val_steps": 1, **kwargs},
        )


def test_training_and_evaluation_have_their_own_transforms() -> None:
    model, data = Watcher(), Shifted()
    trainer = make_trainer(max_epochs=1)
    trainer.fit(model, data)
    trainer.test(model, data, verbose=False)
    assert model.inputs == {"train": 100, "val": -100, "test": -100}


def test_lightnings_sampler_is_refused_with_several_processes() -> None:
    data = DigitsLT()
    data.trainer = make_trainer(devices=2, strategy="ddp", use_distributed_sampler=True)
    for loader in (data.train_dataloader, data.val_dataloader, data.test_dataloader):
        with pytest.raises(InputError, match="`use_distributed_sampler` is true"):
            loader()
    data.trainer = make_trainer(devices=2, strategy="ddp")
    assert data.train_dataloader().batch_sampler.num_replicas == 2


def test_more_processes_than_evaluation_samples_are_refused() -> None:
    class Tiny(LongTailDataModule):
        def load_source(self) -> Source:
            return Source(torch.zeros(20, 1), np.repeat([0, 1], 10))

    data = Tiny(positive_classes=[1])
    data.trainer = make_trainer(devices=3, strategy="ddp")
    with pytest.raises(InputError, match="the val part has 2 samples for 3 processes"):
        data.val_dataloader()


def test_evaluation_is_shuffled_the_same_way_each_time_and_prediction_is_not() -> None:
    class Sorted(LongTailDataModule):
        def load_source(self) -> Source:
            return Source(torch.arange(400.0).unsqueeze(1), np.repeat([0, 1], 200))

    data = Sorted(positive_classes=[1], eval_batch_size=20)
    for loader in (data.val_dataloader, data.test_dataloader):
        batches = [batch.index.tolist() for batch in loader() if batch.index is not None]
        assert sorted(chain(*batches)) == list(range(60))
        assert batches == [batch.index.tolist() for batch in loader() if batch.index is not None]
        assert 0 < int(next(iter(loader())).target.sum()) < 20
    first = next(iter(data.predict_dataloader()))
    assert first.index is not None
    assert first.index.tolist() == list(range(20))


class SaveAt(Callback):
    """Save a checkpoint after a number of steps."""

    def __init__(self, path: str, step: int) -> None:
        self.path, self.step = path, step

    def on_train_batch_end(self, trainer: Trainer, *args: Any) -> None:
        if trainer.global_step == self.step:
            trainer.save_checkpoint(self.path)


class BlackDigits(DigitsLT):
    """All images are the same, so that batches differ by what the augmentation draws, and by nothing else."""

    def load_source(self) -> Source:
        source = super().load_source()
        return source._replace(inputs=torch.zeros(source.inputs[:].shape))

    def train_transform(self, input: Tensor) -> Tensor:
        return input + torch.rand(())


class Brightness(Callback):
    """Write down the number that the augmentation drew for each training batch."""

    def __init__(self) -> None:
        self.seen: list[float] = []

    def on_train_batch_start(self, trainer: Trainer, model: Any, batch: Sample, batch_idx: int) -> None:
        assert batch.input.min() == batch.input.max()
        self.seen.append(batch.input.max().item())


def drawn_by_augmentation(**kwargs: Any) -> list[float]:
    """What the augmentation of equal images draws in two epochs of three batches."""
    brightness = Brightness()
    trainer = make_trainer(
        max_epochs=2, limit_train_batches=3, limit_val_batches=0, callbacks=[brightness], **kwargs
    )
    trainer.fit(Watcher(), BlackDigits(batch_size=50))
    return brightness.seen


def test_the_augmentation_depends_on_the_place_in_the_run() -> None:
    """On equal images: every epoch and every batch draws anew, and a second run draws the same."""
    drawn = drawn_by_augmentation()
    assert len(set(drawn)) == len(drawn) == 6
    torch.manual_seed(1)  # what the user draws elsewhere does not matter
    assert drawn_by_augmentation() == drawn


def train_on_rank(rank: int, folder: str) -> dict[str, Any]:
    """Fit, test and resume with Lightning's DDP; what this rank has seen."""
    os.environ |= {
        "TORCHELASTIC_RUN_ID": "test",
        "RANK": str(rank),
        "LOCAL_RANK": str(rank),
        "WORLD_SIZE": "2",
        "LOCAL_WORLD_SIZE": "2",
        "GROUP_RANK": "0",
        "MASTER_ADDR": "localhost",
        "MASTER_PORT": "29500",
    }
    path = f"{folder}/saved.ckpt"
    model, data = Watcher(), DigitsLT(batch_size=50, eval_batch_size=20)
    trainer = make_trainer(max_epochs=2, devices=2, strategy="ddp", callbacks=[SaveAt(path, 3)])
    trainer.fit(model, data)
    prior = data.prior
    trainer.test(model, data, verbose=False)
    resumed = Watcher()
    resumer = make_trainer(max_epochs=2, devices=2, strategy="ddp")
    resumer.fit(resumed, DigitsLT(batch_size=50, eval_batch_size=20), ckpt_path=path)
    drawn = drawn_by_augmentation(devices=2, strategy="ddp")
    return {**model.seen, "resumed": resumed.seen["train"], "prior": prior, "drawn": drawn}


def test_two_processes_share_the_work_of_one(tmp_path: Path) -> None:
    ranks = run_on_ranks(train_on_rank, 2, str(tmp_path))
    one = DigitsLT(batch_size=100)
    sampler = one.batch_sampler()
    expected: list[list[int]] = []
    for epoch in range(2):
        sampler.set_epoch(epoch)
        expected += [sorted(batch) for batch in sampler]
    assert [sorted(a + b) for a, b in zip(ranks[0]["train"], ranks[1]["train"], strict=True)] == expected
    for seen in ranks:
        assert seen["resumed"] == seen["train"][3:]
        assert seen["prior"] == one.prior
    # On equal images each process, epoch and batch has an augmentation of its own.
    assert len(set(ranks[0]["drawn"] + ranks[1]["drawn"])) == 2 * len(ranks[0]["drawn"]) == 12
    tested = [i for seen in ranks for batch in seen["test"] for i in batch]
    assert sorted(tested) == list(range(len(one.split.test)))
