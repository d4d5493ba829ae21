"""Time of the losses beside cross-entropy's, by batch size, with the paper's times, LibAUC and XCurve."""

from __future__ import annotations

import random
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor
from tqdm import tqdm

from pauc_lightning.arguments import check_integer, check_number
from pauc_lightning.benchmarks.clock import now
from pauc_lightning.benchmarks.contenders import REFERENCE, Contender, Loss, contenders, versions
from pauc_lightning.cli.plain_parser import PlainParser
from pauc_lightning.errors import InputError
from pauc_lightning.experiments.paper import published_time
from pauc_lightning.files import check_folder, write_text
from pauc_lightning.region import Region

REGIONS = (Region(max_fpr=0.3), Region(max_fpr=0.5, min_tpr=0.5))
"""The regions of the paper's two tables of times."""
SIZES = (64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384)
LARGEST = {"none": None, "blocks": 2**14, "table": 2**12}
"""The most positives for which a loss is timed, by the way it visits pairs: time and memory grow with the square."""
_MISSING_MEANS = (
    f"–: not timed, as it visits all pairs (above {LARGEST['blocks']} positives) or keeps them in memory (above "
    f"{LARGEST['table']}), or not there."
)
_FEWEST = 3
"""Timings of a slow loss."""
_FAST = 5e-3
"""Seconds below which a loss is evaluated twice in a row: the first evaluation finds the caches full of others."""

DESCRIPTION = """\
Time the losses of one batch with n positives and n negatives, forward and with the gradient, without a network: the
paper's two tables of times and larger batches, for every loss of this project, for LibAUC's (as shipped, and with its
slow `sum` replaced) and XCurve's.

  pauc benchmark loss --out runs/timings      # five minutes on one core
  pauc benchmark loss --sizes 64 2048 --seconds 0.1
"""


@dataclass(frozen=True)
class Times:
    """Seconds of one pass, in every repetition.

    Args:
        seconds: The repetitions.
    """

    seconds: tuple[float, ...]

    @property
    def median(self) -> float:
        """The median, which disturbances hardly change."""
        return statistics.median(self.seconds)

    @property
    def quartiles(self) -> tuple[float, float]:
        """The ends of the middle half."""
        low, _, high = statistics.quantiles(self.seconds, n=4, method="inclusive")
        return low, high


@dataclass(frozen=True)
class Measurement:
    """The times of one loss at one size.

    Args:
        contender: The loss.
        region: The region.
        n: Positives in the batch, and as many negatives.
        forward: The loss alone, as the paper times it; the graph for the gradient is recorded.
        both: The loss and its gradient.
    """

    contender: Contender
    region: Region
    n: int
    forward: Times
    both: Times


@dataclass
class _Entry:
    """A loss with its batch, and the times so far."""

    contender: Contender
    loss: Loss
    batch: tuple[Tensor, Tensor, Tensor]
    forward: list[float]
    both: list[float]

    def take(self) -> None:
        """Evaluate and keep the times; a fast loss is evaluated before, as if it were repeated without others."""
        if not self.both or self.both[-1] < _FAST:
            self._evaluate()
        forward, both = self._evaluate()
        self.forward.append(forward)
        self.both.append(both)

    def _evaluate(self) -> tuple[float, float]:
        """The seconds of the loss, and with its gradient; old gradients are freed first, as after a step."""
        device = self.batch[0].device
        self.batch[0].grad = None
        if isinstance(self.loss, torch.nn.Module):
            self.loss.zero_grad()
        start = now(device)
        value = self.loss(*self.batch)
        middle = now(device)
        torch.autograd.backward(value)
        return middle - start, now(device) - start


def measure(
    region: Region, n: int, device: torch.device, seconds: float, repeats: int
) -> Iterator[Measurement]:
    """Time all losses at one size.

    They take turns, in another order each time, so that other work on the machine disturbs all alike.

    Args:
        region: The region.
        n: Positives in the batch, and as many negatives; the classes overlap.
        device: Where to compute.
        seconds: Time for each loss; slow ones are repeated three times.
        repeats: The most repetitions of a loss.
    """
    entries = list(_entries(region, n, device))
    waiting, order = entries, random.Random(0)
    with tqdm(total=len(entries), desc=f"{region.title}, n = {n}", unit="loss", leave=False) as bar:
        while waiting:
            for entry in order.sample(waiting, len(waiting)):
                entry.take()
            left = [entry for entry in waiting if not _is_done(entry, seconds, repeats)]
            bar.update(len(waiting) - len(left))
            waiting = left
    for entry in entries:
        yield Measurement(entry.contender, region, n, Times(tuple(entry.forward)), Times(tuple(entry.both)))


def _is_done(entry: _Entry, seconds: float, repeats: int) -> bool:
    done = len(entry.both)
    return done >= min(repeats, _FEWEST) and (done >= repeats or sum(entry.both) >= seconds)


