"""Bad arguments in Python: each raises InputError with one sentence that names the argument and the value."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from catalogue.sentences import check_sentence
from torch import nn

from pauc_lightning import objectives
from pauc_lightning.checkpoint_io import read_checkpoint
from pauc_lightning.data import DigitsLT, GaussianLT, ShuffledBatchSampler, StratifiedBatchSampler
from pauc_lightning.errors import InputError
from pauc_lightning.methods import AGDSBCD, AUCM, CE, PAUCI, SOPA, SOPAS, UPAUCI, AUCExp
from pauc_lightning.metrics import BinaryPartialAUC
from pauc_lightning.metrics.functional import binary_partial_auc
from pauc_lightning.models import MLPScorer, ResNet18, SmallCNN, TimmModel
from pauc_lightning.optim import ASGDA
from pauc_lightning.region import Region

nan, inf = math.nan, math.inf
RATES = (nan, inf, -0.1, 1.5, "abc", True, None)
SIZES = (nan, inf, -1, "abc", True)
COUNTS = (0, -4, 1.5, "abc", True)


class Argument(NamedTuple):
    """An argument of a class or function, and values that it must refuse."""

    build: Callable[..., Any]
    name: str
    values: tuple[Any, ...]


def network() -> MLPScorer:
    return MLPScorer((4,))


def ce(**arguments: Any) -> CE:
    return CE(backbone=network(), **arguments)


def pauci(**arguments: Any) -> PAUCI:
    return PAUCI(backbone=network(), **arguments)


def upauci(**arguments: Any) -> UPAUCI:
    return UPAUCI(backbone=network(), **arguments)


def sopa(**arguments: Any) -> SOPA:
    return SOPA(backbone=network(), **{"train_size": 10, **arguments})


def sopas(**arguments: Any) -> SOPAS:
    return SOPAS(backbone=network(), **{"train_size": 10, **arguments})


def agd(**arguments: Any) -> AGDSBCD:
    return AGDSBCD(backbone=network(), **{"train_size": 10, **arguments})


def asgda(**arguments: Any) -> ASGDA:
    return ASGDA([nn.Parameter(torch.zeros(1))], **arguments)


def metric(**arguments: Any) -> torch.Tensor:
    return binary_partial_auc(torch.tensor([0.1, 0.9]), torch.tensor([0, 1]), **arguments)


def stratified(**arguments: Any) -> StratifiedBatchSampler:
    return StratifiedBatchSampler(**{"labels": [0, 1] * 8, "batch_size": 4, **arguments})


def shuffled(**arguments: Any) -> ShuffledBatchSampler:
    return ShuffledBatchSampler(**{"labels": [0, 1] * 8, "batch_size": 4, **arguments})


ARGUMENTS = (
    Argument(Region, "max_fpr", RATES),
    Argument(Region, "min_tpr", RATES),
    Argument(Region, "min_fpr", RATES),
    Argument(metric, "max_fpr", RATES),
    Argument(metric, "ties", ("none", 3)),
    Argument(metric, "scale", ("none", None)),
    Argument(BinaryPartialAUC, "max_fpr", (nan, "abc")),
    Argument(BinaryPartialAUC, "thresholds", (1, -3, 2.5, True, "many")),
    Argument(objectives.PAUCILoss, "max_fpr", (0, nan, "abc")),
    Argument(lambda **a: objectives.PAUCILoss(0.3, **a), "kappa", (0, -1, nan, inf, "abc")),
    Argument(lambda **a: objectives.PAUCILoss(0.3, **a), "omega", SIZES),
    Argument(lambda **a: objectives.PAUCILoss(0.3, **a), "prior", (0, 1, 3, -0.1, nan, "abc")),
    Argument(lambda **a: objectives.PAUCILoss(0.3, **a), "constraint", ("none", 3)),
    Argument(lambda **a: objectives.UPAUCILoss(0.3, **a), "omega", SIZES),
    Argument(lambda **a: objectives.UPAUCILoss(0.3, **a), "weights", ("none", 3)),
    Argument(lambda **a: objectives.SOPALoss(0.3, train_size=10, **a), "threshold_lr", (nan, -1, "abc")),
    Argument(lambda **a: objectives.SOPALoss(0.3, train_size=10, **a), "surrogate", ("hinge", 3)),
    Argument(lambda **a: objectives.SOPALoss(max_fpr=0.3, **a), "train_size", COUNTS),
    Argument(lambda **a: objectives.SOPASLoss(train_size=10, **a), "lambda_", (0, -1, nan, "abc")),
    Argument(lambda **a: objectives.SOPASLoss(train_size=10, **a), "u_rate", (-1, 1.5, nan, "abc")),
    Argument(objectives.AUCMLoss, "prior", (0, 1, nan, "abc")),
    Argument(objectives.AUCPolyLoss, "gamma", (nan, "abc")),
    Argument(objectives.AUCExpLoss, "gamma", (-1, "abc")),
    Argument(lambda **a: objectives.AGDSBCDLoss(0.3, train_size=10, **a), "first_loop", COUNTS),
    Argument(asgda, "lr", (nan, inf, -1, "abc")),
    Argument(asgda, "weight_decay", (nan, -1, "abc")),
    Argument(asgda, "iota_descent", (nan, -1, "abc")),
    Argument(asgda, "lr_ascent", (nan, -1, "abc")),
    Argument(ce, "max_fpr", RATES),
    Argument(ce, "min_tpr", (1, nan)),
    Argument(ce, "warmup_epochs", (-1, 1.5, "abc")),
    Argument(ce, "learning_rate", SIZES),
    Argument(ce, "momentum", SIZES),
    Argument(ce, "weight_decay", SIZES),
    Argument(ce, "schedule", ("linear", 3)),
    Argument(ce, "gradient_clip_norm", (0, -1, nan, "abc")),
    Argument(pauci, "prior", (3, 0, nan)),
    Argument(pauci, "descent_lr", (-1, nan, "abc")),
    Argument(upauci, "ascent_lr", (-1, nan)),
    Argument(sopa, "threshold_lr", (-1, nan)),
    Argument(sopas, "tau", (0, -1, nan)),
    Argument(agd, "train_size", (0, -1)),
    Argument(lambda **a: AUCExp(backbone=network(), **a), "gamma", (nan, "abc")),
    Argument(lambda **a: AUCM(backbone=network(), **a), "prior", (3, nan)),
    Argument(MLPScorer, "hidden", ((0,), (-4,), 3, "abc", (1.5,))),
    Argument(MLPScorer, "dropout", (1.5, -0.1, nan, "abc")),
    Argument(SmallCNN, "width", COUNTS),
    Argument(SmallCNN, "in_channels", COUNTS),
    Argument(ResNet18, "in_channels", (0, -4, "abc")),
    Argument(ResNet18, "stem", ("large",)),
    Argument(ResNet18, "weights", ("IMAGENET",)),
    Argument(TimmModel, "name", ("resnet5000",)),
    Argument(DigitsLT, "batch_size", COUNTS),
    Argument(DigitsLT, "eval_batch_size", (0, "abc")),
    Argument(DigitsLT, "seed", (-1, 1.5, "abc")),
    Argument(DigitsLT, "num_workers", (-1, 1.5, "abc")),
    Argument(DigitsLT, "imbalance_ratio", (0, 1.5, nan, "abc")),
    Argument(DigitsLT, "positive_fraction", (0, 1, nan, "abc")),
    Argument(DigitsLT, "sampler", ("random", 3)),
    Argument(DigitsLT, "predict_part", ("all", 3)),
    Argument(DigitsLT, "positive_classes", (3,)),
    Argument(GaussianLT, "sizes", (3,)),
    Argument(stratified, "batch_size", (0, -1, 1.5)),
    Argument(stratified, "positive_fraction", (0, 1, nan)),
    Argument(shuffled, "seed", (-1, "abc")),
)


def cases() -> Iterator[Any]:
    for number, (build, name, values) in enumerate(ARGUMENTS):
        owner = getattr(build, "__name__", "").replace("<lambda>", str(number))
        for value in values:
            yield pytest.param(build, name, value, id=f"{owner}({name}={value!r})")


@pytest.mark.parametrize(("build", "name", "value"), cases())
def test_a_bad_argument_is_named(build: Callable[..., Any], name: str, value: Any) -> None:
    with pytest.raises(InputError) as caught:
        build(**{name: value})
    shown = value[0] if isinstance(value, tuple) and value else value
    check_sentence(str(caught.value), [name, str(shown) if not isinstance(shown, str) else shown])


SCORES, LABELS = torch.tensor([0.1, 0.9, 0.4]), torch.tensor([0, 1, 0])


def trained(batch: Any, module: nn.Module | None = None) -> None:
    """One training step and one validation of a method on a batch as a user's loader returns it."""
    from lightning.pytorch import Trainer
    from torch.utils.data import DataLoader

    loader: DataLoader[Any] = DataLoader([batch] * 4, batch_size=None)  # type: ignore[arg-type]  # a list will do
    model = CE(backbone=module or nn.Linear(3, 1), warmup_epochs=0)
    Trainer(
        max_epochs=1,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    ).fit(model, loader)


