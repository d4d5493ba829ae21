"""``pauc compare``: methods side by side from the same warm-up, several seeds, one table."""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from pauc_lightning.errors import InputError
from pauc_lightning.files import write_text
from pauc_lightning.metrics.functional import binary_partial_auc
from pauc_lightning.objectives import UPAUCI
from pauc_lightning.region import Region

METHOD_CONFIGS = Path("configs/method")

DESCRIPTION = """\
Train methods from the same cross-entropy warm-up, for each region and seed, and print the test results side by side.

  pauc compare -c configs/data/digits.yaml --methods ce pauci upauci --regions 0.3 0.3,0.7 --seeds 0 1 2

Options that are not listed here go to every `pauc fit`, for example --model.backbone SmallCNN. A run that has been
finished is not run again, so a comparison that was stopped goes on where it was. Seeds change the split, the
initial weights and the order of the batches.

With --train_part the same models are also looked at on the training part: their partial AUC there, and the squared
risk, the mean of (1 - (f+ - f-))^2 over the region's pairs, which PAUCI and UPAUCI minimise. A method that lowers the
risk but not the error on the training part has the wrong surrogate; one that is ahead there but not in the test
overfits.
"""


@dataclass(frozen=True)
class Run:
    """One training: a method, for a region, with a seed."""

    method: str
    region: Region
    seed: int

    @property
    def name(self) -> str:
        """Name of the run's directory."""
        return f"{self.method}-{self.region.name}-seed{self.seed}"


