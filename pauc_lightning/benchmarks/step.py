"""Time of a training step, backbone included: every method beside cross-entropy, `pauc fit` beside a plain loop.

For an MLP, a small convolutional network and ResNet-18, a step of `pauc fit` is timed beside the same step in a plain
loop over tensors in memory, in turns within one run, so that other work on the machine disturbs both alike. On a CPU,
CPU time is measured; on an accelerator, the time that passes.

The plain loop draws a batch, clears the gradients, evaluates, clips where the method clips, and steps. `pauc fit` does
the same through Lightning's Trainer with the callbacks, checks and logs of every run (one log in ten steps), without
the progress bar and the figures. "empty" is Lightning alone: a module whose step is the plain step for
cross-entropy. "loading" is the share of the step that is spent on fetching its batch. "to CE" compares the plain loops.

PAUCI and UPAUCI are trained by ASGDA, which evaluates the gradient twice per step ("two gradients"), or once where its
estimators keep nothing of the past, the methods' default. All other methods step by SGD, AGD-SBCD by its own optimizer.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import logging
import statistics
import tempfile
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

from pauc_lightning.benchmarks import clock
from pauc_lightning.callbacks import CollapseMonitor, GracefulStop, PreprocessingKeeper
from pauc_lightning.cli.plain_parser import PlainParser
from pauc_lightning.data import LongTailDataModule
from pauc_lightning.data.source import Source
from pauc_lightning.errors import InputError
from pauc_lightning.loggers import RunLogger
from pauc_lightning.methods import (
    AGDSBCD,
    AUCM,
    CE,
    MB,
    PAUCI,
    SOPA,
    SOPAS,
    UPAUCI,
    AUCExp,
    AUCPoly,
    HardCE,
    PartialAUC,
    PartialAUCModule,
)
from pauc_lightning.models import MLPScorer, ResNet18, SmallCNN
from pauc_lightning.objectives import UPAUCILoss

NETWORKS = ("mlp", "small", "resnet18")
LOG_INTERVAL = 10
"""Steps between two logs of `pauc fit`, and the length of the blocks whose median counts."""
REFERENCE = "CE"
METHODS: dict[str, Callable[..., LightningModule]] = {
    "CE, empty": lambda **settings: _Empty(settings["backbone"]),
    REFERENCE: CE,
    "HardCE": HardCE,
    "PartialAUC": PartialAUC,
    "AUC-M": AUCM,
    "AUC-poly": AUCPoly,
    "AUC-exp": AUCExp,
    "MB": MB,
    "SOPA": SOPA,
    "SOPA-S": SOPAS,
    "AGD-SBCD": AGDSBCD,
    "PAUCI": PAUCI,
    "UPAUCI": UPAUCI,
    "UPAUCI, stored c": lambda **settings: UPAUCI(**settings, weights="ascent"),
    "UPAUCI, two gradients": lambda **settings: UPAUCI(**settings, iota_descent=0.5, iota_ascent=0.5),
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
    if isinstance(module, PartialAUCModule):
        optimizer, clip_norm = module.configure_method_optimizer(), module.gradient_clip_norm
        loss_of = _loss_of(module)
    else:
        optimizer, clip_norm = _sgd(network), None

        def loss_of(logits: Tensor, target: Tensor, index: Tensor) -> Tensor:
            return _cross_entropy(logits, target)

    def step() -> None:
        rows = torch.randint(len(x), (batch,), device=x.device)
        inputs, labels = x.index_select(0, rows), y.index_select(0, rows)

        def closure() -> float:
            optimizer.zero_grad()
            loss = loss_of(network(inputs).squeeze(1), labels, rows)
            loss.backward()
            if clip_norm is not None:
                nn.utils.clip_grad_norm_(parameters, clip_norm)
            return 0.0  # reading the value would wait for the device

        optimizer.step(closure)

    return step


def _loss_of(module: PartialAUCModule) -> Callable[[Tensor, Tensor, Tensor], Tensor]:
    """The method's loss of logits, labels and indices, as one would write it by hand."""
    objective = module.objective
    stored = objective if isinstance(objective, UPAUCILoss) and objective.needs_index else None

    def loss_of(logits: Tensor, target: Tensor, index: Tensor) -> Tensor:
        scores = logits if objective.takes == "logits" else logits.sigmoid()
        if stored is not None:
            stored.ascend_(scores.detach(), target, index)
        loss: Tensor = objective(scores, target, index if objective.needs_index else None)
        return loss

    return loss_of


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
        settings = {
            "warmup_epochs": 0,
            "prior": data.prior,
            "input_shape": data.input_shape,
            "train_size": data.train_size,
        }
        backbone = network()
        backbone(torch.zeros(2, *data.input_shape))  # lets lazy layers take their sizes
        return METHODS[name](backbone=backbone, **settings)

    def now() -> float:
        return clock.now(device)

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


