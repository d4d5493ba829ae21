"""Time and memory of the exact partial AUC, beside those of scikit-learn."""

from __future__ import annotations

import multiprocessing
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from tqdm import tqdm

from pauc_lightning.benchmarks.memory import peak_megabytes
from pauc_lightning.cli.plain_parser import PlainParser
from pauc_lightning.errors import InputError
from pauc_lightning.metrics.functional import binary_partial_auc
from pauc_lightning.metrics.functional.partial_auc import Scale
from pauc_lightning.region import Region

_OURS = "binary_partial_auc"
_OURS_MCCLISH = 'binary_partial_auc(scale="mcclish")'
_SKLEARN = "sklearn.metrics.roc_auc_score"


class _Measurement(NamedTuple):
    value: float
    seconds: float
    megabytes: float


def main(argv: Sequence[str] | None = None) -> None:
    """Print time, peak memory and value of the metric and of scikit-learn's on the same samples."""
    parser = PlainParser(prog="pauc benchmark metric", description=main.__doc__)
    parser.add_argument(
        "--samples", type=int, default=10_000_000, help="number of scores (default %(default)s)"
    )
    parser.add_argument("--positives", type=float, default=0.01, help="their positive fraction (%(default)s)")
    parser.add_argument("--max_fpr", type=float, default=0.1, help="the region, one-way (%(default)s)")
    parser.add_argument("--repeats", type=int, default=5, help="runs; the median counts (%(default)s)")
    args = parser.parse_args(argv)
    Region(args.max_fpr)
    for name in ("samples", "repeats"):
        if getattr(args, name) < 1:
            raise InputError(f"`--{name}` must be at least 1, got {getattr(args, name)}.")
    if not 0 < args.positives < 1:
        raise InputError(f"`--positives` is a fraction between 0 and 1, got {args.positives}.")

    results: dict[str, _Measurement] = {}
    with tempfile.TemporaryDirectory() as folder:
        _write_samples(Path(folder), args.samples, args.positives)
        bar = tqdm([_OURS, _OURS_MCCLISH, _SKLEARN], leave=False, file=sys.stderr)
        for contender in bar:
            bar.set_description(f"measuring {contender}")
            # Each gets a fresh process, because the peak memory of one would hide the other's.
            spawn = multiprocessing.get_context("spawn")
            with ProcessPoolExecutor(max_workers=1, mp_context=spawn) as pool:
                job = pool.submit(_measure, contender, folder, args.max_fpr, args.repeats)
                results[contender] = job.result()

    print(
        f"{args.samples:,} float32 scores, {args.positives:.2%} positives, max_fpr={args.max_fpr:g}, median of "
        f"{args.repeats}, torch threads: {torch.get_num_threads()}"
    )
    print(f"{'':38}{'value':>10}{'time [ms]':>12}{'peak [MB]':>12}{'faster':>10}")
    reference = results[_SKLEARN]
    for contender, result in results.items():
        faster = f"{reference.seconds / result.seconds:.1f}x"
        print(
            f"{contender:38}{result.value:>10.6f}{result.seconds * 1e3:>12.1f}{result.megabytes:>12.0f}{faster:>10}"
        )
    difference = abs(results[_OURS_MCCLISH].value - reference.value)
    print(f"|mcclish - scikit-learn| = {difference:.1e}; peak: resident memory on top of scores and labels")


def _write_samples(folder: Path, n: int, positives: float) -> None:
    rng = np.random.default_rng(0)
    target = (rng.random(n) < positives).astype(np.int64)
    np.save(folder / "target.npy", target)
    logits = rng.standard_normal(n, dtype=np.float32) + np.float32(1.5) * target.astype(np.float32)
    np.save(folder / "scores.npy", 1 / (1 + np.exp(-logits)))


def _measure(contender: str, folder: str, max_fpr: float, repeats: int) -> _Measurement:
    """Measure one contender in this process."""
    compute = _contender(contender, max_fpr)
    scores, target = (np.load(Path(folder) / f"{name}.npy") for name in ("scores", "target"))
    compute(np.linspace(0, 1, 1000, dtype=np.float32), np.arange(1000) % 2)  # lazy imports and thread pools
    before = peak_megabytes()
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        value = compute(scores, target)
        seconds.append(time.perf_counter() - start)
    return _Measurement(value, statistics.median(seconds), peak_megabytes() - before)


def _contender(name: str, max_fpr: float) -> Callable[[np.ndarray, np.ndarray], float]:
    if name == _SKLEARN:
        from sklearn.metrics import roc_auc_score

        return lambda scores, target: float(roc_auc_score(target, scores, max_fpr=max_fpr))
    scale: Scale = "mcclish" if name == _OURS_MCCLISH else "ratio"
    return lambda scores, target: float(
        binary_partial_auc(torch.from_numpy(scores), torch.from_numpy(target), max_fpr, scale=scale)
    )


if __name__ == "__main__":
    main()
