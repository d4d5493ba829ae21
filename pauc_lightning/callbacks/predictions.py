"""Write predictions to a file."""

from __future__ import annotations

import csv
import importlib.util
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from lightning.pytorch import Callback, LightningModule, Trainer
from lightning.pytorch.utilities import rank_zero_info
from torch import Tensor

from pauc_lightning import distributed
from pauc_lightning.arguments import check_choice, check_number
from pauc_lightning.calibration import METHODS, Calibrator, Method, check_deployment_prior, read_calibration
from pauc_lightning.errors import InputError
from pauc_lightning.files import complete_binary_file, complete_file
from pauc_lightning.run_files import run_of

_ENDINGS = (".csv", ".parquet")


class PredictionWriter(Callback):
    """Writes a row for every predicted sample to a CSV or Parquet file, in the order of the samples.

    The columns are `index`, `label` (1 positive, 0 negative) and `score`. With this project's data modules the
    index is the row in the user's file, counted from 0, and further columns follow it: the `file` of an image, the
    identifier of a table's row. Other data modules may identify their samples by a method
    ``prediction_columns(index)``, which gets the batches' indices as an int64 array and returns the columns; without
    it, `index` is the batches' own. With `calibrate`, the column `probability` follows the score.

    Args:
        filename: The file, ending in .csv or .parquet, relative to the run's directory unless absolute. It appears
            only when it is complete.
        overwrite: Whether an existing file is replaced; otherwise it is an error.
        threshold: Adds a column `decision`: 1 for scores of at least this, 0 for others; null adds none. `pauc predict
            --target_fpr` fills in the run's threshold.
        calibrate: Calibrator of the run that turns scores into probabilities: "platt", "temperature" or "isotonic";
            null for scores only.
        prior: Fraction of positives where the probabilities will be used; null means that of the validation part.
    """

    def __init__(
        self,
        filename: str = "predictions.csv",
        overwrite: bool = False,
        threshold: float | None = None,
        calibrate: Method | None = None,
        prior: float | None = None,
    ) -> None:
        if not filename.endswith(_ENDINGS):
            raise InputError(
                f"`predictions.filename={filename}` must end in {' or '.join(_ENDINGS)}, which decides the format."
            )
        if filename.endswith(".parquet") and importlib.util.find_spec("pyarrow") is None:
            raise InputError(
                f"`predictions.filename={filename}` needs pyarrow: pip install 'pauc-lightning[tabular]', or choose "
                "a name that ends in .csv."
            )
        self.filename = filename
        if threshold is not None:
            check_number("predictions.threshold", threshold)
        if calibrate is not None:
            check_choice("calibrate", calibrate, METHODS)
        elif prior is not None:
            raise InputError(
                f"`predictions.prior={prior}` has no effect on scores: add `--calibrate platt`, which gives "
                "probabilities."
            )
        check_deployment_prior(prior)
        self.overwrite = overwrite
        self.threshold = threshold
        self.calibrate = calibrate
        self.prior = prior
        self._calibrator: Calibrator | None = None
        self._batches: list[tuple[Tensor, Tensor, Tensor]] = []

    def on_predict_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Forget an earlier run, and refuse a file that cannot be written, before the work is done."""
        self._batches = []
        self._calibrator = None if self.calibrate is None else _calibrator(trainer, pl_module, self.calibrate)
        path = self._path(trainer)
        if path.is_dir():
            raise InputError(f"`predictions.filename={path}` is a folder: give the name of a file.")
        if path.exists() and not self.overwrite:
            raise InputError(
                f"`predictions.filename={path}` exists: choose another name, or overwrite it with "
                "`predictions.overwrite: true` (`pauc predict --overwrite`)."
            )
        existing = next(parent for parent in path.absolute().parents if parent.exists())
        if not existing.is_dir() or not os.access(existing, os.W_OK):
            raise InputError(
                f"`predictions.filename={path}`: {existing} is not a folder that you may write to."
            )

    def on_predict_batch_end(
        self,
        trainer: Trainer,
        pl_module: LightningModule,
        outputs: Any,
        batch: Any,
        batch_idx: int,
        dataloader_idx: int = 0,
    ) -> None:
        """Keep the batch's predictions."""
        label = outputs["label"]
        index = outputs["index"]
        if index is None:  # samples without an index are numbered in the order of one process
            index = torch.full_like(label, -1, dtype=torch.int64)
        self._batches.append((index, label, outputs["score"]))

    def on_predict_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Collect the samples of all ranks, and write them on rank 0."""
        if not self._batches:
            empty = torch.empty(0, device=pl_module.device)
            self._batches = [(empty.long(), empty.long(), empty.double())]
        gathered = [
            distributed.gather(torch.cat(column)).cpu() for column in zip(*self._batches, strict=True)
        ]
        self._batches = []
        path = self._path(trainer)
        if not trainer.is_global_zero:
            return
        index, label, score = gathered
        if bool((index < 0).any()):
            index = torch.arange(len(index))
        order = index.argsort(stable=True)
        columns: dict[str, Sequence[Any]] = {
            **_sample_columns(trainer, index[order]),
            **_label_column(label[order]),
            "score": score[order].tolist(),
        }
        if self._calibrator is not None:
            columns["probability"] = self._calibrator(score[order], self.prior).tolist()
        if self.threshold is not None:
            columns["decision"] = (score[order] >= self.threshold).long().tolist()
        _write(path, columns)
        rank_zero_info(f"Wrote {len(index)} predictions ({', '.join(columns)}) to {path}")

    def _path(self, trainer: Trainer) -> Path:
        return (
            Path(trainer.log_dir or trainer.default_root_dir) / self.filename
        )  # a collective: all ranks must call it


def _calibrator(trainer: Trainer, pl_module: LightningModule, method: Method) -> Calibrator:
    """The run's calibrator, or a sentence why there is none."""
    checkpoint = Path(str(trainer.ckpt_path or ""))
    if checkpoint.name != "best.ckpt":
        raise InputError(
            f"`calibrate={method}` belongs to the run's best model, but the scores are from "
            f"{checkpoint.name or 'none'}: use best.ckpt, or leave `calibrate` out."
        )
    if method == "temperature" and type(pl_module).__name__ != "CE":
        rank_zero_info(
            f"A temperature assumes the logits of cross-entropy, but {type(pl_module).__name__} trained these: prefer "
            "--calibrate platt."
        )
    return read_calibration(run_of(checkpoint.parent)).method(method)


def _sample_columns(trainer: Trainer, index: Tensor) -> Mapping[str, Sequence[Any]]:
    """Return the columns that identify the samples."""
    data: Any = getattr(trainer, "datamodule", None)
    if not hasattr(data, "prediction_columns"):
        return {"index": index.tolist()}
    columns: Mapping[str, Sequence[Any]] = data.prediction_columns(index.numpy())
    return columns


def _label_column(label: Tensor) -> Mapping[str, Sequence[int | None]]:
    """Return the known labels; no column if none is known."""
    values = label.long().tolist()
    return (
        {"label": [value if value >= 0 else None for value in values]} if max(values, default=0) >= 0 else {}
    )


def _write(path: Path, columns: Mapping[str, Sequence[Any]]) -> None:
    if path.suffix == ".csv":
        with complete_file(path) as file:
            writer = csv.writer(file)
            writer.writerow(columns)
            writer.writerows(zip(*columns.values(), strict=True))
        return
    import pyarrow  # type: ignore[import-untyped]
    from pyarrow import parquet

    with complete_binary_file(path) as binary:
        parquet.write_table(pyarrow.table(dict(columns)), binary)
