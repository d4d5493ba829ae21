"""Time of the losses with their gradients beside binary cross-entropy's, and its growth with the batch."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torch.nn import functional as F
from tqdm import tqdm

from pauc_lightning.cli.plain_parser import PlainParser
from pauc_lightning.errors import InputError
from pauc_lightning.objectives import PAUCILoss, UPAUCILoss

Loss = Callable[[Tensor, Tensor, Tensor], Tensor]
"""``(scores, target, index) -> loss``, each of the batch's length."""

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
}
"""The losses to time, by their names in the table; each takes the number of instances n."""


def measure(sizes: Sequence[int], repeats: int, device: torch.device) -> dict[str, list[float]]:
    """Median seconds of loss and gradient, without the network: for every loss one value per batch size.

    Half of the instances are positives. Losses and sizes take turns in every repeat, so that other work on
    the machine disturbs all alike.
    """
    runs: list[tuple[str, Loss, tuple[Tensor, Tensor, Tensor], list[float]]] = []
    generator = torch.Generator().manual_seed(0)
    for n in sizes:
        index = torch.randperm(n, generator=generator).to(device)
        scores = torch.rand(n, generator=generator).to(device).requires_grad_()
        target = (index < n // 2).float()
        for name, make in LOSSES.items():
            loss = make(n)
            if isinstance(loss, torch.nn.Module):
                loss.to(device)
            runs.append((name, loss, (scores, target, index), []))
    warm_up = 1 + repeats // 10
    for repeat in tqdm(range(warm_up + repeats), desc="timing", unit="repeat", leave=False):
        for _, loss, batch, seconds in runs:
            elapsed = _time(loss, batch)
            if repeat >= warm_up:
                seconds.append(elapsed)
    medians: dict[str, list[float]] = {name: [] for name in LOSSES}
    for name, _, _, seconds in runs:
        medians[name].append(statistics.median(seconds))
    return medians


def _time(loss: Loss, batch: tuple[Tensor, Tensor, Tensor]) -> float:
    """Seconds of one evaluation with gradient; old gradients are freed first, as after a step."""
    batch[0].grad = None
    if isinstance(loss, torch.nn.Module):
        loss.zero_grad()
    _wait(batch[0].device)
    start = time.perf_counter()
    torch.autograd.backward(loss(*batch))
    _wait(batch[0].device)
    return time.perf_counter() - start


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def main(argv: Sequence[str] | None = None) -> None:
    """Print the time of loss and gradient at n₊ = n₋, its ratio to cross-entropy's, and its growth with n."""
    parser = PlainParser(prog="pauc benchmark loss", description=main.__doc__)
    parser.add_argument(
        "--batch", type=int, default=4096, help="instances of the first table (default %(default)s)"
    )
    parser.add_argument(
        "--smallest", type=int, default=2**11, help="smallest batch of the second (%(default)s)"
    )
    parser.add_argument("--largest", type=int, default=2**17, help="its largest batch (%(default)s)")
    parser.add_argument(
        "--repeats", type=int, default=200, help="timings per entry; the median counts (%(default)s)"
    )
    parser.add_argument("--threads", type=int, default=1, help="threads of torch (%(default)s)")
    parser.add_argument("--device", default="cpu", help="where to compute (%(default)s)")
    arguments = parser.parse_args(argv)
    if not 2 <= arguments.smallest < arguments.largest or arguments.batch < 2 or arguments.repeats < 1:
        raise InputError(
            "`--batch` and `--smallest` must be at least 2, `--largest` larger than `--smallest` and `--repeats` "
            f"at least 1, got {arguments.batch}, {arguments.smallest}, {arguments.largest}, {arguments.repeats}."
        )
    device = torch.device(arguments.device)
    threads = torch.get_num_threads()
    torch.set_num_threads(arguments.threads)
    try:
        at_batch = measure([arguments.batch], arguments.repeats, device)
        doublings = round(math.log2(arguments.largest / arguments.smallest))
        sizes = [arguments.smallest * 2**i for i in range(0, doublings + 1, 2)]
        by_size = measure(sizes, max(1, arguments.repeats // 4), device)
    finally:
        torch.set_num_threads(threads)

    width = max(map(len, LOSSES))
    print(
        f"Loss and gradient at {arguments.batch} instances, half of them positive ({device}), in microseconds"
    )
    print(f"{'':{width}}  {'median':>8}  {'ratio':>6}")
    for name, (seconds,) in at_batch.items():
        print(f"{name:{width}}  {seconds * 1e6:8.1f}  {seconds / at_batch[REFERENCE][0]:6.2f}")
    print("\nGrowth with the batch, in microseconds; linear is an exponent of 1")
    print(f"{'instances':{width}}" + "".join(f"  {n:>8}" for n in sizes) + "  exponent")
    for name, times in by_size.items():
        exponent = math.log(times[-1] / times[0]) / math.log(sizes[-1] / sizes[0])
        print(f"{name:{width}}" + "".join(f"  {t * 1e6:8.1f}" for t in times) + f"  {exponent:8.2f}")


if __name__ == "__main__":
    main()
