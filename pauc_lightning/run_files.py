"""The files of a run that say how its best model scored: how they are written, found and read.

The scores of the validation part are inside ``best.ckpt``, so they always belong to the model in it. The files in
:data:`OF_THE_BEST_MODEL` are made from them when a training ends. They are removed before ``best.ckpt`` is replaced:
a run that is killed in between lacks them, and never has those of another model.

The tests in ``test/version_*`` are results and stay when the run is resumed. Each names the checkpoint that it tested
by its :func:`fingerprint`, so the scores of an earlier model never meet the thresholds of the present one.
"""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Collection, Mapping
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

_FINGERPRINT = "checkpoint"
"""Where a file of scores holds the fingerprint of the checkpoint that made them."""


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


def fingerprint(checkpoint: Path) -> str | None:
    """What tells a checkpoint from all others, wherever it is copied; None if there is none, or it is damaged.

    It is made of the checksums that the file, a zip archive, lists of its parts, so a large one takes no longer.
    """
    try:
        with zipfile.ZipFile(checkpoint) as archive:
            parts = [f"{part.filename} {part.file_size} {part.CRC:08x}" for part in archive.infolist()]
    except (OSError, zipfile.BadZipFile):
        return None
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def write_scores(path: Path, scores: SavedScores, checkpoint: str | None = None) -> None:
    """Write the scores to an ``.npz`` file, completely or not at all.

    Args:
        path: The file.
        scores: The scores.
        checkpoint: The fingerprint of the checkpoint that made them, if they must be told from those of another one.
    """
    arrays = scores.arrays if checkpoint is None else {**scores.arrays, _FINGERPRINT: np.array(checkpoint)}
    with complete_binary_file(path) as file:
        np.savez(file, **arrays)  # type: ignore[arg-type]  # numpy's stub confuses the names with an option


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
        # numpy takes what is no archive for a pickle, and proposes to load it unsafely.
        reason = "it is no .npz archive" if "pickle" in str(error) else str(error)
        raise InputError(
            f"`{path}` is damaged, or not a file of scores ({reason}): delete it, and let the command that wrote it "
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


def newest_test(run: str | Path, *, of_any_checkpoint: bool = False) -> Path | None:
    """Find the directory of the newest test of a run's best model: the run itself if ``--test_best`` tested it.

    Args:
        run: The directory of the run.
        of_any_checkpoint: Whether a test of another checkpoint that the run has, such as ``last``, will do.

    Returns:
        The directory, which holds ``test_scores.npz``; None if the model has not been tested. Tests of models that the
        run had before it was resumed do not count.
    """
    run = Path(run)
    name = "*" if of_any_checkpoint else "best"
    known = {fingerprint(path) for path in (run / "checkpoints").glob(f"{name}.ckpt")}
    cannot_tell = not known or None in known  # checkpoints that were deleted or damaged
    tests = [path for path in _tests(run) if cannot_tell or _is_of(path, known, run)]
    return max(tests, key=_age).parent if tests else None


def is_tested(run: str | Path) -> bool:
    """Whether a run was tested, whichever model it had then."""
    return bool(_tests(Path(run)))


def has_earlier_test(run: str | Path) -> bool:
    """Whether a run was tested, but none of its present models."""
    return is_tested(run) and newest_test(run, of_any_checkpoint=True) is None


def read_test_scores(run: str | Path) -> SavedScores:
    """Read the scores of the newest test of a run's best model.

    Args:
        run: The directory of the run, or that of one of its tests.

    Raises:
        InputError: If there was no test, one by an earlier version, or only tests of other models.
    """
    directory = newest_test(run)
    if directory is not None:
        return read_scores(directory / TEST_SCORES)
    if not is_tested(run):
        raise InputError(f"`{run}` has no {TEST_SCORES}: type `pauc test {run}`, which makes it.")
    if has_earlier_test(run):
        raise InputError(f"`{run}`: the test is of an earlier model: type `pauc test {run}`.")
    raise InputError(f"`{run}`: the test is of another checkpoint than the best: type `pauc test {run}`.")


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


def _tests(run: Path) -> list[Path]:
    """The scores of all tests of a run, whichever model they tested."""
    found = [run / TEST_SCORES, *run.glob(f"test/version_*/{TEST_SCORES}")]
    return [path for path in found if path.is_file()]


def _age(path: Path) -> int:
    return path.stat().st_mtime_ns


def _is_of(test: Path, checkpoints: Collection[str | None], run: Path) -> bool:
    """Whether a test tested one of some checkpoints of a run.

    A test by an earlier version does not say. It counts if it is newer than ``best.ckpt``, or lies in the run's own
    directory, from which a better model removes it.
    """
    try:
        with np.load(test, allow_pickle=False) as file:
            if _FINGERPRINT in file.files:
                return str(file[_FINGERPRINT]) in checkpoints
    except (OSError, ValueError, EOFError, zipfile.BadZipFile):
        return True  # whoever reads it says that it is damaged
    best = run / "checkpoints" / "best.ckpt"
    return test.parent == run or not best.is_file() or _age(test) >= _age(best)


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
