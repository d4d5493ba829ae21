"""Time of the losses with their gradients beside binary cross-entropy's, and its growth with the batch."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import torch
from torch import Tensor
from torch.nn import functional as F
from tqdm import tqdm

from pauc_lightning.cli.plain_parser import PlainParser
from pauc_lightning.errors import InputError
from pauc_lightning.files import complete_binary_file
from pauc_lightning.objectives import (
    HardCELoss,
    MBLoss,
    Objective,
    PartialAUCLoss,
    PAUCILoss,
    SOPALoss,
    UPAUCILoss,
)

Loss = Callable[[Tensor, Tensor, Tensor], Tensor]
"""``(scores, target, index) -> loss``, each of the batch's length; some losses take logits instead of scores."""

REFERENCE = "binary cross-entropy"
LOSSES: dict[str, Callable[[int], Loss]] = {
    REFERENCE: lambda n: lambda scores, target, index: F.binary_cross_entropy(scores, target),
    "binary cross-entropy, logits": lambda n: (
        lambda scores, target, index: F.binary_cross_entropy_with_logits(scores, target)
    ),
    "PAUCI, one-way": lambda n: PAUCILoss(0.3, prior=0.5),
    "PAUCI, two-way": lambda n: PAUCILoss(0.3, 0.7, prior=0.5),
    "PAUCI, two-way, multipliers": lambda n: PAUCILoss(0.3, 0.7, prior=0.5, constraint="lagrangian"),
    "UPAUCI, one-way": lambda n: UPAUCILoss(0.3, prior=0.5),
    "UPAUCI, two-way": lambda n: UPAUCILoss(0.3, 0.7, prior=0.5),
    "UPAUCI, two-way, multipliers": lambda n: UPAUCILoss(0.3, 0.7, prior=0.5, constraint="lagrangian"),
    "UPAUCI, two-way, stored weights": lambda n: UPAUCILoss(
        0.3, 0.7, prior=0.5, weights="ascent", train_size=n
    ),
    "hard cross-entropy": lambda n: HardCELoss(0.3),
    "PartialAUC, squared": lambda n: PartialAUCLoss(0.3, surrogate="squared"),
    "PartialAUC, exponential": lambda n: PartialAUCLoss(0.3, surrogate="exponential"),
    "PartialAUC, hinge": lambda n: PartialAUCLoss(0.3, surrogate="hinge"),
    "PartialAUC, squared hinge": lambda n: PartialAUCLoss(0.3, surrogate="squared_hinge"),
    "PartialAUC, squared hinge, two-way": lambda n: PartialAUCLoss(0.3, 0.7, surrogate="squared_hinge"),
    "PartialAUC, logistic": lambda n: PartialAUCLoss(0.3, surrogate="logistic"),
    "PartialAUC, sigmoid": lambda n: PartialAUCLoss(0.3, surrogate="sigmoid"),
    "MB": lambda n: MBLoss(0.3),
    "SOPA": lambda n: SOPALoss(0.3, train_size=n),
}
"""The losses to time, by their names in the table; each takes the number of instances n."""
QUADRATIC = {"PartialAUC, logistic", "PartialAUC, sigmoid", "MB", "SOPA"}
"""Losses that visit all pairs; they are not timed above :data:`LARGEST_QUADRATIC` instances."""
LARGEST_QUADRATIC = 2**14


