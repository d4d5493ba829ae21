"""The files of a run that say how its best model scored: how they are written, found and read.

The scores of the validation part are inside ``best.ckpt``, so they always belong to the model in it. The files in
:data:`OF_THE_BEST_MODEL` are made from them when a training ends. They are removed before ``best.ckpt`` is replaced:
a run that is killed in between lacks them, and never has those of another model.
"""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pauc_lightning.errors import InputError
from pauc_lightning.files import complete_binary_file

if TYPE_CHECKING:
    from torch import Tensor

VALIDATION_SCORES = "validation_scores.npz"
TEST_SCORES = "test_scores.npz"
OPERATING_POINTS = "operating_points.json"
CALIBRATION = "calibration.json"

OF_THE_BEST_MODEL = (VALIDATION_SCORES, TEST_SCORES, OPERATING_POINTS, CALIBRATION)
"""Files in the run's directory that are true of the model in ``best.ckpt`` only."""

IN_CHECKPOINT = "validation_scores"
"""Where ``best.ckpt`` holds the scores of its model."""


@dataclass(frozen=True)
class SavedScores:
    """The scores of a model on a part of the data, each sample once, whatever the number of processes.

    Args:
        score: The sigmoid of the logits, float64, shape ``(n,)``.
        label: 1 for a positive, 0 for a negative, int8, shape ``(n,)``.
        index: The position of each sample in its part, int64, ascending; None if the data do not number their samples.
    """

    score: NDArray[np.float64]
    label: NDArray[np.int8]
    index: NDArray[np.int64] | None = None

    @classmethod
    def of(cls, score: Tensor, label: Tensor, index: Tensor | None = None) -> SavedScores:
        """Take over the tensors of an evaluation, ordered by the samples' index."""
        values, labels = score.detach().cpu().double().numpy(), label.detach().cpu().numpy().astype(np.int8)
        if index is None:
            return cls(values, labels)
        numbers = index.detach().cpu().numpy().astype(np.int64)
        order = np.argsort(numbers, kind="stable")
        return cls(values[order], labels[order], numbers[order])

    def __len__(self) -> int:
        """The number of samples."""
        return len(self.score)

    def is_of_the_same_samples_as(self, other: SavedScores) -> bool:
        """Whether two models scored the same samples, in the same order."""
        if not np.array_equal(self.label, other.label):
            return False
        if self.index is None or other.index is None:
            return self.index is other.index
        return bool(np.array_equal(self.index, other.index))

    @property
    def arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays that are known, by name."""
        known: dict[str, NDArray[Any]] = {"score": self.score, "label": self.label}
        return known if self.index is None else {**known, "index": self.index}


def write_scores(path: Path, scores: SavedScores) -> None:
    """Write the scores to an ``.npz`` file, completely or not at all."""
    with complete_binary_file(path) as file:
        np.savez(file, **scores.arrays)  # type: ignore[arg-type]  # numpy's stub confuses the names with an option


def read_scores(path: Path) -> SavedScores:
    """Read the scores that :func:`write_scores` wrote.

    Raises:
        InputError: If there is no such file, or it is damaged.
    """
    try:
        with np.load(path, allow_pickle=False) as file:
            found = {name: file[name] for name in file.files}
        return _checked(found)
    except FileNotFoundError:
        raise InputError(f"`{path}`: no such file.") from None
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        raise InputError(
            f"`{path}` is damaged, or not a file of scores ({error}): delete it, and let the command that wrote it "
            "run again."
        ) from error


def read_validation_scores(run: str | Path) -> SavedScores:
    """Read the scores of a run's best model on the validation part.

    Args:
        run: The directory of the run.

    Raises:
        InputError: If the run has none; the sentence names the command that makes them.
    """
    run = Path(run)
    if (run / VALIDATION_SCORES).is_file():
        return read_scores(run / VALIDATION_SCORES)
    best = run / "checkpoints" / "best.ckpt"
    if not best.is_file():
        raise InputError(
            f"The run {run} has neither {VALIDATION_SCORES} nor a best checkpoint: train it until its first "
            "validation has ended."
        )
    from pauc_lightning.checkpoint_io import read_checkpoint  # slow to import

    scores = scores_in(read_checkpoint(best))
    if scores is None:
        raise InputError(
            f"The run {run} has no {VALIDATION_SCORES}, as it was trained by an earlier version: type `pauc validate "
            f"{run}`, which makes it."
        )
    return scores


def newest_test(run: str | Path) -> Path | None:
    """Find the directory of the newest test of a run: the run itself if ``--test_best`` tested it.

    Args:
        run: The directory of the run.

    Returns:
        The directory, which holds ``test_scores.npz``; None if the run has not been tested.
    """
    run = Path(run)
    found = [run / TEST_SCORES, *run.glob(f"test/version_*/{TEST_SCORES}")]
    tests = [path for path in found if path.is_file()]
    return max(tests, key=lambda path: path.stat().st_mtime_ns).parent if tests else None


def read_test_scores(run: str | Path) -> SavedScores:
    """Read the scores of the newest test of a run.

    Args:
        run: The directory of the run, or that of one of its tests.

    Raises:
        InputError: If there was no test, or one by an earlier version.
    """
    directory = newest_test(run)
    if directory is None:
        raise InputError(f"`{run}` has no {TEST_SCORES}: type `pauc test {run}`, which makes it.")
    return read_scores(directory / TEST_SCORES)


def run_of(checkpoints: str | Path) -> Path:
    """The directory of the run whose checkpoints lie in a folder."""
    folder = Path(checkpoints)
    return folder.parent if folder.name == "checkpoints" else folder


def forget_best(run: Path) -> None:
    """Remove what was made from the best model, which is about to be replaced."""
    for name in OF_THE_BEST_MODEL:
        (run / name).unlink(missing_ok=True)


def for_checkpoint(scores: SavedScores) -> dict[str, Tensor]:
    """The scores as tensors, which a checkpoint may hold."""
    import torch

    return {name: torch.from_numpy(array) for name, array in scores.arrays.items()}


def scores_in(checkpoint: Mapping[str, Any]) -> SavedScores | None:
    """The scores that a checkpoint holds; None if it holds none, as those of earlier versions."""
    found = checkpoint.get(IN_CHECKPOINT)
    return None if found is None else _checked({name: value.cpu().numpy() for name, value in found.items()})


def _checked(found: Mapping[str, NDArray[Any]]) -> SavedScores:
    score, label, index = found["score"], found["label"], found.get("index")
    columns = [column for column in (score, label, index) if column is not None]
    if any(column.shape != (len(score),) for column in columns):
        raise ValueError("its arrays differ in length")
    return SavedScores(
        score.astype(np.float64, copy=False),
        label.astype(np.int8, copy=False),
        None if index is None else index.astype(np.int64, copy=False),
    )
