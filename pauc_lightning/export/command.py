"""``pauc export RUN``: the model of a run as one ONNX or torch file."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pauc_lightning.cli.plain_parser import PlainParser
from pauc_lightning.errors import InputError

if TYPE_CHECKING:
    from pauc_lightning.export.exporting import Exported

_ENDINGS = {"onnx": ".onnx", "torch": ".pt2"}
_METHODS = ("platt", "temperature", "isotonic", "none")
_KINDS = ("guaranteed", "empirical")

_ONNX = """\
In Python:
  session = onnxruntime.InferenceSession({path!r})
  {outputs} = session.run(None, {{{inputs}}})"""
_TORCH = """\
In Python:
  model = torch.export.load({path!r}).module()
  {outputs} = model({inputs})"""


def main(argv: Sequence[str]) -> None:
    """Export a run; mistakes raise :class:`InputError`."""
    given = _parser().parse_args(argv)
    if given.target_fpr is None and (given.threshold is not None or given.delta is not None):
        raise InputError("`--threshold` and `--delta` need `--target_fpr`, such as --target_fpr 0.01.")
    if given.prior is not None and given.calibrate == "none":
        raise InputError(
            f"`--prior {given.prior}` has no effect without probabilities: leave --calibrate out."
        )
    path = _output(given)

    from pauc_lightning.export.exporting import export  # torch is slow to import
    from pauc_lightning.inference import load

    wants_probability = given.calibrate != "none"
    model = load(
        given.run,
        calibrate=given.calibrate if wants_probability else "platt",
        prior=given.prior,
        trust_code=given.trust_code,
    )
    threshold, notes = _threshold(given, model.run)
    print(
        f"Exporting {given.run}, {type(model.network).__name__} for {model.region.title}, to {path} ...",
        flush=True,
    )
    try:
        calibrator = model.calibrator if wants_probability else None
    except InputError as error:
        raise InputError(f"{error} For a file without probabilities, add `--calibrate none`.") from error
    exported = export(
        model,
        path,
        given.format,
        calibrator=calibrator,
        prior=given.prior,
        threshold=threshold,
        notes=notes,
        check_on=given.input,
        trust_code=given.trust_code,
    )
    _report(exported, given.format)


def _parser() -> PlainParser:
    parser = PlainParser(
        prog="pauc export",
        usage="pauc export RUN [options]",
        description="Write the best model of a run to one file: preprocessing, network, calibration and, with "
        "--target_fpr, decisions. The file needs neither this package nor the run. It is compared with `pauc predict` "
        "on the test part before it appears; what the format cannot represent is refused.",
        epilog="Example: pauc export runs/TabularLT-CE/version_0 --target_fpr 0.01 --output model.onnx",
    )
    parser.add_argument("run", metavar="RUN", help="The run's directory")
    parser.add_argument(
        "--format",
        choices=tuple(_ENDINGS),
        help="ONNX, for ONNX Runtime in any language (needs pip install 'pauc-lightning[onnx]'), or torch, a program "
        "of torch.export; if left out, what the ending of --output says, or onnx",
    )
    parser.add_argument(
        "--output", metavar="FILE", help="The file, .onnx or .pt2; if left out, model.onnx or model.pt2 here"
    )
    parser.add_argument("--overwrite", action="store_true", help="Replace the file if it exists")
    parser.add_argument(
        "--calibrate",
        choices=_METHODS,
        default="platt",
        metavar="METHOD",
        help="How scores become probabilities: platt, temperature, isotonic, or none for a file without",
    )
    parser.add_argument(
        "--prior",
        type=float,
        metavar="FRACTION",
        help="Fraction of positives where the probabilities will be used; if left out, that of the validation part",
    )
    parser.add_argument(
        "--target_fpr",
        type=float,
        metavar="RATE",
        help="Add the output `decision` by the run's threshold for this false-positive rate, such as 0.01",
    )
    parser.add_argument(
        "--threshold",
        choices=_KINDS,
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
        "--input",
        metavar="FILE|FOLDER",
        help="Data to check the file on, instead of the run's test part: for a run whose training data are gone",
    )
    parser.add_argument(
        "--trust_code",
        action="store_true",
        help="Execute the run's own copy of a network of your own, in its folder `code`",
    )
    return parser


def _output(given: Namespace) -> Path:
    """The file, whose ending and the format must agree."""
    if given.output is None:
        given.format = given.format or "onnx"
        path = Path(f"model{_ENDINGS[given.format]}")
    else:
        path = Path(given.output)
        of_ending = {ending: name for name, ending in _ENDINGS.items()}
        if path.suffix not in of_ending:
            raise InputError(f"`--output {path}` must end in .onnx or .pt2, which decides the format.")
        if given.format is not None and given.format != of_ending[path.suffix]:
            raise InputError(
                f"`--output {path}` does not end in {_ENDINGS[given.format]}, as a file of --format {given.format} "
                "does: change one of them."
            )
        given.format = of_ending[path.suffix]
    if path.is_dir():
        raise InputError(f"`--output {path}` is a folder: give the name of a file.")
    if path.exists() and not given.overwrite:
        raise InputError(f"`--output {path}` exists: choose another name, or add --overwrite.")
    return path


def _threshold(given: Namespace, run: Path) -> tuple[float | None, dict[str, Any]]:
    """The threshold that decides and what is known about it."""
    if given.target_fpr is None:
        return None, {}
    from pauc_lightning.decisions import operating_point_of_run

    chosen = operating_point_of_run(run, given.target_fpr, delta=given.delta)
    kind = given.threshold or chosen.kind
    notes = {"target_fpr": given.target_fpr, "kind": kind}
    if kind == "guaranteed":
        notes["delta"] = chosen.delta
    return chosen.of_kind(kind).threshold, notes


def _report(exported: Exported, format: str) -> None:
    size = exported.size / 1000
    amount = f"{size:.0f} kB" if size < 1000 else f"{size / 1000:.1f} MB"
    print(f"Wrote {exported.path} ({amount})")
    print(f"  in          {exported.inputs}")
    print(f"  out         {', '.join(exported.outputs)}")
    print(f"  checked     {exported.checked}")
    names = [part.split(" ")[0] for part in exported.inputs.split(" and ")]
    outputs = ", ".join(exported.outputs) + ("," if len(exported.outputs) == 1 else "")
    if format == "onnx":
        inputs = ", ".join(f"'{name}': {name}" for name in names)
        print(_ONNX.format(path=str(exported.path), outputs=outputs, inputs=inputs))
    else:
        print(_TORCH.format(path=str(exported.path), outputs=outputs, inputs=", ".join(names)))
