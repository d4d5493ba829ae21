"""What every objective refuses, and that its state and variables are untouched when it does."""

from __future__ import annotations

import copy
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from pauc_lightning.errors import InputError
from pauc_lightning.objectives import (
    AGDSBCDLoss,
    AUCExpLoss,
    AUCMLoss,
    AUCPolyLoss,
    CELoss,
    MBLoss,
    PAUCILoss,
    SOPALoss,
    SOPASLoss,
    UPAUCILoss,
)

SIZE = 6
SCORES, TARGET, INDEX = (
    torch.tensor([0.9, 0.4, 0.6, 0.1]),
    torch.tensor([1, 1, 0, 0]),
    torch.tensor([5, 0, 2, 3]),
)

OBJECTIVES: dict[str, Callable[[], nn.Module]] = {
    "pauci": lambda: PAUCILoss(0.5, 0.5),
    "upauci": lambda: UPAUCILoss(0.5),
    "upauci-ascent": lambda: UPAUCILoss(0.5, 0.5, weights="ascent", train_size=SIZE),
    "auc-m": lambda: AUCMLoss(),
    "ce": lambda: CELoss(),
    "mb": lambda: MBLoss(0.5),
    "sopa": lambda: SOPALoss(0.5, train_size=SIZE),
    "sopa-two-way": lambda: SOPALoss(0.5, 0.5, train_size=SIZE),
    "sopa-s": lambda: SOPASLoss(train_size=SIZE),
    "sota-s": lambda: SOPASLoss(min_tpr=0.5, train_size=SIZE),
    "agd-sbcd": lambda: AGDSBCDLoss(0.5, train_size=SIZE, first_loop=2),
    "auc-poly": lambda: AUCPolyLoss(min_tpr=0.5),
    "auc-exp": lambda: AUCExpLoss(),
}
LOGISTIC: dict[str, Callable[[], nn.Module]] = {
    "ce": lambda: CELoss(),
    "mb": lambda: MBLoss(0.5, surrogate="logistic"),
    "sopa": lambda: SOPALoss(0.5, 0.5, train_size=SIZE, surrogate="logistic"),
    "sota-s": lambda: SOPASLoss(min_tpr=0.5, train_size=SIZE, surrogate="logistic"),
    "agd-sbcd": lambda: AGDSBCDLoss(0.5, train_size=SIZE, first_loop=2, surrogate="logistic"),
}
PER_INSTANCE = ("upauci-ascent", "sopa", "sopa-two-way", "sopa-s", "sota-s", "agd-sbcd")


def visit(objective: nn.Module, scores: Tensor, target: Tensor = TARGET, index: Tensor = INDEX) -> None:
    """What a training step does with a batch."""
    if isinstance(objective, UPAUCILoss) and objective.c is not None:
        objective.ascend_(scores, target, index)
    objective(scores, target, index)


def visited(name: str, objectives: dict[str, Callable[[], nn.Module]] = OBJECTIVES) -> nn.Module:
    objective = objectives[name]()
    visit(objective, SCORES)
    return objective


def refuses(objective: nn.Module, message: str, *batch: Tensor) -> None:
    """The batch is refused with these words, and nothing in the objective has changed."""
    state, variables = copy.deepcopy(objective.state_dict()), getattr(objective, "_variables", None)
    with pytest.raises(InputError, match=message):
        visit(objective, *batch)
    with pytest.raises(InputError, match=message):
        objective(*batch[:2], *((batch[2],) if len(batch) > 2 else (INDEX,)))
    for key, value in objective.state_dict().items():
        assert torch.equal(value, state[key]), key
    assert getattr(objective, "_variables", None) is variables


@pytest.mark.parametrize("name", OBJECTIVES)
@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")], ids=str)
@pytest.mark.parametrize("position", [0, 3], ids=["positive", "negative"])
def test_one_score_that_is_not_finite_touches_nothing(name: str, value: float, position: int) -> None:
    scores = SCORES.clone()
    scores[position] = value
    refuses(visited(name), "`scores` must be finite, got 1 NaN or infinite values among 4", scores, TARGET)


@pytest.mark.parametrize("name", [name for name in OBJECTIVES if name != "ce"])
def test_logits_are_refused_where_the_loss_is_squared(name: str) -> None:
    logits = SCORES.logit()
    message = r"`scores` must be in \[0, 1\], got values from -2.19722 to 2.19722: pass .*scores.sigmoid\(\)"
    refuses(visited(name), message, logits, TARGET)
    refuses(
        visited(name),
        r"in \[0, 1\], got values from 0.1 to 1.0001",
        torch.tensor([1.0001, 0.4, 0.6, 0.1]),
        TARGET,
    )
    rounded = torch.tensor([1 + 1e-6, 0.4, 0.6, -1e-6])  # what a softmax may return
    visit(visited(name), rounded)


@pytest.mark.parametrize("name", LOGISTIC)
def test_the_logistic_loss_takes_logits_but_no_nan(name: str) -> None:
    objective = visited(name, LOGISTIC)
    visit(objective, SCORES.logit())
    refuses(objective, "must be finite", SCORES / 0, TARGET)


@pytest.mark.parametrize("name", OBJECTIVES)
@pytest.mark.parametrize(
    ("target", "values"),
    [
        (torch.tensor([1, 1, -1, -1]), r"\[-1.0\]"),
        (torch.tensor([1, 2, 0, 0]), r"\[2.0\]"),
        (torch.tensor([1, 0.5, 0, 0]), r"\[0.5\]"),
        (torch.tensor([1, float("nan"), 0, 0]), r"\[nan\]"),
        (torch.tensor([1, float("inf"), 0, 0]), r"\[inf\]"),
    ],
    ids=["minus-one", "two", "soft", "nan", "inf"],
)
def test_labels_other_than_0_and_1(name: str, target: Tensor, values: str) -> None:
    refuses(visited(name), f"`target` must hold labels 0 .* and 1 .*such as {values}", SCORES, target)