def measure(sizes: Sequence[int], repeats: int, device: torch.device) -> dict[str, list[float | None]]:
    """Median seconds of loss and gradient, without the network: for every loss one value per batch size.

    Half of the instances are positives, and the classes overlap. Losses and sizes take turns in every repeat, so that
    other work on the machine disturbs all alike. None stands for a loss that is too slow at a size.
    """
    runs: list[tuple[str, Loss, tuple[Tensor, Tensor, Tensor], list[float]]] = []
    generator = torch.Generator().manual_seed(0)
    medians: dict[str, list[float | None]] = {name: [] for name in LOSSES}
    for n in sizes:
        index = torch.randperm(n, generator=generator).to(device)
        target = (index < n // 2).float()
        logits = (torch.randn(n, generator=generator).to(device) + target).requires_grad_()
        scores = logits.detach().sigmoid().requires_grad_()
        for name, make in LOSSES.items():
            if name in QUADRATIC and n > LARGEST_QUADRATIC:
                continue
            loss = make(n)
            if isinstance(loss, Objective):
                loss.to(device)
            takes_logits = loss.takes == "logits" if isinstance(loss, Objective) else "logits" in name
            runs.append((name, loss, (logits if takes_logits else scores, target, index), []))
    warm_up = 1 + repeats // 10
    for repeat in tqdm(range(warm_up + repeats), desc="timing", unit="repeat", leave=False):
        for _, loss, batch, seconds in runs:
            elapsed = _time(loss, batch)
            if repeat >= warm_up:
                seconds.append(elapsed)
    for name, _, _, seconds in runs:
        medians[name].append(statistics.median(seconds))
    return {name: [*times, *[None] * (len(sizes) - len(times))] for name, times in medians.items()}


def _time(loss: Loss, batch: tuple[Tensor, Tensor, Tensor]) -> float:
    """Seconds of one evaluation with gradient; old gradients are freed first, as after a step.

    On a CPU they are CPU time, so that other work on the machine does not count.
    """
    batch[0].grad = None
    if isinstance(loss, torch.nn.Module):
        loss.zero_grad()
    start = _now(batch[0].device)
    torch.autograd.backward(loss(*batch))
    return _now(batch[0].device) - start


def _now(device: torch.device) -> float:
    if device.type == "cpu":
        return time.process_time()
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return time.perf_counter()


def main(argv: Sequence[str] | None = None) -> None:
    """Print the time of loss and gradient at n₊ = n₋, its ratio to cross-entropy's, and its growth with n."""
    parser = PlainParser(prog="pauc benchmark loss", description=main.__doc__)
    parser.add_argument(
        "--batch", type=int, default=4096, help="instances of the first table (default %(default)s)"
    )
    parser.add_argument(
        "--smallest", type=int, default=2**12, help="smallest batch of the second (%(default)s)"
    )
    parser.add_argument("--largest", type=int, default=2**18, help="its largest batch (%(default)s)")
    parser.add_argument(
        "--repeats", type=int, default=200, help="timings per entry; the median counts (%(default)s)"
    )
    parser.add_argument("--threads", type=int, default=1, help="threads of torch (%(default)s)")
    parser.add_argument("--device", default="cpu", help="where to compute (%(default)s)")
    parser.add_argument(
        "--figure", type=Path, help="where to save the second table as a figure (PNG); not saved by default"
    )
    arguments = parser.parse_args(argv)
    if not 2 <= arguments.smallest < arguments.largest or arguments.batch < 2 or arguments.repeats < 1:
        raise InputError(
            "`--batch` and `--smallest` must be at least 2, `--largest` larger than `--smallest` and `--repeats` "
            f"at least 1, got {arguments.batch}, {arguments.smallest}, {arguments.largest}, {arguments.repeats}."
        )
    if arguments.figure is not None and arguments.figure.suffix != ".png":
        raise InputError(
            f"`--figure` must be the name of a PNG file, got {arguments.figure}: end it in .png."
        )
    device = torch.device(arguments.device)
    threads = torch.get_num_threads()
    torch.set_num_threads(arguments.threads)
    try:
        at_batch = measure([arguments.batch], arguments.repeats, device)
        quadruplings = int(math.log(arguments.largest / arguments.smallest, 4) + 1e-9)
        sizes = [arguments.largest // 4**i for i in reversed(range(max(1, quadruplings) + 1))]
        by_size = measure(sizes, max(1, arguments.repeats // 8), device)
    finally:
        torch.set_num_threads(threads)

    width = max(map(len, LOSSES))
    print(
        f"Loss and gradient at {arguments.batch} instances, half of them positive ({device}), in microseconds"
    )
    _print_ratios(width, {name: times[0] for name, times in at_batch.items()})
    print("\nGrowth with the batch, in microseconds; linear is an exponent of 1")
    print(f"{'instances':{width}}" + "".join(f"  {n:>8}" for n in sizes) + "  exponent")
    for name, times in by_size.items():
        known = [(n, t) for n, t in zip(sizes, times, strict=True) if t is not None]
        exponent = _exponent(known)
        cells = "".join(f"  {'–' if t is None else f'{t * 1e6:.1f}':>8}" for t in times)
        print(f"{name:{width}}{cells}  {'–' if exponent is None else f'{exponent:.2f}':>8}")
    print(f"\nAt {sizes[-1]} instances, in microseconds")
    _print_ratios(width, {name: times[-1] for name, times in by_size.items()})
    if arguments.figure is not None:
        from pauc_lightning.plotting import plot_timing  # matplotlib takes a second to load

        with complete_binary_file(arguments.figure) as file:
            plot_timing(sizes, by_size).savefig(file, format="png", dpi=150)
        print(f"\nFigure: {arguments.figure}")


def _print_ratios(width: int, seconds: dict[str, float | None]) -> None:
    reference = seconds[REFERENCE]
    assert reference is not None
    print(f"{'':{width}}  {'median':>8}  {'ratio':>6}")
    for name, time_ in seconds.items():
        if time_ is not None:
            print(f"{name:{width}}  {time_ * 1e6:8.1f}  {time_ / reference:6.2f}")


def _exponent(points: Sequence[tuple[int, float]]) -> float | None:
    """The slope between the first and the last point on logarithmic axes; None for a single point."""
    if len(points) < 2:
        return None
    (n_first, first), (n_last, last) = points[0], points[-1]
    return math.log(last / first) / math.log(n_last / n_first)


if __name__ == "__main__":
    main()
