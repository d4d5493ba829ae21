"""The chain as an ONNX file, which takes categories as text."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.export import ExportedProgram

from pauc_lightning.errors import InputError
from pauc_lightning.export.chain import ScoringChain
from pauc_lightning.export.front import Arrays
from pauc_lightning.export.table_front import UNKNOWN, TableFront

if TYPE_CHECKING:
    from onnx import ModelProto

METADATA = "pauc"
"""Key of the description in the file's metadata."""

_CODES = "category_codes"
_ML_DOMAIN, _ML_VERSION = "ai.onnx.ml", 3


def check_onnx() -> None:
    """Refuse an environment without the packages that make and run ONNX files."""
    try:
        import onnx  # noqa: F401
        import onnxruntime  # type: ignore[import-untyped]  # noqa: F401
        import onnxscript  # noqa: F401
    except ImportError as error:
        raise InputError(
            f"`--format onnx` needs the package {error.name}: pip install 'pauc-lightning[onnx]', or use --format "
            "torch."
        ) from error


def onnx_bytes(program: ExportedProgram, chain: ScoringChain, about: Mapping[str, Any]) -> bytes:
    """Return the contents of an .onnx file; :class:`InputError` says what ONNX cannot represent."""
    front = chain.front
    has_text = isinstance(front, TableFront) and bool(front.categories)
    names = [_CODES if has_text and one.name == "categories" else one.name for one in front.inputs]
    examples = tuple(one.example(3) for one in front.inputs)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = torch.onnx.export(
                program,
                examples,
                dynamo=True,
                input_names=names,
                output_names=chain.output_names,
                verbose=False,
            )
        assert made is not None
        model = made.model_proto
        if isinstance(front, TableFront) and has_text:
            _add_text(model, front)
        _remove_traces(model)
        entry = model.metadata_props.add()
        entry.key, entry.value = METADATA, json.dumps(about)
        content: bytes = model.SerializeToString()
    except Exception as error:  # an operator without a counterpart, or a network beyond protobuf's 2 GB
        reason = " ".join(str(error).split())[:300]
        raise InputError(
            f"the network {type(chain.network).__name__} cannot be written as ONNX ({type(error).__name__}: {reason}): "
            "use --format torch, or a network of common layers."
        ) from error
    return content


def _remove_traces(model: ModelProto) -> None:
    """Remove the exporter's notes where in the source each node is from: they hold paths of this machine."""
    del model.metadata_props[:]
    model.doc_string = ""
    graph = model.graph
    for part in (graph, *graph.node, *graph.value_info, *graph.input, *graph.output, *graph.initializer):
        part.doc_string = ""
        if hasattr(part, "metadata_props"):
            del part.metadata_props[:]


def _add_text(model: ModelProto, front: TableFront) -> None:
    """Put a look-up of the categories' texts in front of the graph, which takes codes."""
    from onnx import TensorProto, helper, numpy_helper

    graph = model.graph
    (codes,) = [one for one in graph.input if one.name == _CODES]
    batch = codes.type.tensor_type.shape.dim[0].dim_param or "batch"
    nodes, columns = [], []
    for i, lookup in enumerate(front.lookups()):
        index = f"category_{i}_index"
        graph.initializer.append(numpy_helper.from_array(np.array([i], dtype=np.int64), index))
        nodes.append(helper.make_node("Gather", ["categories", index], [f"category_{i}"], axis=1))
        nodes.append(
            helper.make_node(
                "LabelEncoder",
                [f"category_{i}"],
                [f"category_{i}_code"],
                domain=_ML_DOMAIN,
                keys_strings=list(lookup),
                values_int64s=list(lookup.values()),
                default_int64=UNKNOWN,
            )
        )
        columns.append(f"category_{i}_code")
    nodes.append(helper.make_node("Concat", columns, [_CODES], axis=1))
    for node in reversed(nodes):
        graph.node.insert(0, node)
    position = list(graph.input).index(codes)
    texts = helper.make_tensor_value_info("categories", TensorProto.STRING, [batch, len(columns)])
    graph.input[position].CopyFrom(texts)
    model.opset_import.append(helper.make_opsetid(_ML_DOMAIN, _ML_VERSION))


class OnnxRunner:
    """Runs an .onnx file on the CPU.

    Args:
        content: The contents of the file.
    """

    def __init__(self, content: bytes) -> None:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3  # errors only
        self._session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])

    def __call__(self, arrays: Arrays) -> dict[str, NDArray[Any]]:
        """Return the outputs by name."""
        names = [output.name for output in self._session.get_outputs()]
        return dict(zip(names, self._session.run(None, dict(arrays)), strict=True))