class TwoOutputs(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 1)

    def forward(self, input: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return self.layer(input), self.layer(input)


X = torch.zeros(4, 3)
Y = torch.tensor([0, 1, 0, 1])

CALLS: tuple[tuple[str, Callable[[], Any], tuple[str, ...]], ...] = (
    ("empty region", lambda: Region(max_fpr=0.1, min_fpr=0.2), ("min_fpr", "0.2", "0.1")),
    ("metric: lengths", lambda: binary_partial_auc(SCORES, LABELS[:2]), ("3", "2")),
    ("metric: one class", lambda: binary_partial_auc(SCORES, torch.zeros(3).long()), ("positive",)),
    ("metric: no negatives", lambda: binary_partial_auc(SCORES, torch.ones(3).long()), ("negative",)),
    ("metric: nothing", lambda: binary_partial_auc(SCORES[:0], LABELS[:0]), ("positive",)),
    ("metric: NaN", lambda: binary_partial_auc(SCORES * nan, LABELS), ("NaN",)),
    ("metric: labels -1", lambda: binary_partial_auc(SCORES, LABELS * 2 - 1), ("-1",)),
    ("metric: labels 0.5", lambda: binary_partial_auc(SCORES, LABELS * 0.5), ("0.5",)),
    ("metric: words", lambda: binary_partial_auc(["a", "b", "c"], LABELS), ("str",)),
    ("metric: complex", lambda: binary_partial_auc(SCORES * 1j, LABELS), ("complex",)),
    ("metric: matrix", lambda: binary_partial_auc(torch.zeros(3, 2), LABELS), ("(3, 2)",)),
    ("metric: numpy words", lambda: binary_partial_auc(np.array(["a", "b", "c"]), LABELS), ("U1",)),
    ("metric: ragged", lambda: binary_partial_auc([[0.1], [0.2, 0.3]], [0, 1]), ("list",)),
    ("metric: None", lambda: binary_partial_auc(None, LABELS), ("None",)),  # type: ignore[arg-type]
    ("metric class: labels", lambda: BinaryPartialAUC().update(SCORES, LABELS + 1), ("2",)),
    ("loss: logits", lambda: objectives.PAUCILoss(0.3)(SCORES * 100, LABELS), ("sigmoid", "90")),
    ("loss: NaN", lambda: objectives.UPAUCILoss(0.3)(SCORES * nan, LABELS), ("finite",)),
    ("loss: labels -1", lambda: objectives.PAUCILoss(0.3)(SCORES, LABELS * 2 - 1), ("-1", "target > 0")),
    ("loss: lengths", lambda: objectives.PAUCILoss(0.3)(SCORES, LABELS[:2]), ("(3,)", "(2,)")),
    ("loss: matrix", lambda: objectives.PAUCILoss(0.3)(SCORES[:, None], LABELS[:, None]), ("(3, 1)",)),
    ("loss: integers", lambda: objectives.PAUCILoss(0.3)(LABELS, LABELS), ("int64",)),
    ("loss: no index", lambda: objectives.SOPALoss(0.3, train_size=3)(SCORES, LABELS), ("index",)),
    (
        "loss: index -1",
        lambda: objectives.SOPALoss(0.3, train_size=3)(SCORES, LABELS, torch.tensor([-1, 0, 1])),
        ("index", "-1"),
    ),
    (
        "loss: index beyond",
        lambda: objectives.SOPALoss(0.3, train_size=3)(SCORES, LABELS, torch.tensor([0, 1, 3])),
        ("index", "3"),
    ),
    ("backbone: not a module", lambda: CE(backbone="resnet18"), ("backbone", "resnet18")),
    ("backbone: a class", lambda: CE(backbone=MLPScorer), ("backbone", "MLPScorer")),
    ("backbone: no parameters", lambda: trained((X[:, :1], Y), nn.Flatten()), ("backbone", "Flatten")),
    ("backbone: two outputs", lambda: trained((X, Y), TwoOutputs()), ("TwoOutputs", "tuple")),
    ("backbone: many logits", lambda: trained((X, Y), nn.Linear(3, 5)), ("Linear", "(4, 5)")),
    ("batch: dict", lambda: trained({"x": X, "y": Y}), ("dict", "(input, label, index)")),
    ("batch: four", lambda: trained((X, Y, Y, Y)), ("4", "(input, label, index)")),
    ("batch: labels -1", lambda: trained((X, Y * 2 - 1)), ("-1",)),
    ("batch: labels 0.5", lambda: trained((X, Y * 0.5)), ("0.5",)),
    ("checkpoint: missing", lambda: read_checkpoint("nothing.ckpt"), ("nothing.ckpt", "no such file")),
    ("data: unknown class", lambda: DigitsLT((11,)).split, ("positive_classes", "11")),
    ("data: all classes", lambda: DigitsLT(tuple(range(10))).split, ("positive_classes",)),
    ("data: class name", lambda: DigitsLT(["three"]).split, ("positive_classes", "three")),  # type: ignore[list-item]
    ("data: no class", lambda: DigitsLT(()).split, ("positive_classes",)),
    ("data: shapes", lambda: GaussianLT(means=((0.0,), (1.0,)), stds=((1.0, 1.0),) * 2), ("means", "stds")),
    ("data: split file", lambda: DigitsLT(split_file="nothing.json").split, ("split_file", "nothing.json")),
    ("sampler: one class", lambda: stratified(labels=[0, 0]), ("positives",)),
    ("sampler: rank", lambda: stratified(num_replicas=2, rank=2), ("rank", "2")),
)


@pytest.mark.parametrize(
    ("call", "words"), [pytest.param(call, words, id=name) for name, call, words in CALLS]
)
def test_a_bad_call_is_explained(call: Callable[[], Any], words: tuple[str, ...]) -> None:
    with pytest.raises(InputError) as caught:
        call()
    check_sentence(str(caught.value), words)


@pytest.mark.parametrize(("package", "extra"), [("timm", "timm"), ("pandas", "tabular")])
def test_a_missing_package_is_named(package: str, extra: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from pauc_lightning.data import TabularLT

    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(InputError) as caught:
        TimmModel("resnet18") if package == "timm" else TabularLT(__file__, "y").source
    check_sentence(str(caught.value), [package, f"pip install 'pauc-lightning[{extra}]'"])
