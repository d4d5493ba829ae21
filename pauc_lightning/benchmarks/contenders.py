"""The losses that `pauc benchmark loss` times: this project's, LibAUC's and XCurve's."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module, metadata
from importlib.util import find_spec
from typing import Any, Literal, TypeAlias

import torch
from torch import Tensor
from torch.nn import functional as F

from pauc_lightning.objectives import (
    AGDSBCDLoss,
    AUCExpLoss,
    AUCMLoss,
    AUCPolyLoss,
    CELoss,
    HardCELoss,
    MBLoss,
    Objective,
    PartialAUCLoss,
    PAUCILoss,
    SOPALoss,
    SOPASLoss,
    UPAUCILoss,
)
from pauc_lightning.objectives.surrogate import AnySurrogateName
from pauc_lightning.region import Region

Loss = Callable[[Tensor, Tensor, Tensor], Tensor]
"""``(input, target, index) -> loss``; the input are scores, or logits if the loss's ``takes`` says so."""
Library: TypeAlias = Literal["here", "LibAUC", "LibAUC, patched", "XCurve"]
Pairs: TypeAlias = Literal["none", "blocks", "table"]

REFERENCE = "CE"
LIBRARIES: tuple[Library, ...] = ("here", "LibAUC", "LibAUC, patched", "XCurve")
_PACKAGES = {"libauc": ("LibAUC", "libauc==2.0.1"), "XCurve": ("XCurve", "xcurve==1.1.0")}
"""The modules of the other libraries, with their names and what pip calls them."""


@dataclass(frozen=True)
class Contender:
    """A loss to time.

    Args:
        name: Its name in the tables.
        method: The config of its method, by which the paper's times are found and libraries are compared.
        make: Makes the loss for this many instances.
        pairs: Whether it visits all pairs, and keeps a table of them in memory or works in blocks.
        library: Whose it is.
        is_drawn: Whether the figure shows it.
    """

    name: str
    method: str
    make: Callable[[int], Loss]
    pairs: Pairs = "none"
    library: Library = "here"
    is_drawn: bool = False


def contenders(region: Region, device: torch.device) -> list[Contender]:
    """The losses for a region, in the order of the tables; other libraries' if they are installed."""
    return [*_ours(region, device), *_libauc(region, device), *_xcurve(region, device)]


def versions() -> str:
    """A sentence that names the libraries measured, and how to install the missing ones."""
    present, missing = [f"torch {torch.__version__}"], []
    for module, (name, requirement) in _PACKAGES.items():
        if find_spec(module) is None:
            missing.append(requirement)
        else:
            present.append(f"{name} {metadata.version(name)}")
    advice = f". For more columns: pip install --no-deps {' '.join(missing)}" if missing else ""
    return f"{', '.join(present)}{advice}."


def _ours(region: Region, device: torch.device) -> Iterator[Contender]:
    fpr, tpr = region.max_fpr, region.min_tpr

    def on_device(make: Callable[[int], Objective]) -> Callable[[int], Loss]:
        return lambda n: make(n).to(device)

    def surrogate(name: AnySurrogateName) -> Callable[[int], Loss]:
        return on_device(lambda n: PartialAUCLoss(fpr, tpr, surrogate=name))

    yield Contender(REFERENCE, "ce", lambda n: lambda f, y, _: F.binary_cross_entropy(f, y), is_drawn=True)
    yield Contender("CE, logits", "ce", on_device(lambda n: CELoss()))
    yield Contender("AUC-M", "auc_m", on_device(lambda n: AUCMLoss(prior=0.5)), is_drawn=True)
    yield Contender("PAUCI", "pauci", on_device(lambda n: PAUCILoss(fpr, tpr, prior=0.5)), is_drawn=True)
    yield Contender(
        "PAUCI, multipliers",
        "pauci",
        on_device(lambda n: PAUCILoss(fpr, tpr, prior=0.5, constraint="lagrangian")),
    )
    yield Contender("UPAUCI", "upauci", on_device(lambda n: UPAUCILoss(fpr, tpr, prior=0.5)), is_drawn=True)
    yield Contender(
        "UPAUCI, stored c",
        "upauci_ascent",
        on_device(lambda n: UPAUCILoss(fpr, tpr, prior=0.5, weights="ascent", train_size=n)),
    )
    yield Contender("AUC-poly", "auc_poly", on_device(lambda n: AUCPolyLoss(fpr, tpr)), is_drawn=True)
    yield Contender("AUC-exp", "auc_exp", on_device(lambda n: AUCExpLoss(fpr, tpr)))
    yield Contender("HardCE", "hard_ce", on_device(lambda n: HardCELoss(fpr, tpr)))
    yield Contender("PartialAUC, squared", "partial_auc", surrogate("squared"))
    yield Contender("PartialAUC, exponential", "partial_auc", surrogate("exponential"))
    yield Contender("PartialAUC, hinge", "partial_auc", surrogate("hinge"))
    yield Contender("PartialAUC, squared hinge", "partial_auc", surrogate("squared_hinge"))
    yield Contender("PartialAUC, logistic", "partial_auc", surrogate("logistic"), pairs="blocks")
    yield Contender("PartialAUC, sigmoid", "partial_auc", surrogate("sigmoid"), pairs="blocks")
    yield Contender("MB", "mb", on_device(lambda n: MBLoss(fpr, tpr)), pairs="blocks", is_drawn=True)
    yield Contender(
        "SOPA", "sopa", on_device(lambda n: SOPALoss(fpr, tpr, train_size=n)), pairs="blocks", is_drawn=True
    )
    yield Contender(
        "SOPA-S", "sopa_s", on_device(lambda n: SOPASLoss(fpr, tpr, train_size=n)), pairs="blocks"
    )
    if not region.is_two_way:
        yield Contender(
            "AGD-SBCD", "agd_sbcd", on_device(lambda n: AGDSBCDLoss(fpr, train_size=n)), pairs="blocks"
        )


