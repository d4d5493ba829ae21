"""Writes the report about runs, and about scores from elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import NamedTuple, TypeAlias

from pauc_lightning.arguments import check_number, check_path
from pauc_lightning.errors import InputError
from pauc_lightning.files import write_text
from pauc_lightning.region import Region
from pauc_lightning.report.names import distinct
from pauc_lightning.report.page import page
from pauc_lightning.report.run_subject import run_subject
from pauc_lightning.report.scored_samples import ENDINGS, ScoredSamples, read_scored_samples
from pauc_lightning.report.subject import Subject

Model: TypeAlias = "str | PathLike[str] | ScoredSamples"


def write_report(
    models: Model | Sequence[Model],
    path: str | PathLike[str] = "report.html",
    *,
    region: Region | None = None,
    names: Sequence[str] | None = None,
    title: str | None = None,
    label: str = "label",
    score: str | Sequence[str] = "score",
    positive: str | None = None,
    thresholds_from: str | PathLike[str] | None = None,
    confidence: float = 0.95,
    overwrite: bool = False,
) -> Path:
    """Write one HTML file about runs, or about scores from elsewhere; it opens without a network.

    Several models are shown side by side, with paired differences where they scored the same samples.

    Args:
        models: Directories of runs; CSV, TSV or Parquet files with labels and scores; :class:`ScoredSamples`; or one of
            these.
        path: The file to write, which ends in .html.
        region: Judge all models in this region; None takes the region that each run was trained for. Scores from
            elsewhere need one.
        names: A name for each model; None makes them of the methods and paths.
        title: The heading; None makes one of the names.
        label: The column of the labels in files.
        score: The column of the scores in files; several are several models.
        positive: The label of the positives in files; None for labels 0 and 1.
        thresholds_from: A file like the only one in ``models`` for other samples, on which its thresholds and
            calibration are chosen; None chooses thresholds on the file itself.
        confidence: Probability with which intervals cover the true value.
        overwrite: Whether an existing file is replaced; otherwise it is an error.

    Returns:
        The file.

    Raises:
        InputError: If there is nothing to report on, a file is damaged, or the output exists.

    Example:
        >>> import tempfile
        >>> import numpy as np
        >>> rng = np.random.default_rng(0)
        >>> labels = np.arange(400) % 4 == 0
        >>> mine = ScoredSamples("my model", rng.normal(size=400) + 2 * labels, labels)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     report = write_report(mine, f"{folder}/report.html", region=Region(max_fpr=0.1))
        ...     print(report.name, report.read_text()[:15])
        report.html <!doctype html>
    """
    output = checked_output(path, overwrite)
    columns = Columns(label, (score,) if isinstance(score, str) else tuple(score), positive)
    other = None if thresholds_from is None else Path(thresholds_from)
    subjects = read_subjects(models, region, names, columns, other, confidence)
    write_text(output, page(subjects, title))
    return output


class Columns(NamedTuple):
    """How files name what a report needs.

    Attributes:
        label: The column of the labels.
        score: The columns of the scores; each is a model.
        positive: The label of the positives; None for labels 0 and 1.
    """

    label: str = "label"
    score: tuple[str, ...] = ("score",)
    positive: str | None = None


def read_subjects(
    models: Model | Sequence[Model],
    region: Region | None,
    names: Sequence[str] | None,
    columns: Columns,
    thresholds_from: Path | None,
    confidence: float,
) -> list[Subject]:
    """Read the models of a report; see :func:`write_report` for the arguments."""
    check_number("confidence", confidence, above=0, below=1, hint="95 % is 0.95")
    given = [models] if isinstance(models, (str, PathLike, ScoredSamples)) else list(models)
    if not given:
        raise InputError("`models` is empty: name at least one run, such as runs/DigitsLT-CE/version_0.")
    files = [model for model in given if _is_file(model)]
    if thresholds_from is not None and len(files) != 1:
        raise InputError(
            f"`--thresholds_from {thresholds_from}` belongs to one file of scores, got {len(files)}: make a report of "
            "one file, or leave it out."
        )
    found: list[Subject] = []
    for model in given:
        if not isinstance(model, ScoredSamples) and not _is_file(model):
            found.append(run_subject(Path(model), region, confidence))
        elif region is None:
            name = model.name if isinstance(model, ScoredSamples) else str(model)
            raise InputError(
                f"`{name}` holds scores, which have no region of their own: name the one that counts, such as "
                "--max_fpr 0.1 (in Python, region=Region(max_fpr=0.1))."
            )
        elif isinstance(model, ScoredSamples):
            found.append(model.subject(region, confidence))
        else:
            read = read_scored_samples(Path(model), *columns, thresholds_from)
            found += [samples.subject(region, confidence) for samples in read]
    return distinct(found, names)


def _is_file(model: Model) -> bool:
    """Whether a model is a file of scores; anything else that is a path should be a run."""
    if isinstance(model, ScoredSamples):
        return False
    check_path("models", model)
    return Path(model).suffix in ENDINGS


def checked_output(path: str | PathLike[str], overwrite: bool) -> Path:
    """Refuse a file that cannot be written, before the work is done."""
    check_path("output", path)
    output = Path(path)
    if output.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"`output={output}` must end in .html, as browsers tell a page by its name.")
    if output.is_dir():
        raise InputError(f"`output={output}` is a folder: give the name of a file.")
    if output.exists() and not overwrite:
        raise InputError(f"`output={output}` exists: choose another name, or replace it with --overwrite.")
    return output
