"""Resuming in the middle of an epoch, by hand and through a Trainer that stops and starts again."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest
import torch
from lightning.pytorch import Callback, LightningModule, Trainer
from lightning.pytorch.callbacks import ModelCheckpoint
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from pauc_lightning.data import DigitsLT, InMemoryDataset, ResumableLoader
from pauc_lightning.data.loader import BatchLoader
from pauc_lightning.data.sample import Sample
from pauc_lightning.data.samplers import ShardedSampler, ShuffledBatchSampler, StratifiedBatchSampler
from pauc_lightning.errors import InputError

Kind = type[StratifiedBatchSampler] | type[ShuffledBatchSampler]

LABELS = [0] * 70 + [1] * 9


def make_loader(
    num_workers: int = 0,
    batch_size: int = 16,
    seed: int = 1,
    n_ranks: int = 1,
    rank: int = 0,
    kind: Kind = StratifiedBatchSampler,
) -> ResumableLoader:
    inputs = torch.arange(len(LABELS)).float().unsqueeze(1)
    dataset = InMemoryDataset(inputs, torch.tensor(LABELS), torch.arange(len(LABELS)))
    sampler = kind(LABELS, batch_size, seed=seed, num_replicas=n_ranks, rank=rank)
    return ResumableLoader(dataset, sampler, num_workers)


def indices(batch: Any) -> list[int]:
    assert torch.equal(batch.input[:, 0].long(), batch.index)
    assert torch.equal(batch.target, torch.tensor(LABELS)[batch.index])
    assert batch.target.dtype == batch.index.dtype == torch.int64
    return list(batch.index.tolist())


class AnyDataset(Dataset[Sample]):
    """The same samples behind another class, for which torch's own iterator fetches one sample at a time."""

    def __init__(self, dataset: InMemoryDataset) -> None:
        self.dataset = dataset

    def __len__(self) -> int:
        return len(self.dataset)

    def __getitem__(self, index: int) -> Sample:
        return self.dataset[index]