@dataclass(frozen=True)
class _Table:
    """The table of one network.

    Args:
        title: Its title.
        network: Makes the network.
        data: The data.
        steps: How many steps to time.
    """

    title: str
    network: Callable[[], nn.Module]
    data: _RandomData
    steps: int


def main(argv: Sequence[str] | None = None) -> None:
    """Print the tables."""
    parser = PlainParser(prog="pauc benchmark step", description=__doc__)
    add = parser.add_argument
    add("--networks", nargs="+", default=list(NETWORKS), choices=NETWORKS, help="the networks")
    add("--batch", type=int, default=128, help="images per batch")
    add("--size", type=int, default=32, help="height and width of the images")
    add("--mlp_batch", type=int, default=512, help="samples per batch of the MLP")
    add(
        "--steps",
        type=int,
        default=10,
        help="steps of ResNet-18; the small network takes four times, the MLP twenty",
    )
    add("--device", default="cpu", help="where to compute")
    add("--threads", type=int, default=1, help="threads of torch")
    arguments = parser.parse_args(argv)
    for name in ("batch", "size", "mlp_batch", "steps", "threads"):
        if getattr(arguments, name) < 1:
            raise InputError(f"`--{name}={getattr(arguments, name)}` must be at least 1.")
    device = torch.device(arguments.device)
    tables = [_table(name, arguments) for name in dict.fromkeys(arguments.networks)]
    total = sum((table.steps + LOG_INTERVAL + 1) * len(METHODS) for table in tables)
    threads = torch.get_num_threads()
    torch.set_num_threads(arguments.threads)
    try:
        with tqdm(total=total, desc="timing", unit="step", leave=False) as bar:
            for table in tables:
                timings = {
                    name: measure(name, table.network, table.data, table.steps, device, bar)
                    for name in METHODS
                }
                bar.clear()
                print(report(table.title, timings), end="\n\n", flush=True)
    finally:
        torch.set_num_threads(threads)


def _table(name: str, arguments: argparse.Namespace) -> _Table:
    batch, size, steps = arguments.batch, arguments.size, arguments.steps
    if name == "mlp":
        rows = arguments.mlp_batch
        return _Table(
            f"MLP, batches of {rows}", MLPScorer, _RandomData((64,), rows, n_batches=20), 20 * steps
        )
    images = _RandomData((3, size, size), batch, n_batches=4)
    title = f"batches of {batch} images of {size}x{size}"
    if name == "small":
        return _Table(f"SmallCNN, {title}", SmallCNN, images, 4 * steps)
    return _Table(f"ResNet-18, {title}", ResNet18, images, steps)


def report(title: str, timings: dict[str, Timing]) -> str:
    """The table of one network."""
    lines = [f"A training step of {title}"]
    lines.append(f"{'':24}{'plain ms':>9}{'to CE':>8}{'fit ms':>9}{'to plain':>10}{'loading':>9}")
    reference, _ = timings[REFERENCE].medians()
    for name, timing in timings.items():
        plain, fit = timing.medians()
        lines.append(
            f"{name:24}{plain * 1e3:9.2f}{plain / reference:8.2f}{fit * 1e3:9.2f}{fit / plain:10.2f}"
            f"{timing.loading / fit:9.1%}"
        )
    return "\n".join(lines)
