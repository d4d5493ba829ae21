"""The table of a comparison on one data set with one backbone: what stands in its cells, in any format."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from pauc_lightning.experiments.best_of import Members, explain, listed
from pauc_lightning.experiments.cells import Run, Task
from pauc_lightning.experiments.interval import LEVEL, TEST_OVER_TRAIN, Interval, corrected_interval
from pauc_lightning.experiments.outcome import Outcome
from pauc_lightning.region import Region

COLLAPSED, FAILED = "†", "‡"
NO_CHOICE = "§"
KEPT_START = "°"
AHEAD, BEHIND = "▲", "▼"
Rank = Literal["best", "second", ""]
Best = Literal["largest", "smallest", "neither"]
Published = Callable[[str, str, Region], float | None]
"""Returns the published value for a data set, a method and a region; None if there is none."""
Paired = Callable[[Run, Run], Interval | None]
"""Returns the interval of one run's gain over another on the same test samples; None if it is unknown."""


@dataclass(frozen=True)
class Entry:
    """The text of a cell of the table, and whether it is the best or second best of its column."""

    text: str
    rank: Rank = ""


@dataclass(frozen=True)
class Table:
    """Results of methods, regions and seeds, and the gains over a baseline.

    A gain is paired: the mean over the seeds of the difference to the baseline on the same split and warm-up, with a
    95 % interval. A method counts as ahead or behind only if that interval excludes zero. With one seed there is no
    deviation, and the interval is that of the paired test samples.

    Args:
        methods: The rows.
        regions: The columns.
        seeds: The seeds over which means are taken.
        outcome: Returns the outcome of a run.
        baseline: The method to which the others are compared.
        task: The data set and the backbone of the runs.
        best: Which values are good; with "neither", nothing is marked.
        test_over_train: The size of the test part over that of the training part, for the intervals.
        published: Published values by method and region, shown beside ours.
        paired: Returns the interval of one run's gain over another on the same test samples, for a single seed; None
            if it is unknown.
        from_initial_weights: The methods that start from their initial weights although others have a warm-up.
        best_of: The rows that show, on each split, the outcome of a chosen method, with the methods to choose from.

    Example:
        >>> values = {("ce", 0): 0.50, ("ce", 1): 0.60, ("pauci", 0): 0.55, ("pauci", 1): 0.66}
        >>> result = lambda run: Outcome(values[run.method, run.seed])
        >>> table = Table(["ce", "pauci"], [Region(0.3)], [0, 1], result, "ce")
        >>> for row in table.rows():
        ...     print(" | ".join(entry.text for entry in row))
        ce | 0.5500 ± 0.0707 | -
        pauci | 0.6050 ± 0.0778 | +0.0550 [-0.0209, +0.1309]
    """

    methods: Sequence[str]
    regions: Sequence[Region]
    seeds: Sequence[int]
    outcome: Callable[[Run], Outcome]
    baseline: str
    task: Task = field(default_factory=Task)
    best: Best = "largest"
    test_over_train: float = TEST_OVER_TRAIN
    published: Mapping[tuple[str, Region], float] | None = None
    paired: Paired = lambda run, other: None
    from_initial_weights: Sequence[str] = ()
    best_of: Members = field(default_factory=dict)

    def header(self) -> list[str]:
        """The titles of the columns."""
        titles = ["method"]
        for region in self.regions:
            titles += [region.title, self._gain_title]
            titles += ["paper"] if self._has_published(region) else []
        return titles

    @property
    def _gain_title(self) -> str:
        return f"gain over {self.baseline}" if self.best == "largest" else f"difference to {self.baseline}"

    def rows(self) -> list[list[Entry]]:
        """The cells, a row for each method."""
        return [list(self._row(method)) for method in self.methods]

    def result(self, method: str, region: Region) -> str:
        """The text of one cell: mean ± standard deviation over the seeds, with marks; empty if nothing is known."""
        outcomes = self.outcomes(method, region)
        collapsed = any(outcome.collapse is not None for outcome in outcomes.values())
        failed = any(outcome.failure is not None for outcome in outcomes.values())
        kept = KEPT_START if self.kept_start(method, region) else ""
        no_choice = any(outcome.no_choice is not None for outcome in outcomes.values())
        marks = kept + COLLAPSED * collapsed + FAILED * failed + NO_CHOICE * no_choice
        text = self._summary(values_of(outcomes)) or "failed" * failed or "no value" * no_choice
        return f"{text} {marks}".strip()

    def kept_start(self, method: str, region: Region) -> bool:
        """Whether on every seed the best model is the one that the method started from."""
        known = [one for one in self.outcomes(method, region).values() if one.value is not None]
        return bool(known) and all(one.is_start for one in known)

    def outcomes(self, method: str, region: Region) -> dict[int, Outcome]:
        """The outcome of every seed."""
        return {seed: self.outcome(Run(method, region, seed, self.task)) for seed in self.seeds}

    def gains(self, method: str, region: Region) -> list[float]:
        """The differences to the baseline, of the seeds for which both values are known."""
        if method == self.baseline:
            return []
        base = self.outcomes(self.baseline, region)
        pairs = ((outcome.value, base[seed].value) for seed, outcome in self.outcomes(method, region).items())
        return [value - other for value, other in pairs if value is not None and other is not None]

    def interval(self, method: str, region: Region) -> Interval | None:
        """The interval of the mean gain; None if it is unknown.

        It is for the baseline, for gains that are equal on all seeds, and for a single seed without its test scores.
        """
        gains = self.gains(method, region)
        if len(self.seeds) > 1 or not gains:
            return corrected_interval(gains, self.test_over_train)
        run, base = (Run(name, region, self.seeds[0], self.task) for name in (method, self.baseline))
        return self.paired(run, base)

    def gain_text(self, method: str, region: Region, digits: int = 4) -> str:
        """The mean gain with its interval and the mark of a method that is ahead or behind; a dash if there is none."""
        gains = self.gains(method, region)
        if not gains:
            return "-"
        interval, mean = self.interval(method, region), f"{statistics.mean(gains):+.{digits}f}"
        if interval is None:
            return f"{mean}{self._part(gains)}"
        side = {"largest": interval.side, "smallest": -interval.side, "neither": 0}[self.best]
        mark = {1: f" {AHEAD}", -1: f" {BEHIND}", 0: ""}[side]
        ends = f"[{interval.low:+.{digits}f}, {interval.high:+.{digits}f}]"
        return f"{mean} {ends}{self._part(gains)}{mark}"

    def ranks(self, region: Region) -> dict[str, Rank]:
        """Which methods are best and second best, by their means as printed; only methods with all seeds count."""
        return self._ranks[region]

    @property
    def is_ranked(self) -> bool:
        """Whether any cell is marked as best."""
        return any(rank for region in self.regions for rank in self.ranks(region).values())

    # ------------------------------------------------------------------ below the table

    def legend(self) -> list[str]:
        """Explain what the cells hold, in sentences; marks of formats are explained by the formats."""
        return [*self._explanation(), *self.starts(), *self._choices()]

    def starts(self) -> list[str]:
        """Say which methods had no warm-up, in a sentence; nothing if all had the same start."""
        names = self.from_initial_weights
        if not names:
            return []
        its, each = ("its", "it") if len(names) == 1 else ("their", "they")
        return [
            f"{' and '.join(names)} started from {its} initial weights, with the warm-up's epochs on top, so {each} "
            "may stop early: the best epoch on the validation part counts."
        ]

    def _choices(self) -> Iterator[str]:
        def outcomes(label: str) -> list[Outcome]:
            return [one for region in self.regions for one in self.outcomes(label, region).values()]

        return explain(self.best_of, outcomes)

    def _explanation(self) -> list[str]:
        lines = self._what_cells_hold()
        if not lines:
            return []
        marks = {AHEAD: "ahead of", BEHIND: "behind"}
        shown = [mark for mark in marks if any(mark in entry.text for row in self.rows() for entry in row)]
        if shown:
            said = ", ".join(f"{mark} {marks[mark]} {self.baseline}" for mark in shown)
            lines.append(f"{said}: the interval excludes zero.")
        elif len(self.methods) > 1 and self.best != "neither":
            lines.append(f"No interval excludes zero: no method is ahead of {self.baseline} or behind it.")
        cells = [(method, region) for method in self.methods for region in self.regions]
        if any(len(self.gains(*cell)) > 1 and self.interval(*cell) is None for cell in cells):
            lines.append(
                "A gain without brackets is equal on all seeds: how far others would differ is unknown."
            )
        return lines

    def _what_cells_hold(self) -> list[str]:
        if len(self.seeds) == 1:
            if not any(self.interval(method, region) for method in self.methods for region in self.regions):
                return []
            return [
                f"One seed: in brackets the {LEVEL:.0%} interval of the gain on these test samples, which does not "
                "cover another split or training."
            ]
        means = f"Mean ± standard deviation over {len(self.seeds)} seeds."
        if len(self.methods) == 1:
            return [means]
        what = "Gains" if self.best == "largest" else "Differences"
        return [
            means,
            f"{what} are paired by seed; in brackets their {LEVEL:.0%} interval, corrected for overlapping splits "
            "(Nadeau and Bengio 2003).",
        ]

    def footnotes(self) -> list[str]:
        """Explain the marks of kept starts, of collapsed and failed runs and of missing choices, one line each."""
        return [
            *self._footnotes_of_starts(),
            *self._footnotes_of_collapses(),
            *self._footnotes_of_failures(),
            *self._footnotes_of_missing_choices(),
        ]

    # ------------------------------------------------------------------ cells

    @cached_property
    def _ranks(self) -> dict[Region, dict[str, Rank]]:
        return {region: self._ranks_in(region) for region in self.regions}

    def _ranks_in(self, region: Region) -> dict[str, Rank]:
        found = {method: values_of(self.outcomes(method, region)) for method in self.methods}
        means = {
            method: f"{statistics.mean(values):.4f}"
            for method, values in found.items()
            if len(values) == len(self.seeds)
        }
        in_order = sorted(set(means.values()), key=float, reverse=self.best == "largest")
        # Where all are equal none is best, and the worse of two is not "second best".
        names: tuple[Rank, ...] = ("best", "second") if len(means) > 2 else ("best",)
        is_ranked = len(in_order) > 1 and self.best != "neither"
        places = dict(zip(in_order, names, strict=False)) if is_ranked else {}
        return {method: places.get(means.get(method, ""), "") for method in self.methods}

    def _row(self, method: str) -> Iterator[Entry]:
        yield Entry(method)
        for region in self.regions:
            yield Entry(self.result(method, region) or "not run", self.ranks(region)[method])
            yield Entry(self._marked_gain(method, region))
            if self._has_published(region):
                value = (self.published or {}).get((method, region))
                yield Entry("-" if value is None else f"{value:.4f}")

    def _marked_gain(self, method: str, region: Region) -> str:
        """The gain, with the mark that says that its interval says nothing about the loss."""
        is_of_start = self.gains(method, region) and self.kept_start(method, region)
        return self.gain_text(method, region) + (f" {KEPT_START}" if is_of_start else "")

    def _has_published(self, region: Region) -> bool:
        return any((method, region) in (self.published or {}) for method in self.methods)

    def _summary(self, values: Sequence[float]) -> str:
        if not values:
            return ""
        deviation = f" ± {statistics.stdev(values):.4f}" if len(values) > 1 else ""
        return f"{statistics.mean(values):.4f}{deviation}{self._part(values)}"

    def _part(self, values: Sequence[float]) -> str:
        return "" if len(values) == len(self.seeds) else f" ({len(values)} of {len(self.seeds)} seeds)"

    def _footnotes_of_starts(self) -> Iterator[str]:
        if any(self.kept_start(method, region) for method in self.methods for region in self.regions):
            yield explain_kept_start(len(self.seeds))
        if any(
            self._kept_start_sometimes(method, region) for method in self.methods for region in self.regions
        ):
            yield from count_kept_starts([self])

    def _kept_start_sometimes(self, method: str, region: Region) -> bool:
        """Whether a method returned its start on some seeds only, which no mark shows."""
        return not self.kept_start(method, region) and any(
            one.is_start for one in self.outcomes(method, region).values()
        )

    def _footnotes_of_collapses(self) -> Iterator[str]:
        found = [(run, outcome.collapse) for run, outcome in self._all() if outcome.collapse is not None]
        if found:
            yield (
                f"{COLLAPSED} The run collapsed in training. Its value comes from its best epoch on the validation "
                "part, which may lie before the collapse."
            )
        for run, collapse in found:
            yield f"  - {run.title}: by step {collapse.step}, {collapse.what}."

    def _footnotes_of_failures(self) -> Iterator[str]:
        found = [(run, outcome.failure) for run, outcome in self._all() if outcome.failure is not None]
        if found:
            yield f"{FAILED} The run failed and has no value. The same command tries it again."
        for run, failure in found:
            yield f"  - {run.title}: {failure}"

    def _footnotes_of_missing_choices(self) -> Iterator[str]:
        found: dict[tuple[str, Region, str], list[str]] = {}
        for label in self.best_of:
            for region in self.regions:
                for seed, outcome in self.outcomes(label, region).items():
                    if outcome.no_choice is not None:
                        found.setdefault((label, region, outcome.no_choice), []).append(str(seed))
        if found:
            yield (
                f"{NO_CHOICE} Nothing can be chosen unless every method has a value on the validation part. Earlier "
                "versions did not record it: delete the directory of such a run, and the same command repeats it. Runs "
                "with another --checkpoint.monitor or --checkpoint.mode have none."
            )
        for (label, region, why), seeds in found.items():
            of_seeds = f"seed{'s' * (len(seeds) > 1)} {listed(seeds)}"
            yield f"  - {self.task.prefix}{label}, {region.title}, {of_seeds}: {why}"

    def _all(self) -> Iterator[tuple[Run, Outcome]]:
        """The outcomes of trained runs."""
        for method in self.methods:
            if method in self.best_of:
                continue
            for region in self.regions:
                for seed, outcome in self.outcomes(method, region).items():
                    yield Run(method, region, seed, self.task), outcome


def explain_kept_start(n_seeds: int) -> str:
    """The sentence for the mark of methods that kept their start."""
    where = "On every seed the" if n_seeds > 1 else "The"
    return (
        f"{KEPT_START} {where} best model is the one that the method started from, as no epoch was better on the "
        "validation part. Such a gain says nothing about the loss."
    )


def count_kept_starts(tables: Sequence[Table]) -> Iterator[str]:
    """Count the runs of each method that returned the model that they started from, in a sentence, if there are any.

    Args:
        tables: The tables to count in, of the same methods.
    """
    said = []
    for method in tables[0].methods:
        found = [
            one
            for table in tables
            for region in table.regions
            for one in table.outcomes(method, region).values()
        ]
        number = sum(one.is_start for one in found)
        if number:
            said.append(f"{method} {number} of {sum(one.value is not None for one in found)}")
    if said:
        yield f"Runs that returned the model they started from: {', '.join(said)}."


def values_of(outcomes: Mapping[int, Outcome]) -> list[float]:
    """The values that are known."""
    return [outcome.value for outcome in outcomes.values() if outcome.value is not None]
