"""``pauc predict RUN --input FILE --output FILE``: short names for the settings that score new data."""

from __future__ import annotations

import os
from argparse import ArgumentError, ArgumentParser
from collections.abc import Sequence
from pathlib import Path

from pauc_lightning.data.preprocessing import FILE_NAME
from pauc_lightning.errors import InputError

HELP = """\
usage: pauc predict RUN [--input FILE|FOLDER] [--output FILE] [--id COLUMN] [--overwrite] [options]

Score samples with the best model of a run, one row per sample in the order of the data.

  pauc predict runs/TabularLT-PAUCI/version_0                  scores the test part of the training data
  pauc predict runs/TabularLT-PAUCI/version_0 --input new.csv --output scores.csv

  --input FILE|FOLDER  New data, labels not needed: a .csv, .tsv or .parquet file for a model of tables, a folder
                       for a model of images. All of it is scored, with the scaling, categories and columns of the run.
  --output FILE        Where the scores go, .csv or .parquet; without it, a new folder in the run. An existing file is
                       refused without --overwrite.
  --overwrite          Replace an existing file.
  --id COLUMN          A column of the table that is copied beside the scores; without it, the run's `id_column`.

The columns are the row number in the input, counted from 0 (`index`), the file of an image, the identifier, the
label (1 positive, 0 negative) if the input has one, and the score. The other options are those of all commands:

"""


def translate_options(run: Path, options: Sequence[str]) -> list[str]:
    """Write ``--input``, ``--output``, ``--id`` and ``--overwrite`` as settings; others stay as they are.

    Args:
        run: The directory of the run.
        options: What the user typed after it.

    Example:
        >>> translate_options(Path("run"), ["--id", "name", "--ckpt_path", "last"])
        ['--data.init_args.id_column=name', '--ckpt_path', 'last']
    """
    parser = ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    for name in ("--input", "--output", "--id"):
        parser.add_argument(name)
    parser.add_argument("--overwrite", action="store_true")
    try:
        given, others = parser.parse_known_args(options)
    except ArgumentError as error:
        raise InputError(f"`{error.argument_name}` needs a value: see `pauc predict --help`.") from error
    settings = []
    if given.input and given.output and os.path.realpath(given.input) == os.path.realpath(given.output):
        raise InputError(
            f"`--output {given.output}` is the input, which would be lost: give the scores another name."
        )
    if given.input is not None:
        settings += [f"--data.init_args.predict_input={given.input}", _preprocessing(run)]
    if given.output is not None:
        settings.append(f"--predictions.filename={os.path.abspath(given.output)}")
    if given.overwrite:
        settings.append("--predictions.overwrite=true")
    if given.id is not None:
        settings.append(f"--data.init_args.id_column={given.id}")
    return [*settings, *others]


def _preprocessing(run: Path) -> str:
    path = run / FILE_NAME
    if not path.is_file():
        raise InputError(
            f"`--input`: the run {run} has no {FILE_NAME}, which says how new data become inputs. Runs of an earlier "
            "version and of data modules of your own have none: train again, or score in Python."
        )
    return f"--data.init_args.preprocessing={path}"
