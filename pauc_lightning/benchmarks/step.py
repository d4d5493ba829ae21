"""Time of a training step, backbone included: `pauc fit` beside a plain loop, and ASGDA beside SGD.

For a small network (an MLP) and a large one (ResNet-18), a step of `pauc fit` is timed beside the same step in a plain
loop over tensors in memory, in turns within one run, so that other work on the machine disturbs both alike. On a CPU,
CPU time is measured; on an accelerator, the time that passes.

The plain loop draws a batch, clears the gradients, evaluates, clips where the method clips, and steps. `pauc fit` does
the same through Lightning's Trainer with the callbacks, checks and logs of every run (one log in ten steps), without
the progress bar and the figures. "empty" is Lightning alone: a module whose step is the plain step for
cross-entropy. "loading" is the share of the step that is spent on fetching its batch.

ASGDA evaluates the gradient twice per step ("rho < 1"), or once where its estimators keep nothing of the past
("rho = 1", the methods' default).
"""

from __future__ import annotations

import contextlib
import io
import logging
import statistics
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from lightning.pytorch import Callback, LightningModule, Trainer
from lightning.pytorch.core.optimizer import LightningOptimizer
from torch import Tensor, nn
from torch.optim import SGD, Optimizer
from tqdm import tqdm

from pauc_lightning.callbacks import CollapseMonitor, GracefulStop, PreprocessingKeeper
from pauc_lightning.cli.plain_parser import PlainParser
from pauc_lightning.data import LongTailDataModule
from pauc_lightning.data.source import Source
from pauc_lightning.errors import InputError
from pauc_lightning.loggers import RunLogger
from pauc_lightning.methods import CE, UPAUCI, PartialAUCModule
from pauc_lightning.models import MLPScorer, ResNet18

LOG_INTERVAL = 10
"""Steps between two logs of `pauc fit`, and the length of the blocks whose median counts."""
_TWICE: dict[str, Any] = {"iota_descent": 0.5, "iota_ascent": 0.5}
METHODS: dict[str, Callable[..., LightningModule]] = {
    "CE, SGD, empty": lambda **settings: _Empty(settings["backbone"]),
    "CE, SGD": CE,
    "UPAUCI, ASGDA, rho = 1": UPAUCI,
    "UPAUCI, ASGDA, rho < 1": lambda **settings: UPAUCI(**settings, **_TWICE),
}
"""The steps that are timed."""


@dataclass
class Timing:
    """Seconds of single steps, in the order in which they were taken."""

    plain: list[float] = field(default_factory=list)
    fit: list[float] = field(default_factory=list)
    loading: float = 0.0

    def medians(self) -> tuple[float, float]:
        """Seconds per step of the plain loop and of `pauc fit`: the median over blocks of one log each."""
        return _median_of_blocks(self.plain), _median_of_blocks(self.fit)


