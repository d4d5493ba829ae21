"""The table of a comparison: rows of text for people, Markdown, and CSV for programs."""

from __future__ import annotations

import csv
import io
import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from pauc_lightning.experiments.cells import Run
from pauc_lightning.experiments.outcome import Outcome
from pauc_lightning.region import Region

COLLAPSED, FAILED = "†", "‡"


@dataclass(frozen=True)
class Table:
    """Results of methods, regions and seeds, and the gains over a baseline.

    A gain is paired: the mean over the seeds of the difference to the baseline on the same split and warm-up, ± its
    standard deviation. With one seed there is no deviation.

    Args:
        methods: The rows.
        regions: The columns.
        seeds: The seeds over which means are taken.
        outcome: Returns the outcome of a run.
        baseline: The method to which the others are compared.

    Example:
        >>> values = {("ce", 0): 0.5, ("ce", 1): 0.6, ("pauci", 0): 0.55, ("pauci", 1): 0.65}
        >>> result = lambda run: Outcome(values[run.method, run.seed])
        >>> print(Table(["ce", "pauci"], [Region(0.3)], [0, 1], result, "ce").markdown())
        | method | OPAUC (FPR ≤ 0.3) | gain over ce |
        |---|---|---|
        | ce | 0.5500 ± 0.0707 | - |
        | pauci | 0.6000 ± 0.0707 | +0.0500 ± 0.0000 |
    """

    methods: Sequence[str]
    regions: Sequence[Region]
    seeds: Sequence[int]
    outcome: Callable[[Run], Outcome]
    baseline: str

    def header(self) -> list[str]:
        """The titles of the columns."""
        titles = (title for r in self.regions for title in (r.title, f"gain over {self.baseline}"))
        return ["method", *titles]

    def rows(self) -> list[list[str]]:
        """The text of the cells, a row for each method."""
        return [list(self._row(method)) for method in self.methods]

    def footnotes(self) -> list[str]:
        """Explain the marks in the cells, one line each."""
        return [*self._footnotes_of_collapses(), *self._footnotes_of_failures()]

    def markdown(self) -> str:
        """Write the table, and below it the footnotes."""
        rows = [self.header(), *self.rows()]
        lines = ["| " + " | ".join(cells) + " |" for cells in rows]
        lines.insert(1, "|" + "---|" * len(rows[0]))
        footnotes = self.footnotes()
        return "\n".join([*lines, *(["", *footnotes] if footnotes else [])])

    def result(self, method: str, region: Region) -> str:
        """The text of one cell: mean ± standard deviation over the seeds, with marks; empty if nothing is known."""
        outcomes = self._outcomes(method, region)
        collapsed = any(outcome.collapse is not None for outcome in outcomes.values())
        failed = any(outcome.failure is not None for outcome in outcomes.values())
        marks = (COLLAPSED if collapsed else "") + (FAILED if failed else "")
        text = self._summary(_values(outcomes)) or ("failed" if failed else "")
        return f"{text} {marks}".strip()

    def rows_for_csv(self, quantity: str) -> Iterator[dict[str, object]]:
        """Yield a row for each method and region, with the value of every seed; missing values are empty."""
        for region in self.regions:
            for method in self.methods:
                outcomes = self._outcomes(method, region)
                values = _values(outcomes)
                gains = self._gains(method, region) if method != self.baseline else []
                yield {
                    "quantity": quantity,
                    "method": method,
                    "max_fpr": region.max_fpr,
                    "min_tpr": region.min_tpr,
                    "mean": statistics.mean(values) if values else "",
                    "deviation": statistics.stdev(values) if len(values) > 1 else "",
                    "baseline": self.baseline,
                    "gain": statistics.mean(gains) if gains else "",
                    "gain_deviation": statistics.stdev(gains) if len(gains) > 1 else "",
                    **{
                        f"seed_{seed}": "" if outcome.value is None else outcome.value
                        for seed, outcome in outcomes.items()
                    },
                    "collapsed_seeds": " ".join(
                        str(s) for s, o in outcomes.items() if o.collapse is not None
                    ),
                    "failed_seeds": " ".join(str(s) for s, o in outcomes.items() if o.failure is not None),
                }

    def _outcomes(self, method: str, region: Region) -> dict[int, Outcome]:
        return {seed: self.outcome(Run(method, region, seed)) for seed in self.seeds}

    def _gains(self, method: str, region: Region) -> list[float]:
        base = self._outcomes(self.baseline, region)
        pairs = (
            (outcome.value, base[seed].value) for seed, outcome in self._outcomes(method, region).items()
        )
        return [value - other for value, other in pairs if value is not None and other is not None]

    def _row(self, method: str) -> Iterator[str]:
        yield method
        for region in self.regions:
            yield self.result(method, region) or "not run"
            yield "-" if method == self.baseline else self._summary(self._gains(method, region), "+") or "-"

    def _summary(self, values: Sequence[float], sign: str = "") -> str:
        if not values:
            return ""
        deviation = f" ± {statistics.stdev(values):.4f}" if len(values) > 1 else ""
        part = "" if len(values) == len(self.seeds) else f" ({len(values)} of {len(self.seeds)} seeds)"
        return f"{statistics.mean(values):{sign}.4f}{deviation}{part}"

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

    def _all(self) -> Iterator[tuple[Run, Outcome]]:
        for method in self.methods:
            for region in self.regions:
                for seed, outcome in self._outcomes(method, region).items():
                    yield Run(method, region, seed), outcome


def _values(outcomes: dict[int, Outcome]) -> list[float]:
    return [outcome.value for outcome in outcomes.values() if outcome.value is not None]


def as_csv(rows: Sequence[dict[str, object]]) -> str:
    """Write rows with equal keys as CSV."""
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