def _entries(region: Region, n: int, device: torch.device) -> Iterator[_Entry]:
    generator = torch.Generator().manual_seed(0)
    index = torch.randperm(2 * n, generator=generator)
    target = (index < n).float()
    logits = torch.randn(2 * n, generator=generator) + target
    index, target, logits = index.to(device), target.to(device), logits.to(device)
    for contender in contenders(region, device):
        largest = LARGEST[contender.pairs]
        if largest is None or n <= largest:
            loss = contender.make(2 * n)
            inputs = logits if getattr(loss, "takes", "scores") == "logits" else logits.sigmoid()
            batch = (inputs.clone().requires_grad_(), target, index)
            yield _Entry(contender, loss, batch, [], [])


def csv_rows(measurements: Sequence[Measurement]) -> Iterator[dict[str, object]]:
    """Yield a row for each loss, region, size and pass, with the paper's time beside a forward pass."""
    reference = {
        (found.region, found.n): found for found in measurements if found.contender.name == REFERENCE
    }
    for found in measurements:
        paper = published_time(found.contender.method, found.region, found.n, found.n)
        beside = reference[found.region, found.n]
        for name, times, other in (
            ("forward", found.forward, beside.forward),
            ("forward and backward", found.both, beside.both),
        ):
            low, high = times.quartiles
            yield {
                "max_fpr": found.region.max_fpr,
                "min_tpr": found.region.min_tpr,
                "loss": found.contender.name,
                "library": found.contender.library,
                "n": found.n,
                "pass": name,
                "median_ms": times.median * 1e3,
                "quartile_low_ms": low * 1e3,
                "quartile_high_ms": high * 1e3,
                "repetitions": len(times.seconds),
                "ratio_to_ce": times.median / other.median,
                "paper_ms": paper.milliseconds if paper is not None and name == "forward" else "",
            }


def main(argv: Sequence[str] | None = None) -> None:
    """Measure, and print the tables; with ``--out`` also save them with the figure and all values."""
    parser = PlainParser(prog="pauc benchmark loss", description=DESCRIPTION)
    add = parser.add_argument
    add("--sizes", type=int, nargs="+", default=list(SIZES), help="positives per batch, as many negatives")
    add("--seconds", type=float, default=0.25, help="time for each loss, region and size")
    add("--repeats", type=int, default=200, help="the most timings per entry; the median counts")
    add("--threads", type=int, default=1, help="threads of torch")
    add("--device", default="cpu", help="where to compute")
    add("--out", type=Path, help="directory for the figure, the tables and all values; not saved by default")
    arguments = parser.parse_args(argv)
    for size in arguments.sizes:
        check_integer("--sizes", size, at_least=2)
    check_number("--seconds", arguments.seconds, at_least=0)
    check_integer("--repeats", arguments.repeats, at_least=2, hint="a median and its quartiles need some")
    check_integer("--threads", arguments.threads, at_least=1)
    sizes = sorted(set(arguments.sizes))
    device = _device(arguments.device)
    if arguments.out is not None:
        check_folder("--out", arguments.out)
    threads = torch.get_num_threads()
    torch.set_num_threads(arguments.threads)
    try:
        measurements = [
            found
            for region in REGIONS
            for n in sizes
            for found in measure(region, n, device, arguments.seconds, arguments.repeats)
        ]
    finally:
        torch.set_num_threads(threads)
    from pauc_lightning.benchmarks.loss_tables import tables

    text = f"{tables(measurements)}\n\n{_conditions(device, arguments.threads)}"
    print(text)
    if arguments.out is not None:
        _save(arguments.out, text, measurements)


def _device(name: str) -> torch.device:
    try:
        return torch.empty(0, device=name).device
    except (RuntimeError, AssertionError) as error:
        reason = str(error).partition("\n")[0]
        raise InputError(f"`--device {name}` cannot be used: {reason}") from None


def _conditions(device: torch.device, threads: int) -> str:
    clock = "Processor time" if device.type == "cpu" else "Time"
    return (
        f"{clock} on {device} with {threads} thread{'s' if threads > 1 else ''}; {versions()}\n"
        "LibAUC, patched: with torch's sum in place of Python's, which adds the elements of a tensor one by one.\n"
        f"{_MISSING_MEANS}"
    )


def _save(folder: Path, text: str, measurements: Sequence[Measurement]) -> None:
    from pauc_lightning.figures.output import save_figure
    from pauc_lightning.plotting import plot_timing  # matplotlib takes a second to load

    panels: dict[str, dict[str, list[tuple[int, float]]]] = {}
    for found in measurements:
        if found.contender.is_drawn:
            lines = panels.setdefault(found.region.title, {})
            lines.setdefault(found.contender.name, []).append((found.n, found.both.median))
    files = save_figure(folder, "loss", plot_timing(panels), list(csv_rows(measurements)))
    write_text(folder / "loss.txt", f"{text}\n")
    print(f"\nSaved: {', '.join(map(str, [folder / 'loss.txt', *files]))}")


if __name__ == "__main__":
    main()
