"""``pauc evaluate``: intervals, thresholds and paired differences of any model's scores, and of runs."""

from __future__ import annotations

import json
import os
import shlex
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pauc_lightning.arguments import check_number, check_path
from pauc_lightning.cli.plain_parser import PlainParser
from pauc_lightning.errors import InputError
from pauc_lightning.region import Region

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from pauc_lightning.decisions import OperatingPoints
    from pauc_lightning.metrics.functional import Interval


@dataclass(frozen=True)
class _Source:
    """What is evaluated: the scores of one model or two on the same samples."""

    label: NDArray[np.int64]
    scores: Mapping[str, NDArray[np.float64]]
    group: NDArray[Any] | None = None
    points: Mapping[str, OperatingPoints] = field(default_factory=dict)
    """Thresholds that each model already has."""
    chosen_on: str = ""
    """Where those were chosen."""


def main(argv: Sequence[str] | None = None) -> None:
    """Print how good scores are, with confidence intervals; invalid options raise :class:`InputError`."""
    given = _parser().parse_args(argv)
    _check(given)
    _check_json(given)
    path = Path(given.scores)
    is_run = path.is_dir()
    if not is_run:
        _fill_in(given)
    region = _region(given, path if is_run else None)
    source = _runs(given, path) if is_run else _table(given, path)

    from pauc_lightning.cli.decision_tables import chosen_lines, metric_lines, point_lines
    from pauc_lightning.decisions import choose_operating_points, default_targets
    from pauc_lightning.decisions.evaluation import Evaluation, evaluate_scores

    regions = list(dict.fromkeys([Region(), region]))
    budgets = [region.max_fpr] if region.max_fpr < 1 else []
    evaluations: dict[str, Evaluation] = {}
    n_pos = int(source.label.sum())
    print(f"{len(source.label):,} samples, {n_pos:,} of them positive")
    for name, scores in source.scores.items():
        found = evaluate_scores(
            scores,
            source.label,
            regions,
            budgets,
            source.points.get(name),
            confidence=given.confidence,
            method=given.method,
            groups=source.group,
        )
        evaluations[name] = found
        print(f"\n{name}")
        _print(metric_lines(found))
        if found.points:
            _print(point_lines(found.points, given.confidence, source.chosen_on))
        elif not is_run:
            targets = given.target_fpr or default_targets(region.max_fpr)
            _print(chosen_lines(choose_operating_points(scores, source.label, targets, delta=given.delta)))
    if source.group is not None:
        print(
            "\nThe guarantee of a threshold takes samples as independent: with groups, it is weaker than it says."
        )
    differences = _differences(source, regions, given)
    _print(_difference_lines(list(source.scores), differences))
    if given.json is not None:
        _write(given, evaluations, differences)
    _print_next(given, is_run, source)


def _parser() -> PlainParser:
    parser = PlainParser(
        prog="pauc evaluate",
        usage="pauc evaluate FILE|RUN [options]",
        description="Print the partial AUC, AUC and recall of scores with confidence intervals, the thresholds for "
        "false-positive rates, and whether one model is ahead of another on the same samples. The scores may come from "
        "any program.",
        epilog="Examples:\n"
        "  pauc evaluate test.csv --label died --score xgboost --max_fpr 0.05\n"
        "  pauc evaluate test.csv --label died --score xgboost --against logistic --max_fpr 0.05 --group patient\n"
        "  pauc evaluate test.csv --label died --score xgboost --thresholds_from validation.csv --target_fpr 0.01\n"
        "  pauc evaluate runs/DigitsLT-UPAUCI/version_0 --against runs/DigitsLT-CE/version_0\n",
    )
    parser.add_argument(
        "scores",
        metavar="FILE|RUN",
        help="A .csv, .tsv or .parquet file with a row for each sample, or the directory of a run that was tested",
    )
    parser.add_argument(
        "--label", metavar="COLUMN", help="Column of the labels, 0 or 1; if left out, the column `label`"
    )
    parser.add_argument(
        "--positive", metavar="VALUE", help="The label of the positives, if labels are not 0 and 1"
    )
    parser.add_argument(
        "--score",
        metavar="COLUMN",
        help="Column of the scores, higher is positive; if left out, the column `score`",
    )
    parser.add_argument(
        "--against",
        metavar="COLUMN|RUN",
        help="Column of another model's scores, or another run, to compare with on the same samples",
    )
    parser.add_argument(
        "--max_fpr", type=float, metavar="RATE", help="Largest false-positive rate of the region"
    )
    parser.add_argument(
        "--min_tpr", type=float, metavar="RATE", help="Smallest true-positive rate of the region"
    )
    parser.add_argument(
        "--group",
        metavar="COLUMN",
        help="Column of groups whose samples are alike, such as patients or days: whole groups are resampled",
    )
    parser.add_argument(
        "--target_fpr",
        type=float,
        nargs="+",
        metavar="RATE",
        help="False-positive rates to choose thresholds for; if left out, 0.01, 0.05 and --max_fpr",
    )
    parser.add_argument(
        "--thresholds_from",
        metavar="FILE",
        help="File with the same columns for other samples, on which thresholds are chosen; FILE shows what they do. "
        "If left out, they are chosen on FILE, for use elsewhere",
    )
    parser.add_argument(
        "--delta",
        type=float,
        metavar="FLOAT",
        help="Probability with which a guaranteed threshold may exceed its rate; if left out, 0.05 or the run's",
    )
    parser.add_argument(
        "--confidence", type=float, default=0.95, metavar="FLOAT", help="Confidence of the intervals"
    )
    parser.add_argument(
        "--method",
        choices=("analytic", "bootstrap"),
        help="How intervals of areas are found; if left out, by the bootstrap with --group, else analytically",
    )
    parser.add_argument("--json", metavar="FILE", help="Write all numbers to a file")
    parser.add_argument("--overwrite", action="store_true", help="Replace the --json file if it exists")
    return parser