def main(argv: Sequence[str], run_pauc: Callable[[Sequence[str]], None]) -> None:
    """Run what is missing, then print the table.

    Args:
        argv: The command's options.
        run_pauc: The ``pauc`` command itself, called with its arguments.
    """
    parser = argparse.ArgumentParser(
        prog="pauc compare", description=DESCRIPTION, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("-c", "--config", action="append", default=[], help="config file, as for pauc fit")
    parser.add_argument(
        "--methods", nargs="+", default=["ce", "pauci", "upauci"], help="names of files in configs/method"
    )
    parser.add_argument(
        "--regions", nargs="+", default=["0.3"], help="max_fpr, or max_fpr,min_tpr for a two-way region"
    )
    parser.add_argument(
        "--seeds", nargs="+", type=int, default=[0, 1, 2], help="one run of everything for each"
    )
    parser.add_argument("--warmup_epochs", type=int, default=10, help="epochs of the common warm-up")
    parser.add_argument("--epochs", type=int, default=20, help="epochs of each method after the warm-up")
    parser.add_argument(
        "--baseline", help="method over which the gains are counted; left out, the first of --methods"
    )
    parser.add_argument(
        "--train_part",
        action="store_true",
        help="also print partial AUC and squared risk on the training part",
    )
    parser.add_argument("--out", type=Path, default=Path("runs/compare"), help="directory of all these runs")
    arguments, extra = parser.parse_known_args(argv)
    regions = [_region(text) for text in arguments.regions]
    for method in arguments.methods:
        if not _method_config(method).is_file():
            known = ", ".join(sorted(path.stem for path in METHOD_CONFIGS.glob("*.yaml")))
            raise InputError(
                f"`--methods {method}`: there is no {_method_config(method)}. Known: {known or 'none here'}; run "
                "the command in the project's directory."
            )
    baseline = arguments.baseline or arguments.methods[0]
    if baseline not in arguments.methods:
        raise InputError(
            f"`--baseline {baseline}` is not among --methods {' '.join(arguments.methods)}: add it."
        )
    common = [part for config in arguments.config for part in ("-c", config)]
    runs = [
        Run(method, region, seed)
        for seed in arguments.seeds
        for region in regions
        for method in arguments.methods
    ]
    _claim(
        arguments.out,
        {
            "config": arguments.config,
            "options": sorted(extra),
            "epochs": arguments.epochs,
            "warmup_epochs": arguments.warmup_epochs,
        },
        arguments.config,
        arguments.methods,
    )
    for number, run in enumerate(runs, start=1):
        if _result(arguments.out, run) is not None:
            continue
        print(f"[{number}/{len(runs)}] {run.method}, {run.region.title}, seed {run.seed}", flush=True)
        warm = _warm_up(arguments, run.seed, common, extra, run_pauc)
        run_pauc(
            [
                *("fit", *common, "-c", str(_method_config(run.method))),
                *_options(arguments.out, run.name, run.seed, arguments.epochs),
                *(f"--model.max_fpr={run.region.max_fpr}", f"--model.min_tpr={run.region.min_tpr}"),
                *("--model.warmup_epochs=0", f"--model.init_weights={warm}", "--test_best=true", *extra),
            ]
        )

    def table(result: Callable[[Run], float | None]) -> str:
        return format_table(arguments.methods, regions, arguments.seeds, result, baseline)

    print(table(lambda run: _result(arguments.out, run)))
    if arguments.train_part:
        on_train = {run: _on_training_part(arguments.out, run, run_pauc) for run in runs}
        print("\nPartial AUC on the training part:\n")
        print(table(lambda run: on_train[run]["pauc"]))
        print("\nSquared risk on the training part (less is better):\n")
        print(table(lambda run: on_train[run]["risk"]))


def format_table(
    methods: Sequence[str],
    regions: Sequence[Region],
    seeds: Sequence[int],
    result: Callable[[Run], float | None],
    baseline: str,
) -> str:
    """A Markdown table of results: mean ± standard deviation over the seeds, and the gain over the baseline.

    The gain is paired: the mean over the seeds of the difference to the baseline on the same split and warm-up,
    ± its standard deviation.

    Example:
        >>> values = {("ce", 0): 0.5, ("ce", 1): 0.6, ("pauci", 0): 0.55, ("pauci", 1): 0.65}
        >>> print(format_table(["ce", "pauci"], [Region(0.3)], [0, 1], lambda run: values[run.method, run.seed], "ce"))
        | method | OPAUC (FPR ≤ 0.3) | gain over ce |
        |---|---|---|
        | ce | 0.5500 ± 0.0707 | - |
        | pauci | 0.6000 ± 0.0707 | +0.0500 ± 0.0000 |
    """

    def row(method: str) -> Iterator[str]:
        yield method
        for region in regions:
            values = [result(Run(method, region, seed)) for seed in seeds]
            base = [result(Run(baseline, region, seed)) for seed in seeds]
            yield _mean_and_deviation([value for value in values if value is not None])
            pairs = zip(values, base, strict=True)
            gains = [value - other for value, other in pairs if value is not None and other is not None]
            yield "-" if method == baseline else _mean_and_deviation(gains, sign="+")

    header = ["method", *(title for region in regions for title in (region.title, f"gain over {baseline}"))]
    rows = [header, *(list(row(method)) for method in methods)]
    lines = ["| " + " | ".join(cells) + " |" for cells in rows]
    lines.insert(1, "|" + "---|" * len(header))
    return "\n".join(lines)


def _mean_and_deviation(values: Sequence[float], sign: str = "") -> str:
    if not values:
        return "not run"
    deviation = statistics.stdev(values) if len(values) > 1 else float("nan")
    return f"{statistics.mean(values):{sign}.4f} ± {deviation:.4f}"


def _region(text: str) -> Region:
    try:
        rates = [float(part) for part in text.split(",")]
    except ValueError:
        rates = []
    if len(rates) not in (1, 2):
        raise InputError(
            f"`--regions {text}`: write max_fpr, such as 0.3, or max_fpr,min_tpr, such as 0.3,0.7."
        )
    return Region(*rates)


def _options(out: Path, name: str, seed: int, epochs: int) -> list[str]:
    return [
        f"--run_dir={out}",
        f"--run_name={name}",
        f"--seed_everything={seed}",
        f"--data.seed={seed}",
        f"--trainer.max_epochs={epochs}",
        "--trainer.enable_model_summary=false",
        "--trainer.enable_progress_bar=false",
        "--figures.every_n_epochs=0",
    ]


def _method_config(method: str) -> Path:
    return METHOD_CONFIGS / f"{method}.yaml"


def _claim(out: Path, settings: dict[str, object], configs: Sequence[str], methods: Sequence[str]) -> None:
    """Tie a directory to one set of settings, so that finished runs of others are not taken for these.

    Only what has been finished counts: a mistake that was refused may be corrected in the same directory.
    """

    def is_there(*patterns: str) -> bool:
        return any(True for pattern in patterns for _ in out.glob(pattern))

    note, warm_ups, runs = out / "comparison.json", "warmup-*/finished.json", "version_*/test_metrics.json"
    has_any = is_there(warm_ups, f"*/{runs}")
    earlier: dict[str, object] = json.loads(note.read_text()) if note.is_file() and has_any else settings
    for key in settings:
        if settings[key] != earlier.get(key):
            raise InputError(
                f"`--out {out}` holds a comparison with other settings ({key}: {earlier.get(key)}, now "
                f"{settings[key]}). Give another --out. Methods, regions and seeds may differ: they are added."
            )
    is_used = {Path(config): has_any for config in configs}
    is_used |= {_method_config(method): is_there(f"{method}-*/{runs}") for method in methods}
    is_used[_method_config("ce")] = is_there(f"ce-*/{runs}", warm_ups)
    texts: dict[str, str] = dict(earlier.get("files", {}))  # type: ignore[call-overload]
    for path, has_runs in is_used.items():
        text = path.read_text(errors="replace") if path.is_file() else ""
        if has_runs and texts.get(str(path)) != text:
            raise InputError(
                f"`--out {out}` holds runs with another content of {path}, or of one that was not noted. Give another "
                f"--out, or undo the change (what is known of the old content is in {note})."
            )
        texts[str(path)] = text
    write_text(note, json.dumps({**settings, "files": texts}, indent=2) + "\n")


def _warm_up(
    arguments: argparse.Namespace,
    seed: int,
    common: Sequence[str],
    extra: Sequence[str],
    run_pauc: Callable[[Sequence[str]], None],
) -> Path:
    """The checkpoint after the warm-up of this seed, made if it does not exist."""
    name = f"warmup-seed{seed}"
    finished = arguments.out / name / "finished.json"
    if not finished.is_file():
        options = _options(arguments.out, name, seed, arguments.warmup_epochs)
        run_pauc(["fit", *common, "-c", str(_method_config("ce")), *options, *extra])
        newest = max((arguments.out / name).glob("version_*"), key=lambda path: path.stat().st_mtime)
        write_text(finished, json.dumps({"checkpoint": str(newest / "checkpoints/last.ckpt")}) + "\n")
    return Path(json.loads(finished.read_text())["checkpoint"])


def _finished(out: Path, run: Run) -> Path | None:
    """The newest directory of a finished run, or None."""
    finished = list((out / run.name).glob("version_*/test_metrics.json"))
    return max(finished, key=lambda path: path.stat().st_mtime).parent if finished else None


def _result(out: Path, run: Run) -> float | None:
    """The test result of a finished run, or None."""
    folder = _finished(out, run)
    if folder is None:
        return None
    value: float = json.loads((folder / "test_metrics.json").read_text())["pauc"]
    return value


def _on_training_part(out: Path, run: Run, run_pauc: Callable[[Sequence[str]], None]) -> dict[str, float]:
    """Partial AUC and squared risk of a finished run's best model on its training part."""
    folder = _finished(out, run)
    assert folder is not None
    known = folder / "train_metrics.json"
    if not known.is_file():
        scores_file = (folder / "train_predictions.csv").resolve()
        checkpoint = folder / "checkpoints/best.ckpt"
        run_pauc(
            [
                *("predict", "-c", str(folder / "config.yaml"), "--ckpt_path", str(checkpoint)),
                *("--data.predict_part=train", f"--predictions.filename={scores_file}"),
            ]
        )
        table = np.loadtxt(scores_file, delimiter=",", skiprows=1)
        labels, scores = torch.from_numpy(table[:, 1]), torch.from_numpy(table[:, 2])
        values = {
            "pauc": float(binary_partial_auc(scores, labels.long(), run.region.max_fpr, run.region.min_tpr)),
            "risk": squared_risk(scores, labels, run.region),
        }
        write_text(known, json.dumps(values, indent=2) + "\n")
    result: dict[str, float] = json.loads(known.read_text())
    return result


def squared_risk(scores: Tensor, labels: Tensor, region: Region) -> float:
    """Mean of (1 − (f₊ − f₋))² over the region's pairs: one plus the saddle value of the minimax objective.

    Example:
        >>> squared_risk(torch.tensor([0.9, 0.6, 0.2]), torch.tensor([1.0, 0.0, 0.0]), Region(max_fpr=0.5))
        0.4900000...
    """
    objective = UPAUCI(region.max_fpr, region.min_tpr, omega=0.0).double()
    objective.initialize_(scores.double(), labels)
    with torch.no_grad():
        return 1 + float(objective(scores.double(), labels))
