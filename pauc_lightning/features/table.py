"""Features as a Parquet file that TabularLT reads."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pauc_lightning.data.image_files import shown
from pauc_lightning.errors import InputError
from pauc_lightning.features.recipe import Recipe
from pauc_lightning.files import complete_binary_file

FILE, LABEL = "file", "label"
_RECIPE = b"pauc features"


def check_pyarrow() -> None:
    """Refuse to start if the table could not be written."""
    try:
        import pyarrow.parquet  # type: ignore[import-untyped]  # noqa: F401
    except ImportError as error:
        raise InputError("tables of features need pyarrow: pip install 'pauc-lightning[tabular]'.") from error


def check_names(names: Sequence[str]) -> None:
    """Refuse names of files that a Parquet file cannot hold."""
    for name in names:
        try:
            name.encode()
        except UnicodeEncodeError as error:
            raise InputError(
                f"the name of the image {shown(name)} is not encoded in UTF-8: rename the file."
            ) from error


def write_table(
    path: Path,
    names: Sequence[str],
    labels: Sequence[str] | None,
    parts: Iterable[NDArray[np.float32]],
    recipe: Recipe,
) -> None:
    """Write a row for each image: its file, its label, and its features f0000, f0001, and so on.

    Args:
        path: The Parquet file, which appears only when it is complete.
        names: The images' files.
        labels: Their classes; None if they are unknown. If all are whole numbers, the column is of numbers, so that
            the classes keep their order.
        parts: Features of consecutive images, each of shape ``(n, F)``.
        recipe: How the features were made, which is kept in the file.
    """
    import pyarrow
    from pyarrow import parquet

    classes = _classes(labels)
    with complete_binary_file(path) as file:
        writer, start = None, 0
        for features in parts:
            end = start + len(features)
            columns = {FILE: pyarrow.array(names[start:end], pyarrow.string())}
            if classes is not None:
                columns[LABEL] = pyarrow.array(classes[start:end])
            width = max(4, len(str(features.shape[1] - 1)))
            columns |= {
                f"f{i:0{width}d}": pyarrow.array(column) for i, column in enumerate(features.T.copy())
            }
            table = pyarrow.table(columns).replace_schema_metadata({_RECIPE: recipe.to_json()})
            if writer is None:
                writer = parquet.ParquetWriter(
                    file, table.schema, compression="zstd", use_dictionary=[FILE, LABEL]
                )
            writer.write_table(table)
            start = end
        assert writer is not None
        assert start == len(names)
        writer.close()


def read_recipe(path: Path) -> Recipe:
    """The recipe of a table that :func:`write_table` wrote."""
    from pyarrow import ArrowException, parquet

    try:
        metadata = parquet.read_schema(path).metadata or {}
    except (ArrowException, OSError) as error:
        raise InputError(
            f"`like={path}` cannot be read ({' '.join(str(error).split())}): give a table of `pauc features`."
        ) from error
    if _RECIPE not in metadata:
        raise InputError(
            f"`like={path}` does not say how its features were made: give a table of `pauc features`."
        )
    return Recipe.from_json(metadata[_RECIPE].decode(), f"`like={path}`")


def _classes(labels: Sequence[str] | None) -> Sequence[str] | Sequence[int] | None:
    if labels is not None and all(name.isdecimal() and str(int(name)) == name for name in set(labels)):
        return [int(name) for name in labels]
    return labels