# ---------------------------------------------------------------------- other libraries


def _libauc(region: Region, device: torch.device) -> Iterator[Contender]:
    """LibAUC's losses of the same methods, as shipped and with its slow sum replaced.

    They check for positives by Python's ``sum`` over a tensor, element by element, which takes longer than the loss.
    """
    if find_spec("libauc") is None:
        return
    auc: Any = import_module("libauc.losses.auc")
    where = {"device": device}
    makers: dict[str, tuple[str, Pairs, Callable[[int], Any]]] = {
        "AUC-M": ("auc_m", "none", lambda n: auc.AUCMLoss(**where))
    }
    if region.is_two_way:
        makers["SOPA-S"] = ("sopa_s", "table", lambda n: auc.tpAUC_KL_Loss(data_len=n, **where))
    else:
        makers["SOPA"] = (
            "sopa",
            "table",
            lambda n: auc.pAUC_CVaR_Loss(data_len=n, pos_len=n // 2, beta=region.beta, **where),
        )
        makers["SOPA-S"] = ("sopa_s", "table", lambda n: auc.pAUC_DRO_Loss(data_len=n, **where))
    for name, (method, pairs, make) in makers.items():
        variants: dict[Library, Callable[[Any], Loss]] = {
            "LibAUC": _as_shipped,
            "LibAUC, patched": _with_fast_sum(auc),
        }
        for library, adapt in variants.items():
            yield Contender(
                f"{name} ({library})",
                method,
                _adapted(make, adapt),
                pairs=pairs,
                library=library,
                is_drawn=name == "SOPA",
            )


def _adapted(make: Callable[[int], Any], adapt: Callable[[Any], Loss]) -> Callable[[int], Loss]:
    return lambda n: adapt(make(n))


def _as_shipped(loss: Any) -> Loss:
    return lambda f, y, index: loss(f[:, None], y[:, None], index=index)


def _with_fast_sum(module: Any) -> Callable[[Any], Loss]:
    """Let the library's calls of ``sum`` find torch's."""

    def adapt(loss: Any) -> Loss:
        def evaluate(f: Tensor, y: Tensor, index: Tensor) -> Tensor:
            module.sum = torch.sum
            try:
                value: Tensor = loss(f[:, None], y[:, None], index=index)
            finally:
                del module.sum
            return value

        return evaluate

    return adapt


def _xcurve(region: Region, device: torch.device) -> Iterator[Contender]:
    """XCurve's PAUCI, by the paper's authors. Their AUC-poly of version 1.1.0 cannot be constructed."""
    if find_spec("XCurve") is None:
        return
    partial: Any = import_module("XCurve.AUROC.losses.PartialAUROC")

    def make(n: int) -> Loss:
        alpha = region.alpha if region.is_two_way else 1  # 1 chooses the one-way loss
        loss = partial.UnbiasedPAUCLoss(alpha, region.beta, device)
        return lambda f, y, _: loss(f, y)

    yield Contender("PAUCI (XCurve)", "pauci", make, library="XCurve", is_drawn=True)
