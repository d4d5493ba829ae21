"""Exports the model of a run: builds the chain, writes it, and checks it before the file appears."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

import torch

from pauc_lightning import __version__
from pauc_lightning.calibration import Calibrator
from pauc_lightning.errors import InputError
from pauc_lightning.export.calibration_step import CalibrationStep
from pauc_lightning.export.chain import DECISION, PROBABILITY, SCORE, ScoringChain
from pauc_lightning.export.checking import Expected, Runner, check
from pauc_lightning.export.front import Front
from pauc_lightning.export.onnx_file import OnnxRunner, check_onnx, onnx_bytes
from pauc_lightning.export.table_front import MISSING, UNKNOWN, TableFront
from pauc_lightning.export.tensor_front import TensorFront
from pauc_lightning.export.test_samples import samples_of_file, samples_of_test_part
from pauc_lightning.export.torch_file import TorchRunner, torch_bytes, traced
from pauc_lightning.files import complete_binary_file
from pauc_lightning.inference.image_inputs import ImageInputs
from pauc_lightning.inference.table_inputs import TableInputs
from pauc_lightning.inference.tensor_inputs import TensorInputs
from pauc_lightning.inference.trained_model import TrainedModel

Format = Literal["onnx", "torch"]
_FORMAT = "pauc-lightning export, version 1"


@dataclass(frozen=True)
class Exported:
    """What was exported.

    Attributes:
        path: The file.
        size: Its size in bytes.
        inputs: Its inputs in words.
        outputs: The names of its outputs.
        checked: On what it was checked, and what was found, in words.
    """

    path: Path
    size: int
    inputs: str
    outputs: tuple[str, ...]
    checked: str


def export(
    model: TrainedModel,
    path: Path,
    format: Format,
    *,
    calibrator: Calibrator | None,
    prior: float | None = None,
    threshold: float | None = None,
    notes: dict[str, Any] | None = None,
    check_on: str | None = None,
    trust_code: bool = False,
) -> Exported:
    """Write a model to one file, which appears only if it gives what the run gives.

    Args:
        model: The model of a run, on the CPU.
        path: The file.
        format: "onnx" or "torch".
        calibrator: Turns scores into probabilities; None for a file without.
        prior: Fraction of positives where the probabilities will be used; None means the calibrator's.
        threshold: The smallest score that is called positive; None for a file that does not decide.
        notes: Further entries of the file's description.
        check_on: New data to check the file on; None means the run's test part.
        trust_code: Whether code in the run's directory may be executed to read its test part.

    Raises:
        InputError: If a part of the model cannot be represented, or the file gives anything else than the run.
    """
    if format == "onnx":
        check_onnx()
    front = _front(model)
    step = None if calibrator is None else CalibrationStep(calibrator, prior)
    chain = ScoringChain(front, model.network, step, threshold).eval()
    about = _about(model, chain, calibrator, prior, threshold, notes or {})
    program = traced(chain)
    run: Runner
    if format == "onnx":
        content = onnx_bytes(program, chain, about)
        run = OnnxRunner(content)
    else:
        content = torch_bytes(program, about)
        run = TorchRunner(content, chain)
    samples = (
        samples_of_test_part(model, front, trust_code)
        if check_on is None
        else samples_of_file(model, front, check_on)
    )
    score = model.score_prepared(samples.prepared)
    calibrated = None if calibrator is None else partial(calibrator, prior=prior)
    expected = Expected(score, calibrated, threshold)
    found = check(run, samples, expected, model.batch_size)
    with complete_binary_file(path) as file:
        file.write(content)
    return Exported(
        path,
        len(content),
        _inputs_in_words(front, format),
        tuple(chain.output_names),
        f"on {samples.source}: {found}",
    )


def _front(model: TrainedModel) -> Front:
    """The first step for the kind of data that the run was trained on."""
    inputs = model.inputs
    dtype = next((p.dtype for p in model.network.parameters() if p.is_floating_point()), torch.float32)
    if isinstance(inputs, TableInputs):
        return TableFront(inputs.state, dtype)
    if isinstance(inputs, ImageInputs):
        meaning = (
            "bytes from 0 to 255, scaled and cut to this size as pauc_lightning reads images; channels first"
        )
        return TensorFront("images", torch.uint8, inputs.shape, inputs.transform, meaning)
    assert isinstance(inputs, TensorInputs)
    if inputs.shape is None:
        raise InputError(
            "the shape of one input is not known, as the run's data module has no attribute `input_shape`: add it, "
            "and train again."
        )
    meaning = "what the run's data module yields, before its eval_transform"
    return TensorFront("input", dtype, inputs.shape, inputs.transform, meaning)


def _about(
    model: TrainedModel,
    chain: ScoringChain,
    calibrator: Calibrator | None,
    prior: float | None,
    threshold: float | None,
    notes: dict[str, Any],
) -> dict[str, Any]:
    """The description inside the file."""
    outputs: dict[str, Any] = {SCORE: "the sigmoid of the network's logit; it ranks"}
    if calibrator is not None:
        outputs[PROBABILITY] = {
            "calibrated_by": calibrator.name,
            "prior": calibrator.prior if prior is None else prior,
        }
    if threshold is not None:
        outputs[DECISION] = {"positive_if": "score >= threshold", "threshold": threshold, **notes}
    about = {
        "format": _FORMAT,
        "version": __version__,
        "region": model.region.title,
        "inputs": chain.front.describe(),
        "outputs": outputs,
    }
    if isinstance(chain.front, TableFront) and chain.front.categories:
        about["category_codes"] = {
            "in .pt2 files": "position in the list of categories",
            "unknown": UNKNOWN,
            "missing": MISSING,
        }
    return about


def _inputs_in_words(front: Front, format: Format) -> str:
    words = []
    for one in front.inputs:
        shape = ", ".join(["n", *map(str, one.shape)])
        is_text = one.name == "categories" and format == "onnx"
        kind = "text" if is_text else str(one.dtype).removeprefix("torch.")
        words.append(f"{one.name} ({shape}) {kind}")
    return " and ".join(words)