def _region(given: Namespace, run: Path | None) -> Region:
    """The region that the options name; if they name none, a run's own."""
    if run is not None and given.max_fpr is None and given.min_tpr is None:
        from pauc_lightning.decisions import region_of_run

        return region_of_run(run)
    return Region(
        1.0 if given.max_fpr is None else given.max_fpr, 0.0 if given.min_tpr is None else given.min_tpr
    )


def _check(given: Namespace) -> None:
    check_number("--confidence", given.confidence, above=0, below=1, hint="95 % is 0.95")
    if given.delta is not None:
        check_number("--delta", given.delta, above=0, below=1, hint="5 % is 0.05")
    if given.group is not None and given.method == "analytic":
        raise InputError("`--group` needs the bootstrap: leave out `--method analytic`.")
    for rate in given.target_fpr or ():
        check_number("--target_fpr", rate, above=0, below=1, hint="for 1 % write 0.01")


def _fill_in(given: Namespace) -> None:
    """Fill in the options of files that were left out; for a run, it matters which were given."""
    from pauc_lightning.decisions import DELTA

    for name, default in (("label", "label"), ("score", "score"), ("delta", DELTA)):
        if getattr(given, name) is None:
            setattr(given, name, default)


def _check_json(given: Namespace) -> None:
    """Refuse a file that cannot be written, or that is the user's data, before anything is computed."""
    path = given.json
    if path is None:
        return
    check_path("--json", path)
    if os.path.isdir(path):
        raise InputError(f"`--json {path}` is a folder: give the name of a file.")
    if not os.path.exists(path):  # unlike Path.exists, it takes names that are too long
        return
    for option, read in (("FILE", given.scores), ("--thresholds_from", given.thresholds_from)):
        if read is not None and os.path.exists(read) and os.path.samefile(path, read):
            raise InputError(
                f"`--json {path}` is {option}, which would be lost: give the numbers another name."
            )
    if not given.overwrite:
        raise InputError(f"`--json {path}` exists: choose another name, or add --overwrite.")


def _table(given: Namespace, path: Path) -> _Source:
    """The scores in a table, with thresholds from another one."""
    from pauc_lightning.cli.scored_table import read_scored_table
    from pauc_lightning.decisions import choose_operating_points, default_targets

    names = list(dict.fromkeys([given.score, *([given.against] if given.against else [])]))
    if given.against == given.score:
        raise InputError(f"`--against {given.against}` is the column of --score: give another one.")
    table = read_scored_table("FILE", path, given.label, names, given.group, given.positive)
    if given.thresholds_from is None:
        return _Source(table.label, table.scores, table.group)
    other = Path(given.thresholds_from)
    if other.exists() and path.samefile(other):
        raise InputError(
            f"`--thresholds_from {other}` is the file that is evaluated, and thresholds look too good on the samples "
            "that they were chosen on: give a file of other samples."
        )
    chosen = read_scored_table("--thresholds_from", other, given.label, names, None, given.positive)
    targets = given.target_fpr or default_targets(given.max_fpr)
    points = {
        name: choose_operating_points(chosen.scores[name], chosen.label, targets, delta=given.delta)
        for name in names
    }
    return _Source(table.label, table.scores, table.group, points, str(other))


