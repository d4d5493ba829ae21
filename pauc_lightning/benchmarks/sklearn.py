"""Time of `PartialAUCClassifier.fit` beside a plain loop that trains the same model.

Both train a linear scorer and a network with one hidden layer on the same table with UPAUCI: standardised columns, the
same warm-up (scikit-learn's LogisticRegression, or epochs of cross-entropy), the same number of balanced batches of
the same size, one validation per epoch, the best weights kept. The plain loop is written without any check, for this
table only. They take turns within one run, so that other work on the machine disturbs both alike; CPU time is measured.

The partial AUC on new rows shows that neither saves time by training less.
"""

from __future__ import annotations

import copy
import math
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from numpy.typing import NDArray
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from torch import Tensor, nn
from torch.optim import AdamW, Optimizer
from tqdm import tqdm

from pauc_lightning.cli.plain_parser import PlainParser
from pauc_lightning.errors import InputError
from pauc_lightning.metrics.functional import binary_partial_auc
from pauc_lightning.objectives import UPAUCILoss
from pauc_lightning.optim import ASGDA
from pauc_lightning.sklearn import PartialAUCClassifier

MAX_FPR = 0.1
BATCH = 512
EPOCHS = 20
"""Of the warm-up, and again of the method; the classifier's default."""
HELD_OUT = 0.15
NETWORKS: dict[str, tuple[int, ...]] = {"linear": (), "hidden layer of 64": (64,)}


@dataclass
class Timing:
    """Seconds of each fit, and the partial AUC of the last on new rows."""

    seconds: list[float] = field(default_factory=list)
    value: float = math.nan

    @property
    def median(self) -> float:
        """The median time of a fit."""
        return statistics.median(self.seconds)


Scorer = Callable[[NDArray[Any]], NDArray[Any]]


def fit_estimator(X: NDArray[Any], y: NDArray[Any], hidden: tuple[int, ...]) -> Scorer:
    """Train by the classifier."""
    model = PartialAUCClassifier(
        MAX_FPR,
        method="upauci",
        hidden=hidden,
        warmup_epochs=EPOCHS,
        epochs=EPOCHS,
        batch_size=BATCH,
        validation_fraction=HELD_OUT,
        random_state=0,
    )
    scorer: Scorer = model.fit(X, y).decision_function
    return scorer


def fit_plainly(X: NDArray[Any], y: NDArray[Any], hidden: tuple[int, ...]) -> Scorer:
    """Train by a loop as one would write it for one table."""
    X, X_val, y, y_val = train_test_split(X, y, test_size=HELD_OUT, stratify=y, random_state=0)
    scaler = StandardScaler().fit(X)
    inputs, val = (torch.from_numpy(scaler.transform(part)).float() for part in (X, X_val))
    target = torch.from_numpy(y).float()
    positives, negatives = target.nonzero().squeeze(1), (1 - target).nonzero().squeeze(1)
    n_steps = math.ceil(len(negatives) / (BATCH / 2))
    torch.manual_seed(0)
    network: nn.Module = nn.Linear(inputs.shape[1], 1)
    if hidden:
        (width,) = hidden
        network = nn.Sequential(nn.Linear(inputs.shape[1], width), nn.ReLU(), nn.Linear(width, 1))
    best: tuple[float, dict[str, Tensor]] = (-1.0, {})

    def validate() -> None:
        nonlocal best
        with torch.no_grad():
            value = float(roc_auc_score(y_val, network(val).squeeze(1).numpy(), max_fpr=MAX_FPR))
        if value >= best[0]:
            best = (value, copy.deepcopy(network.state_dict()))

    def run(loss_of: Callable[[Tensor, Tensor], Tensor], optimizer: Optimizer, is_method: bool) -> None:
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, EPOCHS * n_steps)
        for _ in range(EPOCHS):
            order = negatives[torch.randperm(len(negatives))]
            for part in order.chunk(n_steps):
                rows = torch.cat([positives[torch.randint(len(positives), (len(part),))], part])
                x, t = inputs[rows], target[rows]

                def closure(x: Tensor = x, t: Tensor = t) -> Any:
                    optimizer.zero_grad()
                    loss = loss_of(network(x).squeeze(1), t)
                    loss.backward()
                    if is_method:
                        nn.utils.clip_grad_norm_(network.parameters(), 1.0)
                    return loss

                optimizer.step(closure)
                schedule.step()
            if is_method:
                validate()

    if hidden:
        run(
            nn.functional.binary_cross_entropy_with_logits,
            AdamW(network.parameters(), lr=0.01, weight_decay=1 / len(y)),
            is_method=False,
        )
    else:
        assert isinstance(network, nn.Linear)
        model = LogisticRegression(max_iter=1000).fit(inputs.numpy(), y)
        with torch.no_grad():
            network.weight.copy_(torch.from_numpy(model.coef_))
            network.bias.copy_(torch.from_numpy(model.intercept_))
    validate()
    objective = UPAUCILoss(MAX_FPR)
    with torch.no_grad():
        objective.initialize_(network(inputs).squeeze(1).sigmoid(), target)
    weights = {"params": network.parameters(), "weight_decay": 1 / len(y)}
    optimizer = ASGDA([weights, *objective.param_groups()])
    run(lambda logits, t: objective(logits.sigmoid(), t), optimizer, is_method=True)
    network.load_state_dict(best[1])

    def scores(new: NDArray[Any]) -> NDArray[Any]:
        with torch.no_grad():
            values: NDArray[Any] = network(torch.from_numpy(scaler.transform(new)).float()).squeeze(1).numpy()
        return values

    return scores


