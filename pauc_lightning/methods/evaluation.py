"""A network with its evaluation: scores, and the partial AUC of several regions in validation and test."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import torch
from lightning.pytorch import LightningModule
from lightning.pytorch.plugins import DoublePrecision
from torch import Tensor, nn
from torchmetrics import Metric, MetricCollection

from pauc_lightning import distributed
from pauc_lightning.data.base import LongTailDataModule
from pauc_lightning.data.sample import Sample
from pauc_lightning.errors import InputError
from pauc_lightning.methods.log_values import log_values
from pauc_lightning.methods.nonfinite import check_evaluated_scores
from pauc_lightning.methods.part_size import check_part
from pauc_lightning.metrics import BinaryPartialAUC, BinaryTPRAtFPR
from pauc_lightning.metrics.score_metric import ScoreMetric
from pauc_lightning.models.backbone import (
    check_backbone,
    check_shape,
    logits_of,
    materialize,
)
from pauc_lightning.region import Region

_TPR_AT_FPR = "tpr_at_fpr"

PAPER_REGIONS = (
    Region(),
    Region(max_fpr=0.3),
    Region(max_fpr=0.5),
    Region(max_fpr=0.3, min_tpr=0.7),
    Region(max_fpr=0.5, min_tpr=0.5),
)


class EvaluatedModule(LightningModule):
    """A backbone that is validated, tested and used for predictions; :class:`PartialAUCModule` trains it.

    Args:
        backbone: Network that maps a batch of inputs to one logit per sample.
        region: The optimised region, reported as ``pauc``, with the recall at its largest false-positive rate as
            ``tpr_at_fpr``.
        regions: Regions reported besides the optimised one and the whole AUC; None for the paper's four.
        input_shape: Shape of one input, for lazy layers.
    """

    is_validating_start: bool = False
    """Whether the validation is the one before the method's first step."""

    def __init__(
        self,
        backbone: nn.Module,
        region: Region,
        regions: list[Region] | None,
        input_shape: tuple[int, ...] | None,
    ) -> None:
        super().__init__()
        check_backbone(backbone)
        check_shape("input_shape", input_shape)
        _check_regions(regions)
        self.region = region
        self.backbone = materialize(backbone, input_shape)
        self.val_metrics = _build_metrics(region, regions)
        self.test_metrics = _build_metrics(region, regions)

    def __setattr__(self, name: str, value: Any) -> None:
        """Set an attribute; Lightning's name of the running hook without torch's search for parameters and modules.

        Lightning sets it about sixty times in a training step, which took a tenth of the step of a linear network.
        """
        if name == "_current_fx_name":
            self.__dict__[name] = value
        else:
            super().__setattr__(name, value)

    def forward(self, input: Tensor) -> Tensor:
        """Return logits of shape ``(B,)``."""
        return logits_of(self.backbone, input)

    def reported_regions(self) -> list[Region]:
        """Return the regions whose partial AUC is logged in validation and test, the optimised one also as pauc."""
        metrics = _named_metrics(self.test_metrics).values()
        return [metric.region for metric in metrics if isinstance(metric, BinaryPartialAUC)]

    # ------------------------------------------------------------------ validation, test, prediction

    def validation_step(self, batch: Any, batch_idx: int) -> dict[str, Tensor | None]:
        """Add a batch to the validation metrics; its scores, labels and indices go to the callbacks."""
        return self._evaluation_step(batch, self.val_metrics, "validation")

    def test_step(self, batch: Any, batch_idx: int) -> dict[str, Tensor | None]:
        """Add a batch to the test metrics; its scores, labels and indices go to the callbacks."""
        return self._evaluation_step(batch, self.test_metrics, "test")

    def predict_step(self, batch: Any, batch_idx: int) -> dict[str, Tensor | None]:
        """Return the index, label and score of every sample of the batch."""
        sample = Sample.from_batch(batch)
        scores = _evaluation_scores(self(sample.input))
        return {"index": sample.index, "label": sample.target, "score": scores}

    def on_validation_start(self) -> None:
        """Refuse a part that is too small for a region, and make all ranks evaluate the same model."""
        self._check_part("val")
        distributed.share_buffers(self.backbone)

    def on_test_start(self) -> None:
        """Refuse a part that is too small for a region."""
        self._check_part("test")

    def on_validation_epoch_end(self) -> None:
        """Log the validation metrics."""
        if not self.trainer.sanity_checking:
            self._log_metrics("val", self.val_metrics)
        if self.is_validating_start:
            self.log("epoch", float(self.current_epoch - 1))  # this one has not begun

    def on_test_epoch_end(self) -> None:
        """Log the test metrics."""
        self._log_metrics("test", self.test_metrics)

    def _evaluation_step(self, batch: Any, metrics: MetricCollection, part: str) -> dict[str, Tensor | None]:
        sample = Sample.from_batch(batch)
        scores = _evaluation_scores(self(sample.input))
        check_evaluated_scores(scores, sample, part)
        if not self.trainer.sanity_checking:  # the few batches of a sanity check need not hold both classes
            metrics.update(scores, sample.target)
        return {"scores": scores, "target": sample.target, "index": sample.index}

    def _check_part(self, part: Literal["val", "test"]) -> None:
        data = getattr(self.trainer, "datamodule", None)
        if isinstance(data, LongTailDataModule):
            targets = data.targets[getattr(data.split, part)]
            n_pos = int(targets.sum())
            others = [region for region in self.reported_regions() if region != self.region]
            check_part(part, n_pos, len(targets) - n_pos, self.region, others)

    def _log_metrics(self, part: str, metrics: MetricCollection) -> None:
        # The objects, not their values: Lightning then computes them over all ranks and resets them.
        named = {f"{part}/{name}": metric for name, metric in _named_metrics(metrics).items()}
        named[f"{part}/pauc"] = named[f"{part}/{self.region.name}"]  # one object, computed once
        log_values(self, dict(sorted(named.items())), prog_bar=f"{part}/pauc")

    # ------------------------------------------------------------------ checkpoints

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Convert to double before double weights are loaded; Lightning would first round them to float32."""
        if self._trainer is not None and isinstance(self.trainer.precision_plugin, DoublePrecision):
            self.double()

    def load_state_dict(self, state_dict: Mapping[str, Any], *args: Any, **kwargs: Any) -> Any:
        """Load all weights; those of another network or method are refused."""
        try:
            return super().load_state_dict(state_dict, *args, **kwargs)
        except RuntimeError as error:
            path = self._trainer.ckpt_path if self._trainer is not None else None
            reason = " ".join(str(error).split("\n\t")[-1].split())[:150]
            raise InputError(
                f"`{path or 'state_dict'}` does not fit {type(self).__name__} with the backbone "
                f"{type(self.backbone).__name__} ({reason}...): use the settings that it was made with, which are in "
                "its run's config.yaml."
            ) from error


def _build_metrics(region: Region, regions: list[Region] | None) -> MetricCollection:
    """Return a metric for the whole AUC, for the optimised region and each further one, and the recall at its edge."""
    wanted = dict.fromkeys([Region(), region, *(PAPER_REGIONS if regions is None else regions)])
    metrics: dict[str, Metric | MetricCollection] = {  # the keys are module names, which have no dots
        one.name.replace(".", "_"): BinaryPartialAUC(one.max_fpr, one.min_tpr, one.min_fpr) for one in wanted
    }
    metrics[_TPR_AT_FPR] = BinaryTPRAtFPR(region.max_fpr)
    # One group: they differ in what they compute, not in what they store.
    return MetricCollection(metrics, compute_groups=[list(metrics)])


def _named_metrics(metrics: MetricCollection) -> dict[str, ScoreMetric]:
    """Return the metrics by the names under which they are logged."""
    named: dict[str, ScoreMetric] = {}
    for _, metric in metrics.items(copy_state=False):
        assert isinstance(metric, ScoreMetric)
        named[metric.region.name if isinstance(metric, BinaryPartialAUC) else _TPR_AT_FPR] = metric
    return named


def _evaluation_scores(logits: Tensor) -> Tensor:
    """Return the sigmoid in float64: in float32 it is exactly 1 for logits above 17, which ties the best samples."""
    return logits.to(torch.float32 if logits.device.type == "mps" else torch.float64).sigmoid()


def _check_regions(regions: Any) -> None:
    """Refuse anything but None and a list of regions."""
    if regions is not None and (
        not isinstance(regions, (list, tuple)) or not all(isinstance(region, Region) for region in regions)
    ):
        raise InputError(
            f"`regions` must be a list of regions, got {regions!r}: write for example [Region(max_fpr=0.1)]."
        )
