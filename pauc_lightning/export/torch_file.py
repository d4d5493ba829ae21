"""The chain as a program of ``torch.export``."""

from __future__ import annotations

import io
import json
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.export import ExportedProgram
from torch.torch_version import TorchVersion

from pauc_lightning.errors import InputError
from pauc_lightning.export.chain import ScoringChain
from pauc_lightning.export.front import Arrays

OLDEST_TORCH = "2.6"
"""The first that writes ONNX files from programs of torch.export."""

METADATA = "pauc.json"
"""Name of the description inside the file."""

_EXAMPLES = 3  # torch.export takes a batch of 0 or 1 for a constant


def traced(chain: ScoringChain) -> ExportedProgram:
    """Trace the chain for batches of any size; :class:`InputError` says what cannot be represented."""
    if TorchVersion(torch.__version__) < OLDEST_TORCH:
        raise InputError(
            f"exporting needs torch {OLDEST_TORCH} or newer, got {torch.__version__}: pip install --upgrade torch."
        )
    examples = tuple(one.example(_EXAMPLES) for one in chain.front.inputs)
    batch = torch.export.Dim("batch")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            shapes = tuple({0: batch} for _ in examples)
            program = torch.export.export(chain, examples, dynamic_shapes=shapes, strict=False)
    except Exception as error:  # whatever the tracer or a network of the user's own raises
        reason = " ".join(str(error).split())[:300]
        raise InputError(
            f"the network {type(chain.network).__name__} cannot be exported: torch.export cannot represent it for "
            f"batches of any size ({type(error).__name__}: {reason}). Avoid decisions that depend on values or on the "
            "batch's size in its forward pass."
        ) from error
    for node in program.graph.nodes:
        node.meta.pop("stack_trace", None)  # they would put paths of this machine into the file
    return program


def torch_bytes(program: ExportedProgram, about: Mapping[str, Any]) -> bytes:
    """Return the contents of a .pt2 file."""
    file = io.BytesIO()
    torch.export.save(program, file, extra_files={METADATA: json.dumps(about)})
    return file.getvalue()


class TorchRunner:
    """Runs a .pt2 file.

    Args:
        content: The contents of the file.
        chain: The module that it was made from.
    """

    def __init__(self, content: bytes, chain: ScoringChain) -> None:
        self._module = torch.export.load(io.BytesIO(content)).module()
        self._chain = chain

    def __call__(self, arrays: Arrays) -> dict[str, NDArray[Any]]:
        """Return the outputs by name for the inputs of the ONNX file."""
        with torch.inference_mode():
            outputs = self._module(*self._chain.front.tensors(arrays))
        return {
            name: np.asarray(output) for name, output in zip(self._chain.output_names, outputs, strict=True)
        }