FITS = {"plain loop": fit_plainly, "PartialAUCClassifier": fit_estimator}


def measure(rows: int, columns: int, repeats: int) -> dict[str, dict[str, Timing]]:
    """Time both on both networks.

    Args:
        rows: Rows of the table to train on.
        columns: Columns of the table.
        repeats: How often each fit is timed, after one that is not.

    Returns:
        For each network, the timing of each fit.
    """
    X, y = make_classification(
        2 * rows, columns, n_informative=columns // 2, weights=[0.9], class_sep=0.7, random_state=0
    )
    X, X_new, y, y_new = train_test_split(X, y, test_size=0.5, stratify=y, random_state=0)
    timings = {network: {name: Timing() for name in FITS} for network in NETWORKS}
    with tqdm(total=len(NETWORKS) * len(FITS) * (repeats + 1), desc="timing", unit="fit", leave=False) as bar:
        for network, hidden in NETWORKS.items():
            for number in range(repeats + 1):
                for name, fit in FITS.items():
                    start = time.process_time()
                    scorer = fit(X, y, hidden)
                    timing = timings[network][name]
                    if number > 0:
                        timing.seconds.append(time.process_time() - start)
                    timing.value = float(binary_partial_auc(scorer(X_new), y_new, max_fpr=MAX_FPR))
                    bar.update()
    return timings


def report(rows: int, columns: int, timings: dict[str, dict[str, Timing]]) -> str:
    """The table."""
    lines = [f"Fit to {rows:,} rows of {columns} columns, one in ten positive"]
    lines.append(f"{'':21}{'plain s':>9}{'fit s':>9}{'ratio':>8}{'plain pAUC':>12}{'fit pAUC':>10}")
    for network, fits in timings.items():
        plain, ours = fits["plain loop"], fits["PartialAUCClassifier"]
        ratio = statistics.median(a / b for a, b in zip(ours.seconds, plain.seconds, strict=True))
        lines.append(
            f"{network:21}{plain.median:9.2f}{ours.median:9.2f}{ratio:8.2f}{plain.value:12.4f}{ours.value:10.4f}"
        )
    return "\n".join(lines)


def main(argv: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = PlainParser(prog="pauc benchmark sklearn", description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000, help="rows of the table")
    parser.add_argument("--columns", type=int, default=30, help="columns of the table")
    parser.add_argument("--repeats", type=int, default=5, help="fits of each kind; the median counts")
    arguments = parser.parse_args(argv)
    # Fewer rows would make an epoch so short that the classifier passes through them several times.
    for name, smallest in (("rows", 20_000), ("columns", 4), ("repeats", 1)):
        if getattr(arguments, name) < smallest:
            raise InputError(f"`--{name}={getattr(arguments, name)}` must be at least {smallest}.")
    timings = measure(arguments.rows, arguments.columns, arguments.repeats)
    print(report(arguments.rows, arguments.columns, timings))
