"""The samples on which an exported file is compared with its run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from lightning.pytorch import LightningDataModule
from numpy.typing import NDArray

from pauc_lightning.callbacks.preprocessing import compare_with_saved
from pauc_lightning.data.base import LongTailDataModule
from pauc_lightning.data.preprocessing import FILE_NAME, load_preprocessing
from pauc_lightning.data.sample import Sample
from pauc_lightning.data.source import Inputs
from pauc_lightning.data.table_reader import read_table
from pauc_lightning.data.tabular import TabularLT
from pauc_lightning.errors import InputError
from pauc_lightning.export.front import Arrays, Front
from pauc_lightning.export.table_front import TableFront
from pauc_lightning.inference.build import build
from pauc_lightning.inference.table_inputs import TableInputs
from pauc_lightning.inference.trained_model import TrainedModel
from pauc_lightning.own_code import code_of
from pauc_lightning.run_directory import RunDirectory

MOST = 10_000
"""Number of samples that are compared, at most."""


@dataclass(frozen=True)
class TestSamples:
    """Samples as the exported file takes them, and as the run's data module prepared them.

    Attributes:
        arrays: The inputs of the exported file by name.
        prepared: The same samples, ready for the run's model.
        source: How many they are and where they are from, in words.
    """

    __test__ = False  # pytest would take the class for tests

    arrays: Arrays
    prepared: Inputs
    source: str

    def __len__(self) -> int:
        """The number of samples."""
        return len(next(iter(self.arrays.values())))


def samples_of_file(model: TrainedModel, front: Front, path: str) -> TestSamples:
    """Take new data that the user names."""
    if isinstance(front, TableFront):
        assert isinstance(model.inputs, TableInputs)
        table = model.inputs.table(path).iloc[:MOST]
        return TestSamples(
            front.arrays(table), model.inputs.encode(table), f"{len(table):,} samples of {path}"
        )
    prepared = model.inputs.prepare(path)[:MOST]
    return TestSamples(_single(front, prepared), prepared, f"{len(prepared):,} samples of {path}")


def samples_of_test_part(model: TrainedModel, front: Front, trust_code: bool) -> TestSamples:
    """Take the test part of the run's own data, at most :data:`MOST` samples of it.

    Raises:
        InputError: If the data are gone, or are not those of the training.
    """
    directory = RunDirectory(model.run)
    try:
        with code_of(directory.code, trust_code):
            data = build(LightningDataModule, directory.settings()["data"], "data")
            data.prepare_data()
            data.setup("test")
            if not isinstance(data, LongTailDataModule):
                return _of_loader(front, data)
            saved = directory.path / FILE_NAME
            if saved.is_file():
                compare_with_saved(load_preprocessing(saved), data.training_state(), saved)
            return _of_part(front, data)
    except InputError as error:
        raise InputError(
            f"the file cannot be checked on the run's test part: {error} To check it on other data, add `--input`."
        ) from error


def _of_part(front: Front, data: LongTailDataModule) -> TestSamples:
    rows = _spread(data.split.test)
    prepared = data.inputs[torch.from_numpy(rows)]
    n = len(data.split.test)
    source = f"all {n:,} samples" if len(rows) == n else f"{len(rows):,} of the {n:,} samples"
    source = f"{source} of the test part"
    if isinstance(front, TableFront):
        assert isinstance(data, TabularLT)
        # Read as new data are, which takes text as it is written.
        table = read_table("path", Path(data.path), front.encoding.text_columns).iloc[rows]
        return TestSamples(front.arrays(table.reset_index(drop=True)), prepared, source)
    return TestSamples(_single(front, prepared), prepared, source)


def _of_loader(front: Front, data: Any) -> TestSamples:
    """The batches of a data module of the user's own kind, as they are."""
    batches, n = [], 0
    for batch in data.test_dataloader():
        batches.append(Sample.from_batch(batch).input)
        n += len(batches[-1])
        if n >= MOST:
            break
    if not batches:
        raise InputError("its test part is empty.")
    prepared = torch.cat(batches)[:MOST]
    return TestSamples(_single(front, prepared), prepared, f"{len(prepared):,} samples of the test part")


def _single(front: Front, prepared: Any) -> Arrays:
    (only,) = front.inputs
    return {only.name: prepared.to(only.dtype).numpy()}


def _spread(rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """At most :data:`MOST` of the rows, from all over."""
    return rows if len(rows) <= MOST else rows[np.linspace(0, len(rows) - 1, MOST).astype(np.int64)]