@pytest.mark.parametrize("name", OBJECTIVES)
def test_labels_of_any_type(name: str) -> None:
    losses = [
        OBJECTIVES[name]()(SCORES, TARGET.to(dtype), INDEX).item()
        for dtype in (torch.bool, torch.uint8, torch.int64, torch.float64, torch.bfloat16)
    ]
    assert len(set(losses)) == 1


@pytest.mark.parametrize("name", PER_INSTANCE)
@pytest.mark.parametrize("wrong", [-1, SIZE], ids=str)
@pytest.mark.parametrize("position", [0, 3], ids=["positive", "negative"])
def test_indices_outside_the_training_set(name: str, wrong: int, position: int) -> None:
    index = INDEX.clone()
    index[position] = wrong
    refuses(visited(name), rf"`index` must be in \[0, {SIZE}\), got values from", SCORES, TARGET, index)


@pytest.mark.parametrize("name", OBJECTIVES)
@pytest.mark.parametrize(
    "rows", [slice(0, 2), slice(2, 4), slice(0, 0)], ids=["positives", "negatives", "empty"]
)
def test_a_batch_may_lack_a_class_or_everything(name: str, rows: slice) -> None:
    objective = visited(name)
    scores = SCORES[rows].clone().requires_grad_()
    loss = objective(scores, TARGET[rows], INDEX[rows])
    loss.backward()
    assert torch.isfinite(loss)
    assert scores.grad is not None
    assert torch.isfinite(scores.grad).all()


@pytest.mark.parametrize("name", OBJECTIVES)
def test_shapes_and_types(name: str) -> None:
    objective = visited(name)
    for scores, target, message in (
        (SCORES[:, None], TARGET, r"got shapes \(4, 1\) and \(4,\)"),
        (SCORES, TARGET[:3], r"got shapes \(4,\) and \(3,\)"),
        (SCORES[0], TARGET[0], r"got shapes \(\) and \(\)"),
        (TARGET, TARGET, "`scores` must be floating-point numbers, got torch.int64"),
        (SCORES.tolist(), TARGET, "`scores` must be a tensor, got list"),
        (SCORES, TARGET.numpy(), "`target` must be a tensor, got ndarray"),
    ):
        with pytest.raises(InputError, match=message):
            objective(scores, target, INDEX)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: PAUCILoss(0.3, kappa=float("inf")), "`kappa` must be a finite number above 0, got inf"),
        (
            lambda: PAUCILoss(0.3, omega=float("nan")),
            "`omega` must be a finite number of at least 0, got nan",
        ),
        (lambda: PAUCILoss(0.3, prior=3), r"`prior` must be a finite number in \(0, 1\), got 3"),
        (lambda: PAUCILoss(0.3, gamma=float("nan")), "`gamma` must be a finite number, got nan"),
        (lambda: PAUCILoss(0.3, a="1"), "`a` must be a finite number, got '1'"),  # type: ignore[arg-type]
        (lambda: UPAUCILoss(0.3, c_step=float("inf")), "`c_step` must be a finite number above 0, got inf"),
        (lambda: UPAUCILoss(0.3, c=float("nan")), r"`c` must be a finite number in \[0, 1\], got nan"),
        (lambda: UPAUCILoss(0.3, train_size=2.5), "`train_size` must be a whole number"),  # type: ignore[arg-type]
        (lambda: AUCMLoss(prior=0.0), "`prior` must be a finite number in"),
        (lambda: AUCMLoss(alpha=float("nan")), "`alpha` must be a finite number, got nan"),
        (lambda: MBLoss(float("nan")), "`max_fpr`"),
        (lambda: MBLoss(0.3, surrogate=["squared"]), "`surrogate` must be one of squared, logistic"),  # type: ignore[arg-type]
        (
            lambda: SOPALoss(0.3, train_size=5, threshold_lr=-1),
            "`threshold_lr` must be a finite number of at least 0, got -1",
        ),
        (lambda: SOPALoss(0.3, train_size=5, outer_threshold_lr=float("nan")), "`outer_threshold_lr`"),
        (lambda: SOPALoss(0.3, train_size=5, dual_lr=-0.1), "`dual_lr`"),
        (lambda: SOPALoss(0.3, train_size=True), "`train_size` must be a whole number, at least 1, got True"),
        (lambda: SOPASLoss(train_size=5, tau=float("nan")), "`tau`"),
        (lambda: SOPASLoss(train_size=5, u_rate=0), "`u_rate`"),
        (lambda: SOPASLoss(min_tpr="no", train_size=5), "`min_tpr` is a rate in .0, 1., got 'no'"),  # type: ignore[arg-type]
        (lambda: AGDSBCDLoss(0.3, train_size=5, threshold_lr=-1), "`threshold_lr`"),
        (
            lambda: AGDSBCDLoss(0.3, train_size=5, first_loop=0),
            "`first_loop` must be a whole number, at least 1",
        ),
        (
            lambda: AGDSBCDLoss(0.3, train_size=None),
            "`train_size` must be the number of training samples, got None",
        ),
        (lambda: AUCPolyLoss(gamma=float("nan")), "`gamma` must be a finite number above 0, got nan"),
        (lambda: AUCExpLoss(gamma=-1), "`gamma` must be a finite number above 0, got -1"),
        (lambda: CELoss(1.5), "`max_fpr` is a rate"),
    ],
)
def test_every_setting_is_checked_by_its_name(make: Callable[[], nn.Module], message: str) -> None:
    with pytest.raises(InputError, match=message):
        make()
