"""The gain of one run over another on the same test samples, with an interval: what one seed can say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from pauc_lightning.data.table_reader import few
from pauc_lightning.errors import InputError
from pauc_lightning.experiments.cells import Run
from pauc_lightning.experiments.interval import LEVEL, Interval
from pauc_lightning.experiments.outcome import damaged
from pauc_lightning.metrics.functional import partial_auc_difference
from pauc_lightning.run_files import TEST_SCORES, SavedScores, read_scores


class PairedTests:
    """Compares the test scores of two runs sample by sample.

    The interval says how far the gain may be off because the test part is a sample. It does not know how another split
    or another training would have ended, which only several seeds can show.

    Args:
        folders: The directories of the finished runs.
    """

    def __init__(self, folders: Mapping[Run, Path]) -> None:
        self._folders = folders
        self._intervals: dict[tuple[Run, Run], Interval | None] = {}

    def __call__(self, run: Run, other: Run) -> Interval | None:
        """The interval of the gain of ``run`` over ``other``; None if it is unknown, as for runs that kept no scores.

        Args:
            run: A run.
            other: A run for the same region, on the same test part.
        """
        key = run, other
        if key not in self._intervals:
            self._intervals[key] = self._compare(run, other)
        return self._intervals[key]

    def _compare(self, run: Run, other: Run) -> Interval | None:
        one, two = (self._scores(each) for each in (run, other))
        if one is None or two is None or not one.is_of_the_same_samples_as(two):
            return None
        region = run.region
        try:
            difference = partial_auc_difference(
                *(one.score, two.score, one.label),
                *(region.max_fpr, region.min_tpr, region.min_fpr),
                confidence=LEVEL,
            )
        except InputError:  # a class with a single sample
            return None
        if difference.low == difference.high != 0:
            return None  # too few samples for a variance: an interval without width would count as proof
        return Interval(difference.low, difference.high)

    def _scores(self, run: Run) -> SavedScores | None:
        folder = self._folders.get(run)
        if folder is None or not (folder / TEST_SCORES).is_file():
            return None  # a run of an earlier version
        try:
            return read_scores(folder / TEST_SCORES)
        except InputError as error:  # without the file, its interval would be gone for good
            raise damaged(folder / TEST_SCORES, folder) from error


def without_scores(folders: Mapping[Run, Path]) -> Iterator[str]:
    """Say for which finished runs there is no interval, because their test scores are missing.

    Args:
        folders: The directories of the finished runs.
    """
    lost = [folder for folder in folders.values() if not (folder / TEST_SCORES).is_file()]
    if lost:
        runs = "run" if len(lost) == 1 else "runs"
        yield (
            f"Gains have no interval where a run has no {TEST_SCORES}. Delete {few(lost)}, and the same command "
            f"repeats the {runs}."
        )
