"""Loads the model of a run."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import Any, Literal

import torch
from lightning.pytorch import LightningDataModule
from lightning.pytorch.utilities import rank_zero_info
from torch import nn

from pauc_lightning.arguments import check_choice, check_flag, check_integer, check_path
from pauc_lightning.calibration import METHODS, Calibrator, Method, check_deployment_prior, read_calibration
from pauc_lightning.checkpoint_io import read_checkpoint
from pauc_lightning.data.base import LongTailDataModule
from pauc_lightning.data.images import ImageDataModule
from pauc_lightning.data.preprocessing import FILE_NAME
from pauc_lightning.data.tabular import TabularLT
from pauc_lightning.decisions import not_finished
from pauc_lightning.errors import InputError
from pauc_lightning.inference.build import build
from pauc_lightning.inference.image_inputs import ImageInputs
from pauc_lightning.inference.inputs import ModelInputs
from pauc_lightning.inference.network import trained_network
from pauc_lightning.inference.table_inputs import TableInputs
from pauc_lightning.inference.tensor_inputs import TensorInputs
from pauc_lightning.inference.trained_model import TrainedModel
from pauc_lightning.own_code import code_of, import_class
from pauc_lightning.region import Region
from pauc_lightning.run_directory import RunDirectory

_BATCH_SIZE = 1024


def load(
    run: str | PathLike[str],
    *,
    calibrate: Method = "platt",
    prior: float | None = None,
    device: str | torch.device = "cpu",
    checkpoint: Literal["best", "last"] = "best",
    batch_size: int | None = None,
    backbone: nn.Module | None = None,
    trust_code: bool = False,
) -> TrainedModel:
    """Load the model of a run: preprocessing, network, calibration and thresholds in one object.

    The run may have been moved, and the training data are not needed.

    Args:
        run: The run's directory, such as ``runs/TabularLT-PartialAUC/version_0``.
        calibrate: How scores become probabilities: "platt", "temperature" (after cross-entropy) or "isotonic" (with a
            thousand positives or more in the validation part).
        prior: Fraction of positives where the probabilities will be used; None means that of the validation part.
        device: Where the network computes, such as "cuda".
        checkpoint: "best", or "last" for the latest state, which has neither calibration nor thresholds.
        batch_size: Samples that are computed at once; None means the run's `eval_batch_size`.
        backbone: A network to load the weights into, instead of one that is built as in the run's config.
        trust_code: Whether to execute the run's own copy of a network of the user's own, in its folder ``code``. With
            False, such a network must be importable as it was in training.

    Says so in one line if the run has not finished training.

    Raises:
        InputError: If there is no such run, or it cannot be used; the sentence says why.

    Example:
        >>> model = load("runs/TabularLT-PartialAUC/version_0")  # doctest: +SKIP
        >>> model.predict_proba(new_patients)[:, 1]  # doctest: +SKIP
        >>> model.decide(new_patients, target_fpr=0.01)  # doctest: +SKIP
    """
    check_path("run", run)
    check_choice("calibrate", calibrate, METHODS)
    check_deployment_prior(prior)
    check_choice("checkpoint", checkpoint, ("best", "last"))
    check_flag("trust_code", trust_code)
    if batch_size is not None:
        check_integer("batch_size", batch_size, at_least=1)
    place = _device(device)
    directory = RunDirectory.open(str(run))
    settings = directory.settings()
    content = read_checkpoint(directory.checkpoint(checkpoint))
    if note := not_finished(directory.path):
        rank_zero_info(note)
    arguments = content.get("hyper_parameters", {})
    with code_of(directory.code, trust_code):
        network = trained_network(settings, content, directory.code, backbone)
        data = _data(settings, directory)
    dtype = next((p.dtype for p in network.parameters() if p.is_floating_point()), torch.float32)
    size = batch_size or int(
        ((settings["data"] or {}).get("init_args") or {}).get("eval_batch_size") or _BATCH_SIZE
    )
    return TrainedModel(
        directory.path.resolve(),
        network.to(place),
        _inputs(data, arguments, dtype),
        Region(arguments.get("max_fpr", 1.0), arguments.get("min_tpr", 0.0)),
        _calibrator(directory, checkpoint, calibrate),
        prior,
        checkpoint == "best",
        place,
        size,
    )


def _device(device: str | torch.device) -> torch.device:
    try:
        place = torch.device(device)
        torch.empty(0, device=place)
    except Exception as error:  # an unknown name, a driver that is missing, a torch without CUDA
        reason = str(error).strip().splitlines()[0]
        raise InputError(f"`device={device}` cannot be used ({reason}): use 'cpu'.") from error
    return place


def _data(settings: Mapping[str, Any], directory: RunDirectory) -> LongTailDataModule | None:
    """The run's data module, which reads no data; None if it is not of this project's kind."""
    setting = settings["data"]
    if not isinstance(setting, Mapping) or "class_path" not in setting:
        raise InputError(f"`{directory.config}` names no data module: restore the file of the run.")
    kind = import_class(str(setting["class_path"]), directory.code)
    if not (isinstance(kind, type) and issubclass(kind, LongTailDataModule)):
        return None
    state = directory.path / FILE_NAME
    if issubclass(kind, TabularLT) and not state.is_file():
        raise InputError(
            f"the run {directory.path} has no {FILE_NAME}, which says how a table becomes inputs: it is of an earlier "
            "version; train again."
        )
    saved = {"preprocessing": str(state)} if state.is_file() else {}
    arguments = {**(setting.get("init_args") or {}), **saved}
    data = build(LightningDataModule, {**setting, "init_args": arguments}, "data")
    assert isinstance(data, LongTailDataModule)
    return data


def _inputs(data: LongTailDataModule | None, arguments: Mapping[str, Any], dtype: torch.dtype) -> ModelInputs:
    shape = arguments.get("input_shape")
    shape = None if shape is None else tuple(shape)
    if isinstance(data, TabularLT):
        return TableInputs(data, dtype)
    if isinstance(data, ImageDataModule) and shape is not None and len(shape) == 3:
        return ImageInputs(data, shape, dtype)
    return TensorInputs(data, shape, dtype)


def _calibrator(directory: RunDirectory, checkpoint: str, method: str) -> Calibrator | InputError:
    """The run's calibrator, or why there is none, which concerns only those who ask for probabilities."""
    if checkpoint != "best":
        return InputError("the calibration belongs to the run's best model: load it with checkpoint='best'.")
    try:
        return read_calibration(directory.path).method(method)
    except InputError as error:
        return error
