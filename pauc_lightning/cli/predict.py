"""``pauc predict RUN --input FILE --output FILE``: short names for the settings that score new data."""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

from pauc_lightning.cli.plain_parser import PlainParser
from pauc_lightning.data.preprocessing import FILE_NAME
from pauc_lightning.errors import InputError


def predict_parser() -> PlainParser:
    """The options of ``pauc predict`` that no other command has."""
    parser = PlainParser(prog="pauc predict", add_help=False)
    parser.add_argument(
        "--input",
        metavar="FILE|FOLDER",
        help="New data, labels not needed: a .csv, .tsv or .parquet file for a model of tables, a folder for a model "
        "of images. All of it is scored, with the scaling, categories and columns of the run",
    )
    parser.add_argument(
        "--output",
        metavar="FILE",
        help="File for the scores, .csv or .parquet; if left out, a new folder in the run",
    )
    parser.add_argument("--overwrite", action="store_true", help="Replace the --output file if it exists")
    parser.add_argument(
        "--id",
        metavar="COLUMN",
        help="Column of the table to copy beside the scores; if left out, the run's id_column",
    )
    parser.add_argument(
        "--target_fpr",
        type=float,
        metavar="RATE",
        help="Add a column `decision` (1 positive, 0 negative) by the run's threshold for this false-positive rate, "
        "such as 0.01",
    )
    parser.add_argument(
        "--threshold",
        choices=("guaranteed", "empirical"),
        help="Which threshold decides: the one that keeps the rate on new data with a guarantee, or the plain one; if "
        "left out, the guaranteed one where the validation part has enough negatives",
    )
    parser.add_argument(
        "--delta",
        type=float,
        metavar="FLOAT",
        help="Probability with which the guaranteed threshold may exceed the rate; if left out, the run's",
    )
    parser.add_argument(
        "--calibrate",
        metavar="METHOD",
        nargs="?",
        const="platt",
        choices=("platt", "temperature", "isotonic"),
        help="Add a column of probabilities: platt (the default), temperature (for cross-entropy) or isotonic (for a "
        "thousand positives or more), fitted on the validation part",
    )
    parser.add_argument(
        "--prior",
        metavar="FRACTION",
        help="With --calibrate: the fraction of positives where the probabilities will be used, if it is not that of "
        "the validation part",
    )
    return parser


def translate_options(run: Path, options: Sequence[str]) -> list[str]:
    """Write ``--input``, ``--output``, ``--target_fpr`` and the like as settings; others stay as they are.

    Args:
        run: The directory of the run.
        options: The options that the user typed after it.

    Example:
        >>> translate_options(Path("run"), ["--id", "name", "--ckpt_path", "last"])
        ['--data.id_column=name', '--ckpt_path', 'last']
    """
    given, others = predict_parser().parse_known_args(options)
    settings = []
    if given.input and given.output and os.path.realpath(given.input) == os.path.realpath(given.output):
        raise InputError(
            f"`--output {given.output}` is the input, which would be lost: give the scores another name."
        )
    if given.input is not None:
        settings += [f"--data.predict_input={given.input}", _preprocessing(run)]
    if given.output is not None:
        _check_output(Path(given.output), given.overwrite)
        settings.append(f"--predictions.filename={os.path.abspath(given.output)}")
    if given.overwrite:
        settings.append("--predictions.overwrite=true")
    if given.id is not None:
        settings.append(f"--data.id_column={given.id}")
    if given.target_fpr is not None:
        _check_best(others)
        settings.append(f"--predictions.threshold={_threshold(run, given)!r}")
    elif given.threshold is not None or given.delta is not None:
        raise InputError("`--threshold` and `--delta` need `--target_fpr`, such as --target_fpr 0.01.")
    if given.calibrate is not None:
        settings.append(f"--predictions.calibrate={given.calibrate}")
    if given.prior is not None:
        settings.append(f"--predictions.prior={given.prior}")
    return [*settings, *others]


def _check_output(path: Path, overwrite: bool) -> None:
    """Refuse a file that cannot be written, in the words of the command line and before anything is imported."""
    if path.suffix not in (".csv", ".parquet"):
        raise InputError(f"`--output {path}` must end in .csv or .parquet, which decides the format.")
    if path.is_file() and not overwrite:
        raise InputError(f"`--output {path}` exists: choose another name, or add --overwrite.")


def _check_best(options: Sequence[str]) -> None:
    """Refuse thresholds for another model than the one that they were chosen for."""
    parser = PlainParser(prog="pauc predict", add_help=False)
    parser.add_argument("--ckpt_path", default="best")
    checkpoint = parser.parse_known_args(options)[0].ckpt_path
    if checkpoint != "best":
        raise InputError(
            f"`--target_fpr` needs the run's best model, whose thresholds are known, got --ckpt_path {checkpoint}: "
            "leave one of them out."
        )


def _threshold(run: Path, given: Namespace) -> float:
    """The threshold that decides; says which one it is."""
    from pauc_lightning.decisions import operating_point_of_run, threshold_text  # slow to import
    from pauc_lightning.distributed import is_main_process

    chosen = operating_point_of_run(run, given.target_fpr, delta=given.delta)
    kind = given.threshold or chosen.kind
    point = chosen.of_kind(kind)
    if not is_main_process():
        return point.threshold
    print(
        f"Decision: positive if score ≥ {threshold_text(point.threshold)}, the {kind} threshold for FPR ≤ "
        f"{given.target_fpr:g}."
    )
    if kind == "guaranteed":
        print(
            f"On new data like the validation part it keeps that rate with probability {1 - chosen.delta:g}."
        )
    else:
        print(f"On new data the rate may be higher. {chosen.why_not_guaranteed}".rstrip())
    return point.threshold


def _preprocessing(run: Path) -> str:
    path = run / FILE_NAME
    if not path.is_file():
        raise InputError(
            f"`--input`: the run {run} has no {FILE_NAME}, which says how new data become inputs. Runs of an earlier "
            "version and of data modules of your own have none: train again, or score in Python."
        )
    return f"--data.preprocessing={path}"