class _RandomData(LongTailDataModule):
    """Random inputs in memory, one positive in five."""

    def __init__(self, shape: tuple[int, ...], batch: int, n_batches: int) -> None:
        super().__init__(positive_classes=[1], batch_size=batch)
        self._shape = (max(100, batch * n_batches * 10 // 7), *shape)  # seven tenths are for training

    def load_source(self) -> Source:
        """Draw the inputs; the positives' are a little larger."""
        labels = (np.arange(self._shape[0]) % 5 == 0).astype(np.int64)
        inputs = torch.randn(self._shape, generator=torch.Generator().manual_seed(0))
        inputs += 0.1 * torch.from_numpy(labels).view(-1, *[1] * (inputs.ndim - 1))
        return Source(inputs, labels)


class _Empty(LightningModule):
    """The least that a module with manual optimization can do."""

    def __init__(self, backbone: nn.Module) -> None:
        super().__init__()
        self.automatic_optimization = False
        self.backbone = backbone

    def configure_optimizers(self) -> Optimizer:
        return _sgd(self.backbone)

    def training_step(self, batch: Any, batch_idx: int) -> None:
        optimizer = self.optimizers()
        assert isinstance(optimizer, LightningOptimizer)

        def closure() -> Tensor:
            optimizer.zero_grad()
            loss = _cross_entropy(self.backbone(batch.input).squeeze(1), batch.target)
            self.manual_backward(loss)
            return loss

        optimizer.step(closure=closure)


def _sgd(network: nn.Module) -> Optimizer:
    return SGD(network.parameters(), lr=0.01, momentum=0.9, weight_decay=1e-4)


def _cross_entropy(logits: Tensor, target: Tensor) -> Tensor:
    return nn.functional.binary_cross_entropy_with_logits(logits, target.float())


def _plain_step(module: LightningModule, x: Tensor, y: Tensor, batch: int) -> Callable[[], None]:
    """Return a step of a loop without Lightning, on the module's network with its loss, optimizer and clipping."""
    network = module.backbone
    assert isinstance(network, nn.Module)
    parameters = list(network.parameters())
    optimizer, loss_of, clip_norm = _sgd(network), _cross_entropy, None
    if isinstance(module, UPAUCI):
        objective = module.objective
        optimizer, clip_norm = module.configure_method_optimizer(), module.gradient_clip_norm

        def loss_of(logits: Tensor, target: Tensor) -> Tensor:
            loss: Tensor = objective(logits.sigmoid(), target)
            return loss

    def step() -> None:
        rows = torch.randint(len(x), (batch,), device=x.device)
        inputs, labels = x.index_select(0, rows), y.index_select(0, rows)

        def closure() -> float:
            optimizer.zero_grad()
            loss = loss_of(network(inputs).squeeze(1), labels)
            loss.backward()
            if clip_norm is not None:
                nn.utils.clip_grad_norm_(parameters, clip_norm)
            return 0.0  # reading the value would wait for the device

        optimizer.step(closure)

    return step


class _Stopwatch(Callback):
    """Takes a plain step before each step of the Trainer, and times both."""

    def __init__(self, plain_step: Callable[[], None], now: Callable[[], float], bar: tqdm[Any]) -> None:
        self.timing = Timing()
        self._plain_step = plain_step
        self._now = now
        self._bar = bar
        self._left_at: float | None = None

    def on_train_batch_start(
        self, trainer: Trainer, pl_module: LightningModule, batch: Any, batch_idx: int
    ) -> None:
        start = self._now()
        if self._left_at is not None:
            self.timing.fit.append(start - self._left_at)
        self._plain_step()
        self.timing.plain.append(self._now() - start)
        self._bar.update()
        self._left_at = self._now()


def measure(
    name: str, network: Callable[[], nn.Module], data: _RandomData, steps: int, device: torch.device, bar: Any
) -> Timing:
    """Time the steps of one method with one network.

    Args:
        name: The method, a key of :data:`METHODS`.
        network: Makes the network.
        data: The data.
        steps: How many steps to time.
        device: Where to compute.
        bar: A progress bar, updated at each step.
    """

    def module() -> LightningModule:
        settings = {"warmup_epochs": 0, "prior": data.prior, "input_shape": data.input_shape}
        backbone = network()
        backbone(torch.zeros(2, *data.input_shape))  # lets lazy layers take their sizes
        return METHODS[name](backbone=backbone, **settings)

    def now() -> float:
        if device.type == "cpu":
            return time.process_time()
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        return time.perf_counter()

    part = data.dataset("train")
    rows = part.batch(torch.arange(len(part)))
    plain = module().to(device)
    step = _plain_step(plain, rows.input.to(device), rows.target.to(device), data.batch_size)
    stopwatch = _Stopwatch(step, now, bar)
    with tempfile.TemporaryDirectory() as folder, _quiet():
        trainer = Trainer(
            accelerator={"cuda": "gpu"}.get(device.type, device.type),
            devices=1 if device.index is None or device.type == "cpu" else [device.index],
            max_epochs=-1,
            max_steps=steps
            + LOG_INTERVAL
            + 1,  # the first steps are not counted, and the end of the last is not seen
            logger=RunLogger(Path(folder)),
            log_every_n_steps=LOG_INTERVAL,
            callbacks=[GracefulStop(), PreprocessingKeeper(), CollapseMonitor(), stopwatch]
            if isinstance(fitted := module(), PartialAUCModule)
            else [stopwatch],
            limit_val_batches=0,
            enable_checkpointing=False,
            enable_progress_bar=False,
            enable_model_summary=False,
            use_distributed_sampler=False,
        )
        trainer.fit(fitted, datamodule=data)
    timing = stopwatch.timing
    timing.plain, timing.fit = timing.plain[LOG_INTERVAL:-1], timing.fit[LOG_INTERVAL:]
    timing.loading = _loading(data, now)
    return timing


def _loading(data: _RandomData, now: Callable[[], float]) -> float:
    """Seconds per batch of the loader and the data module's transforms, without a Trainer."""
    seconds, start = [], now()
    for batch in data.train_dataloader():
        data.on_after_batch_transfer(batch, 0)
        seconds.append(now() - start)
        start = now()
    return statistics.median(seconds)


def _median_of_blocks(seconds: Sequence[float]) -> float:
    blocks = [seconds[i : i + LOG_INTERVAL] for i in range(0, len(seconds), LOG_INTERVAL)]
    return statistics.median(statistics.mean(block) for block in blocks)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Hide Lightning's messages about itself."""
    logger = logging.getLogger("lightning.pytorch")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)


def main(argv: Sequence[str] | None = None) -> None:
    """Print the tables."""
    parser = PlainParser(prog="pauc benchmark step", description=__doc__)
    parser.add_argument("--batch", type=int, default=128, help="images per batch of ResNet-18")
    parser.add_argument("--size", type=int, default=32, help="height and width of the images")
    parser.add_argument("--mlp_batch", type=int, default=512, help="samples per batch of the MLP")
    parser.add_argument(
        "--steps", type=int, default=20, help="steps of ResNet-18; the MLP takes twenty times as many"
    )
    parser.add_argument("--device", default="cpu", help="where to compute")
    arguments = parser.parse_args(argv)
    for name in ("batch", "size", "mlp_batch", "steps"):
        if getattr(arguments, name) < 1:
            raise InputError(f"`--{name}={getattr(arguments, name)}` must be at least 1.")
    device = torch.device(arguments.device)
    mlp_data = _RandomData((64,), arguments.mlp_batch, n_batches=20)
    images = _RandomData((3, arguments.size, arguments.size), arguments.batch, n_batches=4)
    tables: list[tuple[str, Callable[[], nn.Module], _RandomData, int]] = [
        (f"MLP, batches of {arguments.mlp_batch}", MLPScorer, mlp_data, 20 * arguments.steps),
        (
            f"ResNet-18, batches of {arguments.batch} images of {arguments.size}x{arguments.size}",
            ResNet18,
            images,
            arguments.steps,
        ),
    ]
    total = sum((steps + LOG_INTERVAL + 1) * len(METHODS) for *_, steps in tables)
    with tqdm(total=total, desc="timing", unit="step", leave=False) as bar:
        timings = [
            {name: measure(name, network, data, steps, device, bar) for name in METHODS}
            for _, network, data, steps in tables
        ]
    for (title, *_), timing in zip(tables, timings, strict=True):
        print(report(title, timing), end="\n\n")


def report(title: str, timings: dict[str, Timing]) -> str:
    """The table of one network."""
    lines = [f"A training step of {title}"]
    lines.append(f"{'':24}{'plain ms':>9}{'to SGD':>8}{'fit ms':>9}{'to plain':>10}{'loading':>9}")
    reference, _ = timings["CE, SGD"].medians()
    for name, timing in timings.items():
        plain, fit = timing.medians()
        lines.append(
            f"{name:24}{plain * 1e3:9.2f}{plain / reference:8.2f}{fit * 1e3:9.2f}{fit / plain:10.2f}"
            f"{timing.loading / fit:9.1%}"
        )
    return "\n".join(lines)