def _runs(given: Namespace, path: Path) -> _Source:
    """The test scores of a run and, to compare with, of another one."""
    import numpy as np

    from pauc_lightning.decisions import not_finished, operating_point_of_run, read_operating_points
    from pauc_lightning.decisions.operating_points import OperatingPoints
    from pauc_lightning.run_directory import RunDirectory
    from pauc_lightning.run_files import read_test_scores

    for option in ("label", "positive", "score", "group", "thresholds_from"):
        if getattr(given, option) is not None:
            raise InputError(
                f"`--{option}` is for files; a run has its own labels, scores and thresholds: leave it out."
            )
    paths = [path, *([Path(given.against)] if given.against else [])]
    for other in paths:
        if not other.is_dir():
            raise InputError(f"`--against {other}` must be a run, as {path} is one: give its directory.")
        RunDirectory.open(str(other))
    tests = {str(run): read_test_scores(run) for run in paths}
    for note in filter(None, map(not_finished, paths)):
        print(note)
    first = tests[str(path)]
    for run, test in tests.items():
        if not test.is_of_the_same_samples_as(first):
            raise InputError(
                f"`--against {run}` was tested on other samples than {path}: compare runs of the same data with the "
                "same `data.seed`."
            )
    points = {}
    for run in map(str, paths):
        known = read_operating_points(run)
        if given.target_fpr or given.delta is not None:
            rates = sorted(set(given.target_fpr or [point.target_fpr for point in known.points]))
            asked = tuple(operating_point_of_run(run, rate, delta=given.delta) for rate in rates)
            delta = known.delta if given.delta is None else given.delta
            known = OperatingPoints(asked, delta, known.n_pos, known.n_neg)
        points[run] = known
    scores = {run: test.score for run, test in tests.items()}
    return _Source(first.label.astype(np.int64), scores, None, points, "the validation part")


def _differences(source: _Source, regions: Sequence[Region], given: Namespace) -> dict[Region, Interval]:
    """The paired differences of the partial AUCs of two models; none if there is one."""
    from pauc_lightning.metrics.functional import partial_auc_difference

    if len(source.scores) == 1:
        return {}
    one, two = source.scores.values()
    return {
        region: partial_auc_difference(
            *(one, two, source.label, region.max_fpr, region.min_tpr),
            confidence=given.confidence,
            method=given.method or ("analytic" if source.group is None else "bootstrap"),
            groups=source.group,
        )
        for region in regions
    }


def _difference_lines(names: Sequence[str], differences: Mapping[Region, Interval]) -> Iterator[str]:
    """Yield a sentence for each difference; "ahead" only where the interval excludes zero."""
    if not differences:
        return
    one, two = names
    yield f"\n{one} minus {two}, on the same samples"
    width = max(len(region.title) for region in differences)
    for region, difference in differences.items():
        ahead = one if difference.value > 0 else two
        verdict = (
            f"{ahead} is ahead" if difference.excludes_zero else "these samples do not tell which is ahead"
        )
        ends = f"[{difference.low:+.4f}, {difference.high:+.4f}]"
        yield f"{region.title:<{width}}  {difference.value:+8.4f}  {ends}  {verdict}"


def _write(given: Namespace, evaluations: Mapping[str, Any], differences: Mapping[Region, Interval]) -> None:
    from pauc_lightning.decisions.evaluation import interval_as_json
    from pauc_lightning.files import write_text

    content = {
        "scores": {name: evaluation.as_json() for name, evaluation in evaluations.items()},
        "difference": {region.name: interval_as_json(found) for region, found in differences.items()},
    }
    write_text(Path(given.json), json.dumps(content, indent=2, allow_nan=False) + "\n")
    print(f"\n  numbers     {given.json}")


def _print_next(given: Namespace, is_run: bool, source: _Source) -> None:
    if is_run:
        command = ["pauc", "predict", given.scores, "--target_fpr", "0.01"]
    elif not source.points:
        columns = ["--label", given.label, "--score", given.score]
        command = ["pauc", "evaluate", "<other samples>", *columns, "--thresholds_from", given.scores]
    else:
        return
    print(f"Next:  {shlex.join(command)}".replace("'<other samples>'", "<other samples>"))


def _print(lines: Iterator[str]) -> None:
    for line in lines:
        print(line)
