"""Time of a full ASGDA step beside an SGD step, backbone included.

Two gradients per step are the limit, and one where the estimators forget everything (ρ = 1, as the methods' settings
have it).
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torch.optim import SGD, Optimizer
from tqdm import tqdm

from pauc_lightning.cli.plain_parser import PlainParser
from pauc_lightning.models import ResNet18
from pauc_lightning.objectives import PAUCILoss, UPAUCILoss
from pauc_lightning.optim import ASGDA

Step = Callable[[], object]


def _steps(images: Tensor, target: Tensor) -> dict[str, Step]:
    """One training step of each kind, on networks of their own."""

    def sgd() -> Step:
        network = ResNet18().to(images.device)
        optimizer = SGD(network.parameters(), lr=0.01, momentum=0.9, weight_decay=1e-4)

        def loss() -> Tensor:
            return torch.nn.functional.binary_cross_entropy_with_logits(network(images).squeeze(1), target)

        return _step(optimizer, loss)

    def asgda(objective: PAUCILoss | UPAUCILoss, iota: float = 3.0) -> Step:
        network = ResNet18().to(images.device)
        objective.to(images.device)
        groups = [{"params": list(network.parameters()), "weight_decay": 1e-4}, *objective.param_groups()]

        def loss() -> Tensor:
            value: Tensor = objective(network(images).squeeze(1).sigmoid(), target)
            return value

        return _step(ASGDA(groups, lr=0.01, k=1.0, m=500.0, iota_descent=iota, iota_ascent=iota), loss)

    return {
        "cross-entropy, SGD": sgd(),
        "PAUCI, ASGDA": asgda(PAUCILoss(0.3, prior=0.5)),
        "UPAUCI two-way, ASGDA": asgda(UPAUCILoss(0.3, 0.7, prior=0.5)),
        "UPAUCI, ASGDA, rho = 1": asgda(UPAUCILoss(0.3, prior=0.5), iota=1000.0),
    }


def _step(optimizer: Optimizer, loss: Callable[[], Tensor]) -> Step:
    def closure() -> float:
        optimizer.zero_grad()
        value = loss()
        value.backward()
        return 0.0  # reading the value would wait for the device

    return lambda: optimizer.step(closure)


def main(argv: Sequence[str] | None = None) -> None:
    """Print the time of a training step on ResNet-18 (ImageNet stem), and its ratio to SGD's."""
    parser = PlainParser(prog="pauc benchmark step", description=main.__doc__)
    parser.add_argument("--batch", type=int, default=128, help="images per batch (default %(default)s)")
    parser.add_argument("--size", type=int, default=32, help="height and width of the images (%(default)s)")
    parser.add_argument(
        "--repeats", type=int, default=15, help="steps of each; the median counts (%(default)s)"
    )
    parser.add_argument("--device", default="cpu", help="where to compute (%(default)s)")
    arguments = parser.parse_args(argv)
    generator = torch.Generator().manual_seed(0)
    images = torch.randn(arguments.batch, 3, arguments.size, arguments.size, generator=generator)
    target = (torch.arange(arguments.batch) % 2).float()
    steps = _steps(images.to(arguments.device), target.to(arguments.device))
    seconds: dict[str, list[float]] = {name: [] for name in steps}
    for repeat in tqdm(range(arguments.repeats + 2), desc="timing", unit="round", leave=False):
        for (
            name,
            step,
        ) in steps.items():  # in turns, so that whatever else the machine does disturbs all alike
            start = time.perf_counter()
            step()
            if arguments.device.startswith("cuda"):
                torch.cuda.synchronize()
            if repeat >= 2:
                seconds[name].append(time.perf_counter() - start)
    medians = {name: statistics.median(values) for name, values in seconds.items()}
    reference, *_ = medians.values()
    print(f"A training step of ResNet-18, {arguments.batch} images of {arguments.size}x{arguments.size}")
    print(f"{'':24}{'ms':>9}  {'ratio':>6}")
    for name, median in medians.items():
        print(f"{name:24}{median * 1e3:9.1f}  {median / reference:6.2f}")