@pytest.mark.parametrize("done", [0, 3])
@pytest.mark.parametrize("kind", [StratifiedBatchSampler, ShuffledBatchSampler])
def test_batches_are_slices_and_equal_to_those_of_torch(
    kind: Kind, done: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    loader = make_loader(kind=kind, n_ranks=2, rank=1, batch_size=8)
    dataset = loader.dataset
    assert isinstance(dataset, InMemoryDataset)
    theirs = ResumableLoader(AnyDataset(dataset), loader.batch_sampler)
    for each in (loader, theirs):
        each.load_state_dict({**each.state_dict(), "epoch": 2, "batches_done": done})
    expected = list(theirs)
    evaluated = list(DataLoader(AnyDataset(dataset), 10, sampler=ShardedSampler(79, 2, 1, seed=5)))
    for name in ("__getitem__", "__getitems__"):  # from here on, no sample on its own
        monkeypatch.delattr(InMemoryDataset, name)
    ours = list(loader)
    assert len(ours) == len(loader) - done
    for mine, other in zip(
        [*ours, *BatchLoader(dataset, 10, sampler=ShardedSampler(79, 2, 1, seed=5))],
        [*expected, *evaluated],
        strict=True,
    ):
        assert all(torch.equal(a, b) and a.dtype == b.dtype for a, b in zip(mine, other, strict=True))


@pytest.mark.parametrize("kind", [StratifiedBatchSampler, ShuffledBatchSampler])
@pytest.mark.parametrize(("num_workers", "taken"), [(0, 0), (0, 2), (0, 5), (2, 2)])
def test_the_rest_of_the_epoch_and_then_whole_epochs(kind: Kind, num_workers: int, taken: int) -> None:
    loader = make_loader(num_workers, kind=kind)
    expected = {}
    for epoch in (0, 3, 4):
        loader.batch_sampler.set_epoch(epoch)
        expected[epoch] = [indices(batch) for batch in loader]
        assert len(expected[epoch]) == len(loader) == 5

    loader.batch_sampler.set_epoch(3)
    iterator = iter(loader)
    assert [indices(next(iterator)) for _ in range(taken)] == expected[3][:taken]
    state = loader.state_dict()
    assert (state["epoch"], state["batches_done"]) == (3, taken)  # whatever the workers fetched ahead

    resumed = make_loader(num_workers, kind=kind)
    resumed.load_state_dict(state)
    assert resumed.state_dict() == state
    assert [indices(batch) for batch in resumed] == expected[3][taken:]
    assert resumed.position == (3, 5)
    assert [indices(batch) for batch in resumed] == expected[3]
    resumed.batch_sampler.set_epoch(4)
    assert resumed.position == (4, 0)
    assert [indices(batch) for batch in resumed] == expected[4]


def test_the_epoch_set_between_iter_and_next_counts() -> None:
    """Lightning makes the first iterator before it sets the epoch."""
    loader, late = make_loader(2), make_loader(2)
    loader.batch_sampler.set_epoch(2)
    expected = [indices(batch) for batch in loader]
    iterator = iter(late)
    late.batch_sampler.set_epoch(2)
    assert [indices(batch) for batch in iterator] == expected


def test_a_loaded_position_is_dropped_when_another_epoch_begins() -> None:
    loader, expected = make_loader(), make_loader()
    expected.batch_sampler.set_epoch(1)
    loader.load_state_dict({"epoch": 0, "batches_done": 3, "plan": loader.batch_sampler.plan()})
    iterator = iter(loader)
    loader.batch_sampler.set_epoch(1)
    assert [indices(batch) for batch in iterator] == [indices(batch) for batch in expected]


def test_another_pass_does_not_disturb_the_count() -> None:
    loader = make_loader()
    training = iter(loader)
    next(training)
    next(training)
    list(loader)  # for example a callback that looks at the data
    next(training)
    assert loader.position == (0, 3)


def test_the_state_of_rank_zero_serves_every_rank() -> None:
    ranks = [make_loader(n_ranks=2, batch_size=8, rank=rank) for rank in range(2)]
    expected = [[indices(batch) for batch in loader] for loader in ranks]
    iterators = [iter(loader) for loader in ranks]
    for _ in range(2):
        for iterator in iterators:
            next(iterator)
    assert ranks[0].state_dict() == ranks[1].state_dict()
    for rank in range(2):
        resumed = make_loader(n_ranks=2, batch_size=8, rank=rank)
        resumed.load_state_dict(ranks[0].state_dict())
        assert [indices(batch) for batch in resumed] == expected[rank][2:]


def test_other_batches_than_the_checkpoints_are_refused() -> None:
    state = make_loader().state_dict()
    with pytest.raises(InputError, match="seed was 1 and is 2"):
        make_loader(seed=2).load_state_dict(state)
    with pytest.raises(InputError, match="batches_per_epoch was 5 and is 10"):
        make_loader(batch_size=8).load_state_dict(state)
    with pytest.raises(InputError, match="batches_per_epoch was 5 and is 3"):
        make_loader(n_ranks=2).load_state_dict(state)
    with pytest.raises(InputError, match="positives was 9 and is None"):
        make_loader(kind=ShuffledBatchSampler).load_state_dict(state)
    # half the batch on twice the processes is the same
    make_loader(batch_size=8, n_ranks=2).load_state_dict(state)


def test_no_global_generator_is_touched() -> None:
    state = torch.get_rng_state()
    list(make_loader())
    data = DigitsLT()
    list(data.val_dataloader())
    assert torch.equal(torch.get_rng_state(), state)


class NoisyDigits(DigitsLT):
    """Digits with an augmentation that draws from torch's generator."""

    def train_transform(self, input: Tensor) -> Tensor:
        return self.eval_transform(input) + torch.randn_like(input)


class Recorder(LightningModule):
    """A model that writes down what it is given, as (epoch, batch, indices, sum of the inputs)."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(64, 1)
        self.seen: list[tuple[int, int, list[int], float]] = []
        self.validations = 0

    def training_step(self, batch: Any, batch_idx: int) -> Tensor:
        self.seen.append((self.current_epoch, batch_idx, batch.index.tolist(), batch.input.sum().item()))
        torch.rand(1)  # the surrounding stream moves on, which must not matter
        loss: Tensor = self.layer(batch.input.flatten(1)).mean()
        return loss

    def validation_step(self, batch: Any, batch_idx: int) -> None:
        self.validations += 1

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.SGD(self.parameters(), 0.01)


def fit(
    folder: Path, ckpt_path: Path | None = None, num_workers: int = 0, callbacks: Any = (), **kwargs: Any
) -> Recorder:
    data = NoisyDigits(batch_size=128, num_workers=num_workers)  # 5 batches per epoch
    model = Recorder()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        trainer = Trainer(
            accelerator="cpu",
            default_root_dir=folder,
            logger=False,
            enable_progress_bar=False,
            enable_model_summary=False,
            use_distributed_sampler=False,
            callbacks=list(callbacks),
            **{"enable_checkpointing": False, "num_sanity_val_steps": 0, **kwargs},
        )
        trainer.fit(model, data, ckpt_path=ckpt_path)
    return model


class Save(Callback):
    """Save after a certain number of steps, from the given hook."""

    def __init__(self, path: Path, hook: str, step: int) -> None:
        self.path, self.hook, self.step = path, hook, step
        setattr(self, hook, self._save)

    def _save(self, trainer: Trainer, *args: Any) -> None:
        if trainer.global_step == self.step:
            trainer.save_checkpoint(self.path)


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> Recorder:
    model = fit(tmp_path_factory.mktemp("fit"), max_epochs=4)
    assert len(model.seen) == 4 * 5
    assert model.validations == 4
    return model


@pytest.mark.parametrize("num_workers", [0, 2])
@pytest.mark.parametrize("steps", [2, 5, 8])
def test_a_trainer_killed_in_mid_epoch_continues_with_the_next_batch(
    tmp_path: Path, uninterrupted: Recorder, num_workers: int, steps: int
) -> None:
    callback = ModelCheckpoint(tmp_path, filename="last", every_n_train_steps=steps, save_top_k=-1)
    first = fit(
        tmp_path,
        num_workers=num_workers,
        callbacks=[callback],
        enable_checkpointing=True,
        max_steps=steps,
    )
    assert first.seen == uninterrupted.seen[:steps]
    second = fit(tmp_path, tmp_path / "last.ckpt", num_workers, max_epochs=4)
    assert second.seen == uninterrupted.seen[steps:]


# Not here, because Lightning's own counters then skip an epoch, whatever the loader: checkpoints saved in
# `on_train_epoch_start`, and those of `on_train_epoch_end` when they are resumed with `max_steps`. With RunCheckpoint
# they are right, see tests/callbacks/test_position.py.
@pytest.mark.parametrize(
    ("hook", "step", "limit"),
    [
        ("on_train_batch_end", 1, {"max_epochs": 4}),
        ("on_train_batch_end", 7, {"max_epochs": 4}),
        ("on_train_batch_end", 7, {"max_steps": 20}),
        ("on_train_batch_end", 10, {"max_epochs": 4}),
        ("on_train_batch_end", 10, {"max_steps": 20}),
        ("on_validation_end", 10, {"max_epochs": 4}),
        ("on_validation_end", 10, {"max_steps": 20}),
        ("on_train_epoch_end", 10, {"max_epochs": 4}),
    ],
)
def test_wherever_the_checkpoint_was_saved_nothing_is_repeated_or_skipped(
    tmp_path: Path, uninterrupted: Recorder, hook: str, step: int, limit: dict[str, int]
) -> None:
    path = tmp_path / "saved.ckpt"
    fit(tmp_path, callbacks=[Save(path, hook, step)], max_epochs=4)
    resumed = fit(tmp_path, path, num_workers=2, **limit)
    assert resumed.seen == uninterrupted.seen[step:]
