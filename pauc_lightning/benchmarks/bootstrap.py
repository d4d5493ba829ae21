"""Time and memory of bootstrap intervals, beside those of a loop that resamples the scores."""

from __future__ import annotations

import multiprocessing
import statistics
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from inspect import cleandoc
from itertools import product
from typing import Literal, NamedTuple, get_args

import numpy as np
import torch
from numpy.typing import NDArray
from tqdm import tqdm

from pauc_lightning.arguments import check_integer, check_number
from pauc_lightning.benchmarks.clock import now
from pauc_lightning.benchmarks.memory import peak_megabytes
from pauc_lightning.cli.plain_parser import PlainParser
from pauc_lightning.metrics.functional import (
    Interval,
    binary_partial_auc,
    partial_auc_difference,
    partial_auc_interval,
)
from pauc_lightning.metrics.functional.intervals import IntervalMethod
from pauc_lightning.region import Region

Kind = Literal["plain", "groups", "paired"]
KINDS: tuple[Kind, ...] = get_args(Kind)
REGIONS = (Region(0.05), Region(0.3, 0.5), Region())
_GROUP_SIZE = 10


class Samples(NamedTuple):
    """Samples to resample.

    Attributes:
        scores: Scores of a model.
        others: Scores of another model of the same samples.
        is_positive: Which samples are positives.
        groups: The group of each sample.
    """

    scores: NDArray[np.float64]
    others: NDArray[np.float64]
    is_positive: NDArray[np.bool_]
    groups: NDArray[np.int64]


class Measurement(NamedTuple):
    """What a bootstrap interval takes, and what its standard error is.

    Attributes:
        standard_error: The standard error of the bootstrap.
        analytic: That of the analytic interval; None with groups, which have no analytic one.
        seconds: Processor time of the bootstrap.
        megabytes: Peak memory of the process.
        loop_seconds: Processor time of one resample of the loop.
    """

    standard_error: float
    analytic: float | None
    seconds: float
    megabytes: float
    loop_seconds: float


def main(argv: Sequence[str] | None = None) -> None:
    """Print time and peak memory of bootstrap intervals, and how much faster they are than a plain loop.

    An interval of one model (plain), of one model with groups of ten samples that are drawn as a whole (groups), and of
    the difference of two models on the same samples (paired). The loop draws samples with replacement and calls
    binary_partial_auc; a few of its resamples are timed, and the time of all is extrapolated from them.
    """
    parser = PlainParser(prog="pauc benchmark bootstrap", description=cleandoc(main.__doc__ or ""))
    parser.add_argument("--samples", type=int, default=1_000_000, help="number of scores")
    parser.add_argument("--resamples", type=int, default=2000, help="resamples of the bootstrap")
    parser.add_argument("--loop", type=int, default=5, help="resamples of the loop; the median counts")
    parser.add_argument("--positives", type=float, nargs="+", default=[0.02, 0.5], help="positive fractions")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS), help="what to measure")
    args = parser.parse_args(argv)
    check_integer("--samples", args.samples, at_least=1000)
    check_integer("--resamples", args.resamples, at_least=100)
    check_integer("--loop", args.loop, at_least=1)
    for share in args.positives:
        check_number("--positives", share, at_least=0.01, at_most=0.99)

    print(f"{args.samples:,} scores, {args.resamples:,} resamples; processor time, one thread")
    print(
        f"{'positives':>9}  {'region':30}{'interval':9}{'std. error':>10}{'analytic':>10}{'time [s]':>10}"
        f"{'peak [MB]':>11}{'loop [s]':>10}{'faster':>9}"
    )
    bar = tqdm(list(product(args.positives, REGIONS, args.kinds)), leave=False, file=sys.stderr)
    for share, region, kind in bar:
        bar.set_description(f"{share:g} positives, {region.title}, {kind}")
        # Each gets a fresh process, because the peak memory of one would hide the other's.
        spawn = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(max_workers=1, mp_context=spawn) as pool:
            job = pool.submit(measure, args.samples, share, region, kind, args.resamples, args.loop)
            found = job.result()
        analytic = "-" if found.analytic is None else f"{found.analytic:.6f}"
        loop = found.loop_seconds * args.resamples
        bar.clear()
        print(
            f"{share:9.2%}  {region.title:30}{kind:9}{found.standard_error:10.6f}{analytic:>10}{found.seconds:10.1f}"
            f"{found.megabytes:11.0f}{loop:10.0f}{loop / found.seconds:8.0f}x",
            flush=True,
        )
    print(f"peak: resident memory of the whole process; loop: extrapolated from {args.loop} of its resamples")


def measure(
    n_samples: int, positives: float, region: Region, kind: Kind, n_resamples: int, n_loop: int
) -> Measurement:
    """Measure one interval in this process."""
    torch.set_num_threads(1)
    samples = make_samples(n_samples, positives)
    small = make_samples(1000, positives)
    interval(small, region, kind, "bootstrap", 100)  # lazy imports
    cpu = torch.device("cpu")
    start = now(cpu)
    found = interval(samples, region, kind, "bootstrap", n_resamples)
    seconds, megabytes = now(cpu) - start, peak_megabytes()
    analytic = (
        None if kind == "groups" else interval(samples, region, kind, "analytic", n_resamples).standard_error
    )

    draw = loop(samples, region, kind)
    times = []
    for _ in range(n_loop):
        start = now(cpu)
        draw()
        times.append(now(cpu) - start)
    return Measurement(found.standard_error, analytic, seconds, megabytes, statistics.median(times))


def make_samples(n: int, positives: float) -> Samples:
    """Make samples of two models of which the second adds noise to the first."""
    rng = np.random.default_rng(0)
    is_positive = rng.random(n) < positives
    scores = rng.normal(size=n) + 1.5 * is_positive
    return Samples(
        scores, scores + 0.5 * rng.normal(size=n), is_positive, rng.integers(0, n // _GROUP_SIZE, n)
    )


def interval(
    samples: Samples, region: Region, kind: Kind, method: IntervalMethod, n_resamples: int
) -> Interval:
    """Compute the interval that is measured."""
    rates = (region.max_fpr, region.min_tpr)
    if kind == "paired":
        return partial_auc_difference(
            samples.scores,
            samples.others,
            samples.is_positive,
            *rates,
            method=method,
            n_resamples=n_resamples,
        )
    groups = samples.groups if kind == "groups" else None
    return partial_auc_interval(
        samples.scores, samples.is_positive, *rates, method=method, groups=groups, n_resamples=n_resamples
    )


def loop(samples: Samples, region: Region, kind: Kind) -> Callable[[], float]:
    """Return the body of the plain loop: resample the samples, and compute the value."""
    rng = np.random.default_rng(0)
    n, is_positive = len(samples.scores), samples.is_positive
    classes = [np.flatnonzero(is_positive), np.flatnonzero(~is_positive)]
    n_groups = int(samples.groups.max()) + 1

    def value(scores: NDArray[np.float64], rows: NDArray[np.intp]) -> float:
        rates = (region.max_fpr, region.min_tpr)
        return float(binary_partial_auc(scores[rows], is_positive[rows], *rates, validate_args=False))

    def body() -> float:
        if kind == "groups":
            times = np.bincount(rng.integers(0, n_groups, n_groups), minlength=n_groups)
            return value(samples.scores, np.repeat(np.arange(n), times[samples.groups]))
        rows = np.concatenate([rng.choice(own, len(own)) for own in classes])
        first = value(samples.scores, rows)
        return first - value(samples.others, rows) if kind == "paired" else first

    return body


if __name__ == "__main__":
    main()
