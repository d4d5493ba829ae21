"""The tables of the study: mean partial AUCs on the test parts, and paired differences with intervals."""

from __future__ import annotations

import csv
import statistics
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from pauc_lightning.experiments.interval import corrected_interval
from pauc_lightning.experiments.trees.search import Library, Method
from pauc_lightning.experiments.trees.study import Chosen, Result
from pauc_lightning.files import complete_file
from pauc_lightning.region import Region

TITLES: dict[Method, str] = {
    "log_loss": "log-loss",
    "weighted_log_loss": "weighted log-loss",
    "ranking": "ranking",
    "partial_auc": "partial AUC",
}
_OURS: Method = "partial_auc"
_REFERENCE: Method = "log_loss"


def as_markdown(results: Sequence[Result], regions: Sequence[float]) -> str:
    """Write a table for each region.

    Args:
        results: All results.
        regions: The largest false-positive rate of each region.
    """
    return "\n\n".join(_region_table(results, region) for region in regions) + "\n"


def _region_table(results: Sequence[Result], region: float) -> str:
    methods = [method for method in TITLES if any(result.cell.method == method for result in results)]
    others = [method for method in methods if method != _OURS]
    has_ours = _OURS in methods
    header = ["table", "library", *(TITLES[method] for method in methods)]
    if has_ours and _REFERENCE in methods:
        header.append(f"{TITLES[_OURS]} − {TITLES[_REFERENCE]}")
    if has_ours and len(others) > 1:
        header.append(f"{TITLES[_OURS]} − best other")
    lines = [f"{Region(region).title}:", "", _row(header), "|" + "---|" * len(header)]
    for table in dict.fromkeys(result.cell.table for result in results):
        for library in dict.fromkeys(result.cell.library for result in results):
            chosen = {method: _by_seed(results, table, library, method, region) for method in methods}
            if any(chosen.values()):
                lines.append(_row([table, library, *_cells(chosen, others)]))
    return "\n".join(lines)


def _cells(chosen: dict[Method, dict[int, Chosen]], others: Sequence[Method]) -> Iterator[str]:
    means = {
        method: statistics.mean(c.test for c in by_seed.values())
        for method, by_seed in chosen.items()
        if by_seed
    }
    best = max(f"{mean:.3f}" for mean in means.values())
    for method in chosen:
        text = f"{means[method]:.3f}" if method in means else "–"
        yield f"**{text}**" if text == best else text
    ours = chosen.get(_OURS)
    if ours is None:
        return
    if _REFERENCE in chosen:
        reference = chosen[_REFERENCE]
        yield _difference([ours[s].test - reference[s].test for s in ours if s in reference])
    if len(others) > 1:
        rivals = {
            seed: max((chosen[m][seed] for m in others), key=lambda c: c.validation)
            for seed in ours
            if all(seed in chosen[m] for m in others)
        }
        yield _difference([ours[seed].test - rival.test for seed, rival in rivals.items()])


def _difference(differences: Sequence[float]) -> str:
    """The mean and its interval; in bold if the interval excludes zero."""
    if not differences:
        return "–"
    mean = f"{statistics.mean(differences):+.3f}"
    interval = corrected_interval(differences)
    if interval is None:
        return mean
    text = f"{mean} [{interval.low:+.3f}, {interval.high:+.3f}]"
    return f"**{text}**" if interval.side else text


def _by_seed(
    results: Sequence[Result], table: str, library: Library, method: Method, region: float
) -> dict[int, Chosen]:
    return {
        result.cell.seed: next(one for one in result.chosen if one.max_fpr == region)
        for result in results
        if (result.cell.table, result.cell.library, result.cell.method) == (table, library, method)
    }


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def summary(results: Sequence[Result], regions: Sequence[float]) -> str:
    """Say how often the partial AUC's objective is ahead of log-loss, by how much on average, and how it was set."""
    lines = []
    for region in regions:
        differences: list[float] = []
        sides: list[int] = []
        for table, library in dict.fromkeys((r.cell.table, r.cell.library) for r in results):
            ours = _by_seed(results, table, library, _OURS, region)
            reference = _by_seed(results, table, library, _REFERENCE, region)
            paired = [ours[seed].test - reference[seed].test for seed in ours if seed in reference]
            if paired:
                differences.append(statistics.mean(paired))
                interval = corrected_interval(paired)
                sides.append(0 if interval is None else interval.side)
        if differences:
            lines.append(
                f"{Region(region).title}: of {len(differences)} pairs of table and library the partial AUC's objective "
                f"is ahead of log-loss in {sides.count(1)} and behind in {sides.count(-1)} (95 % interval), with a "
                f"higher mean in {sum(d > 0 for d in differences)}; the mean difference is "
                f"{statistics.mean(differences):+.3f}. {_choices(results, region)}"
            )
    return "\n".join(lines)


def times(results: Sequence[Result]) -> str:
    """Say how long a training takes with each objective, relative to log-loss; empty if that was not trained."""
    spent: dict[Method, tuple[float, int]] = {}
    for result in results:
        seconds, n = spent.get(result.cell.method, (0.0, 0))
        spent[result.cell.method] = (seconds + result.seconds, n + result.trainings)
    if _REFERENCE not in spent or len(spent) == 1:
        return ""
    each = {method: seconds / n for method, (seconds, n) in spent.items()}
    ratios = [
        f"{each[method] / each[_REFERENCE]:.1f} times with {TITLES[method]}"
        for method in TITLES
        if method in each and method != _REFERENCE
    ]
    return f"A training takes {each[_REFERENCE]:.2f} s with log-loss, {', '.join(ratios)}."


def _choices(results: Sequence[Result], region: float) -> str:
    """Say which of the objective's own settings validation chose."""
    own = [
        one.settings.own
        for result in results
        for one in result.chosen
        if result.cell.method == _OURS and one.max_fpr == region
    ]
    shares = Counter(float(settings["ce_weight"]) for settings in own)
    said = ", ".join(f"{share:g} in {n}" for share, n in sorted(shares.items()))
    n_logistic = sum(settings["surrogate"] == "logistic" for settings in own)
    width = statistics.median(float(settings["max_fpr"]) for settings in own)
    return (
        f"Validation chose: log-loss weighed {said}; logistic in {n_logistic} of {len(own)}; trained for FPR ≤ "
        f"{width:.2g} (median)."
    )


def write_csv(path: Path, results: Sequence[Result]) -> None:
    """Write one line for each cell and region, with the chosen settings."""
    with complete_file(path) as file:
        writer = csv.writer(file)
        writer.writerow(
            ["table", "library", "method", "seed", "max_fpr", "validation", "test", "rounds", "settings"]
        )
        for result in results:
            cell = result.cell
            for one in result.chosen:
                own = " ".join(f"{key}={value}" for key, value in one.settings.own.items())
                common = " ".join(
                    f"{key}={value}" for key, value in vars(one.settings).items() if key != "own"
                )
                where = (cell.table, cell.library, cell.method, cell.seed, one.max_fpr)
                writer.writerow([*where, one.validation, one.test, one.rounds, f"{common} {own}".strip()])
