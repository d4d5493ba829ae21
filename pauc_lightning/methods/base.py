"""What all methods share: backbone, warm-up, evaluation, and the only place where optimizers are stepped."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Literal, get_args

import torch
from lightning.pytorch import LightningModule
from lightning.pytorch.core.optimizer import LightningOptimizer
from lightning.pytorch.plugins import DoublePrecision
from lightning.pytorch.utilities import rank_zero_info
from torch import Tensor, nn
from torch.optim import SGD, Optimizer
from torch.utils.data import DataLoader, IterableDataset
from torchmetrics import Metric, MetricCollection

from pauc_lightning import distributed
from pauc_lightning.arguments import check_choice, check_integer, check_number, check_prior
from pauc_lightning.data.sample import Sample
from pauc_lightning.data.samplers import ShardedSampler
from pauc_lightning.errors import InputError
from pauc_lightning.methods import nonfinite
from pauc_lightning.methods.backbone import (
    check_backbone,
    check_shape,
    check_trainable,
    logits_of,
    materialize,
)
from pauc_lightning.methods.collapse import CollapseMonitor, Ranking
from pauc_lightning.methods.initial_weights import load_initial_weights
from pauc_lightning.methods.length import check_epochs, check_schedule_ends, check_steps, steps_in_total
from pauc_lightning.metrics import BinaryPartialAUC
from pauc_lightning.objectives.checks import values_are_checked
from pauc_lightning.optim import ASGDA
from pauc_lightning.region import Region
from pauc_lightning.rng import seeded

Schedule = Literal["constant", "cosine"]

PAPER_REGIONS = (
    Region(),
    Region(max_fpr=0.3),
    Region(max_fpr=0.5),
    Region(max_fpr=0.3, min_tpr=0.7),
    Region(max_fpr=0.5, min_tpr=0.5),
)


class PartialAUCModule(LightningModule):
    """A backbone trained for a corner of the ROC curve.

    A method is a subclass that sets ``self.objective`` (a module called as ``objective(scores, target, index,
    normalizer)``) and may override :meth:`configure_method_optimizer`, :meth:`compute_loss`, :meth:`before_loss`
    and :meth:`diagnostics`. Everything else, including every optimizer step, happens here.

    Args:
        backbone: Network that maps a batch of inputs to one logit per sample. Scores are its sigmoid.
        max_fpr: Largest false-positive rate of the region to optimise (the paper's beta).
        min_tpr: Smallest true-positive rate of the region to optimise (one minus the paper's alpha); 0 for one-way.
        regions: Regions reported in validation and test, besides the optimised one and the whole AUC; left out,
            the paper's four.
        warmup_epochs: Epochs of cross-entropy before the method itself starts.
        learning_rate: Step size of SGD, in the warm-up and in the methods that are trained by SGD.
        momentum: Momentum of SGD.
        weight_decay: L2 penalty on the backbone's weights.
        schedule: How the step sizes of the warm-up, and again those of the method, change while it lasts: "constant",
            or "cosine" from their full size down to zero.
        gradient_clip_norm: Largest norm of the gradient, in the warm-up too; null means no clipping.
        init_weights: Checkpoint of an earlier run whose backbone to start from, for example a finished warm-up.
        prior: Fraction of positives in the training batches. Filled in from the data by the command line.
        train_size: Number of training samples. Filled in from the data by the command line.
        input_shape: Shape of one input. Filled in from the data by the command line.
    """

    objective: nn.Module
    needs_index: bool = False
    """Whether the method keeps state per training sample, and so needs batches of (input, label, index)."""
    objective_initialized: Tensor

    def __init__(
        self,
        backbone: nn.Module,
        max_fpr: float = 0.3,
        min_tpr: float = 0.0,
        regions: list[Region] | None = None,
        warmup_epochs: int = 10,
        learning_rate: float = 0.01,
        momentum: float = 0.9,
        weight_decay: float = 1e-4,
        schedule: Schedule = "constant",
        gradient_clip_norm: float | None = None,
        init_weights: str | None = None,
        prior: float | None = None,
        train_size: int | None = None,
        input_shape: tuple[int, ...] | None = None,
    ) -> None:
        super().__init__()
        self.automatic_optimization = False
        if type(self) is PartialAUCModule:
            raise InputError("No method was named: add one, for example -c upauci.")
        # Modules and regions are objects, which a checkpoint that is safe to load does not hold.
        self.save_hyperparameters(ignore=["backbone", "regions"])
        self.region = Region(max_fpr=max_fpr, min_tpr=min_tpr)
        check_backbone(backbone)
        check_integer("warmup_epochs", warmup_epochs, at_least=0)
        for name, value in (("learning_rate", learning_rate), ("weight_decay", weight_decay)):
            check_number(name, value, at_least=0)
        check_number(
            "momentum", momentum, at_least=0, below=1, hint="from 1 on, SGD never forgets a gradient"
        )
        check_choice("schedule", schedule, get_args(Schedule))
        if gradient_clip_norm is not None:
            check_number("gradient_clip_norm", gradient_clip_norm, above=0, hint="write null for no clipping")
        check_prior(prior)
        if train_size is not None:
            check_integer("train_size", train_size, at_least=1, hint="it is the number of training samples")
        check_shape("input_shape", input_shape)
        _check_regions(regions)
        self.warmup_epochs = warmup_epochs
        self.learning_rate = learning_rate
        self.momentum = momentum
        self.weight_decay = weight_decay
        self.schedule = schedule
        self.gradient_clip_norm = gradient_clip_norm
        self.init_weights = init_weights
        self.prior = prior
        self.train_size = train_size
        self.backbone = materialize(backbone, input_shape)
        self.register_buffer("objective_initialized", torch.tensor(False))
        self.val_metrics = self._build_metrics(regions)
        self.test_metrics = self._build_metrics(regions)
        self._collapse_monitor = CollapseMonitor()
        self._last_scores = self._last_target = self._scores_at_hand = torch.empty(0)
        self._last_gradient_norm: Tensor | None = None
        self._is_objective_ready = False
        self._has_initial_weights = False
        self.register_load_state_dict_post_hook(_say_it_has_weights)  # type: ignore[no-untyped-call]

    # ------------------------------------------------------------------ what a method may override

    def configure_method_optimizer(self) -> Optimizer:
        """The optimizer after the warm-up; stepped once per batch with a closure."""
        return self._sgd(self.parameters_to_train())

    def compute_loss(self, scores: Tensor, target: Tensor, index: Tensor | None) -> Tensor:
        """The method's loss of one batch, a scalar. ``scores`` are sigmoid outputs of shape ``(B,)``."""
        loss: Tensor = self.objective(scores, target, index=index, normalizer=self._normalizer(target))
        return loss

    def before_loss(self, scores: Tensor, target: Tensor, index: Tensor | None) -> None:
        """Called once per batch with the detached scores, before the first evaluation of the loss."""

    def diagnostics(self) -> dict[str, Tensor]:
        """Values to log beside the loss, such as the objective's auxiliary variables."""
        return {}

    def suspicious_bounds(self) -> dict[str, Tensor]:
        """Which variables are at a bound where they should not stay, for the collapse warning."""
        return {}

    def initialize_objective(self, scores: Tensor, target: Tensor, index: Tensor) -> None:
        """Called once, when the warm-up is over, with the scores of the whole training set."""

    # ------------------------------------------------------------------ set-up

    def parameters_to_train(self) -> list[nn.Parameter]:
        """The backbone's parameters."""
        return [parameter for parameter in self.backbone.parameters() if parameter.requires_grad]

    def configure_optimizers(self) -> list[Optimizer]:
        """The warm-up's SGD (if there is a warm-up), then the method's optimizer."""
        warmup = [self._sgd(self.parameters_to_train())] if self.warmup_epochs > 0 else []
        return [*warmup, self.configure_method_optimizer()]

    def setup(self, stage: str) -> None:
        """Load initial weights, settle the prior, and keep per-instance state out of DDP's broadcast."""
        if self.init_weights is not None and not self._has_initial_weights and self.trainer.ckpt_path is None:
            self.load_backbone(self.init_weights)
            self._has_initial_weights = True
        if stage != "fit":
            return
        check_trainable(self.backbone)
        check_epochs(type(self).__name__, self.warmup_epochs, self.trainer)
        objective = getattr(self, "objective", None)
        prior = getattr(getattr(self.trainer, "datamodule", None), "prior", None)
        if objective is not None and prior is not None and hasattr(objective, "prior"):
            # The data module knows the number of processes only now, and a batch has a whole number of positives.
            objective.prior = prior
        # DDP would copy these buffers from rank 0 at every forward: O(training set) instead of O(batch).
        self._ddp_params_and_buffers_to_ignore = [
            f"objective.{name}" for name in getattr(objective, "per_instance_buffers", ())
        ]

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Become double before double weights are loaded: Lightning loads first, which rounds them to float32."""
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

    def load_backbone(self, path: str) -> None:
        """Load the backbone's weights from a checkpoint of any method."""
        load_initial_weights(self.backbone, path)

    def _sgd(self, parameters: list[nn.Parameter]) -> Optimizer:
        return SGD(parameters, lr=self.learning_rate, momentum=self.momentum, weight_decay=self.weight_decay)

    def _build_metrics(self, regions: list[Region] | None) -> MetricCollection:
        wanted = dict.fromkeys([Region(), self.region, *(PAPER_REGIONS if regions is None else regions)])
        metrics: dict[str, Metric | MetricCollection] = {  # the keys are module names, which have no dots
            region.name.replace(".", "_"): BinaryPartialAUC(region.max_fpr, region.min_tpr, region.min_fpr)
            for region in wanted
        }
        metrics["pauc"] = BinaryPartialAUC(self.region.max_fpr, self.region.min_tpr)
        # One group: the regions differ in what they compute, not in what they store.
        return MetricCollection(metrics, compute_groups=[list(metrics)])

    def reported_regions(self) -> list[Region]:
        """The regions whose partial AUC is logged in validation and test."""
        metrics = self.test_metrics.values(copy_state=False)
        return [metric.region for metric in metrics if isinstance(metric, BinaryPartialAUC)]

    # ------------------------------------------------------------------ training

    def forward(self, input: Tensor) -> Tensor:
        """Logits of shape ``(B,)``."""
        return logits_of(self.backbone, input)

    @property
    def is_warming_up(self) -> bool:
        """Whether the current epoch still trains cross-entropy."""
        return self.current_epoch < self.warmup_epochs

    @property
    def collapses(self) -> tuple[tuple[int, str], ...]:
        """The collapses that this fit has been warned of: the step, and what was seen there."""
        return tuple(self._collapse_monitor.found)

    def on_fit_start(self) -> None:
        """Forget what was known of an earlier fit."""
        self._collapse_monitor = CollapseMonitor()
        self._is_objective_ready = False

    def on_train_start(self) -> None:
        """Refuse a run that cannot do what was asked for, before its first step."""
        check_steps(type(self).__name__, self.warmup_epochs, self.trainer)
        if self.schedule == "cosine":
            check_schedule_ends(self.warmup_epochs, self.trainer)

    def training_step(self, batch: Any, batch_idx: int) -> None:
        """One optimizer step; ASGDA may evaluate the loss twice, on the same batch and the same noise."""
        if not self.is_warming_up and not self._is_objective_ready:
            self._prepare_objective()
        sample = self._as_sample(batch)
        self._check_training_sample(sample)
        optimizers = self.optimizers()
        optimizer = optimizers if isinstance(optimizers, LightningOptimizer) else optimizers[-1]
        evaluate = self._evaluate_method
        if self.is_warming_up:
            assert isinstance(optimizers, list)
            optimizer, evaluate = optimizers[0], self._evaluate_cross_entropy
        self._step(optimizer, evaluate, sample)

    def _step(
        self, optimizer: LightningOptimizer, evaluate: Callable[[Sample, bool], Tensor], sample: Sample
    ) -> None:
        """Step ``optimizer`` with a closure that can be evaluated as often as the optimizer likes."""
        self._anneal(optimizer.optimizer)
        evaluations = getattr(optimizer.optimizer, "evaluations_per_step", 1)
        seed_keys = (int(os.environ.get("PL_GLOBAL_SEED", "0")), self.global_step, self.global_rank)
        losses: list[Tensor] = []

        def closure() -> Tensor:
            is_first, is_last = not losses, len(losses) == evaluations - 1
            optimizer.zero_grad()
            torch.clear_autocast_cache()  # it may hold the weights as they were before the optimizer moved them
            with (
                seeded(*seed_keys, device=self.device),
                _batch_norm_statistics(self.backbone, update=is_last),
            ):
                loss = evaluate(sample, is_first)
                self.manual_backward(loss)
            parameters = [p for group in optimizer.param_groups for p in group["params"]]
            nonfinite.check_evaluation(loss, parameters if scaler is None else None)
            losses.append(loss.detach())
            return losses[-1]

        scaler = getattr(self.trainer.precision_plugin, "scaler", None)
        try:
            with nonfinite.buffers_kept(self.backbone):
                if isinstance(optimizer.optimizer, ASGDA) and scaler is not None:
                    self._step_in_halves(optimizer, scaler, closure, evaluations)
                else:
                    optimizer.step(closure=closure)
        except nonfinite.NotFinite as found:
            optimizer.zero_grad()
            raise nonfinite.stop(self, sample, self._scores_at_hand, found) from None
        self._log_training(losses[0])

    def _anneal(self, optimizer: Optimizer) -> None:
        """Set the step sizes of this batch: a function of its number alone, so that a resumed run has the same."""
        if self.schedule == "constant":
            return
        # an epoch may have infinitely many batches, of which 0 times is NaN
        warmup_steps = self.warmup_epochs and self.warmup_epochs * self.trainer.num_training_batches
        first, end = (0, warmup_steps) if self.is_warming_up else (warmup_steps, steps_in_total(self.trainer))
        factor = 0.5 * (1 + math.cos(math.pi * (self.global_step - first) / (end - first)))
        for group in optimizer.param_groups:
            group["lr"] = factor * group.setdefault("initial_lr", group["lr"])

    def _step_in_halves(
        self,
        optimizer: LightningOptimizer,
        scaler: torch.amp.GradScaler,
        closure: Callable[[], Tensor],
        evaluations: int,
    ) -> None:
        """One step of ASGDA with scaled gradients.

        A GradScaler does not pass the closure on to the optimizer: it evaluates once and steps if the gradients are
        finite. So the first half is done here, and `step()` completes the second.
        """
        asgda = optimizer.optimizer
        assert isinstance(asgda, ASGDA)
        if evaluations == 2:
            closure()
            if not self._unscale(asgda, scaler):
                optimizer.step(closure=lambda: None)  # sees the overflow, skips the step, lowers the scale
                return
            self.on_before_optimizer_step(asgda)
        asgda.move()
        try:
            optimizer.step(closure=closure)
        except BaseException:
            asgda.undo_move()
            raise

    @staticmethod
    def _unscale(optimizer: Optimizer, scaler: torch.amp.GradScaler) -> bool:
        """Divide the gradients by the loss scale; whether all of them are finite."""
        grads = [p.grad for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
        torch._foreach_div_(grads, scaler.get_scale())
        return bool(torch.stack(torch._foreach_norm(grads)).isfinite().all())

    def on_before_optimizer_step(self, optimizer: Optimizer) -> None:
        """Clip the gradient of the backbone, after each evaluation; its norm before that is logged."""
        if self.gradient_clip_norm is not None:
            self._last_gradient_norm = nn.utils.clip_grad_norm_(
                self.backbone.parameters(), self.gradient_clip_norm
            )

    def _evaluate_cross_entropy(self, sample: Sample, is_first: bool) -> Tensor:
        logits = self._checked_logits(sample)
        loss = nn.functional.binary_cross_entropy_with_logits(
            logits, sample.target.to(logits.dtype), reduction="sum"
        ) / self._normalizer(sample.target)
        self._last_scores, self._last_target = logits.detach().sigmoid(), sample.target
        # The objective's variables do not take part yet; DDP wants every parameter in the graph.
        unused = [parameter.sum() for parameter in self._objective_parameters()]
        return loss + 0.0 * torch.stack(unused).sum() if unused else loss

    def _evaluate_method(self, sample: Sample, is_first: bool) -> Tensor:
        scores = self._checked_logits(sample).sigmoid()
        with values_are_checked():
            if is_first:
                self._last_scores, self._last_target = scores.detach(), sample.target
                self.before_loss(self._last_scores, sample.target, sample.index)
            return self.compute_loss(scores, sample.target, sample.index)

    def _checked_logits(self, sample: Sample) -> Tensor:
        """The logits in float32 at least. A batch that must not reach the objective is refused on all ranks."""
        logits = _at_least_float32(self(sample.input))
        self._scores_at_hand = logits.detach().sigmoid()
        nonfinite.check_batch(logits, sample, self.train_size if self.needs_index else None)
        return logits

    def _objective_parameters(self) -> Iterator[nn.Parameter]:
        objective = getattr(self, "objective", None)
        return iter(()) if objective is None else objective.parameters()

    def _normalizer(self, target: Tensor) -> Tensor | float:
        """The ranks' mean batch size: dividing by it, averaged gradients equal those of the union batch."""
        if distributed.world_size() == 1:
            return float(len(target))
        return distributed.mean_across_ranks(torch.tensor(float(len(target)), device=target.device))

    def _log_training(self, loss: Tensor) -> None:
        self.log("train/loss", loss, prog_bar=True)
        if self.log_every_n_steps == 0 or self.global_step % self.log_every_n_steps != 0:
            return
        at_bound: dict[str, Tensor] = {}
        if self._last_gradient_norm is not None:
            self.log("train/gradient_norm", self._last_gradient_norm)
        if not self.is_warming_up:
            self.log_dict({f"train/{name}": value for name, value in self.diagnostics().items()})
            at_bound = self.suspicious_bounds()
        self._collapse_monitor.look(self.global_step, self._last_scores, self._last_target, at_bound)

    @property
    def log_every_n_steps(self) -> int:
        """How often the Trainer writes to its loggers."""
        return int(self.trainer.log_every_n_steps)  # type: ignore[attr-defined]

    def _as_sample(self, batch: Any) -> Sample:
        """The batch as (input, target, index), whatever tuple the user's loader made of it."""
        if isinstance(batch, Sample):
            sample = batch
        elif isinstance(batch, (tuple, list)) and len(batch) in (2, 3):
            sample = Sample(batch[0], batch[1], batch[2] if len(batch) == 3 else None)
        else:
            raise InputError(
                f"A batch must be (input, label, index) or (input, label), got {type(batch).__name__}"
                f"{f' of {len(batch)}' if isinstance(batch, (tuple, list)) else ''}: "
                "return such a tuple from your Dataset."
            )
        return sample

    def _check_training_sample(self, sample: Sample) -> None:
        if self.needs_index and sample.index is None:
            raise InputError(
                f"{type(self).__name__} keeps a weight for every training sample and needs to know which is which: "
                "return (input, label, index) from your Dataset, index being the argument of __getitem__."
            )
        if sample.target.shape != sample.input.shape[:1]:
            raise InputError(
                f"A batch must have one label per input, got labels of shape {tuple(sample.target.shape)} for inputs "
                f"of shape {tuple(sample.input.shape)}: return a number, not a vector, as the label."
            )

    def _prepare_objective(self) -> None:
        """Hand the objective the training set's scores, unless a checkpoint says that it has been done.

        Called by the method's first step, not when its epoch starts: Lightning does not tell a run that is resumed
        from the warm-up's last step of that start. Later steps do not look at the buffer: it may be on a device.
        """
        if not self.objective_initialized:
            self._initialize_objective()
            self.objective_initialized.fill_(True)
        self._is_objective_ready = True

    @torch.no_grad()
    def _initialize_objective(self) -> None:
        """Score the whole training set, each rank its share, and hand the union to the objective."""
        if type(self).initialize_objective is PartialAUCModule.initialize_objective:
            return
        loader = self.trainer.train_dataloader
        if not isinstance(loader, DataLoader) or isinstance(loader.dataset, IterableDataset):
            rank_zero_info(
                "The training data cannot be read twice: the objective keeps its default initialisation."
            )
            return
        rank_zero_info("Scoring the training set to initialise the objective's variables in closed form ...")
        shard = ShardedSampler(len(loader.dataset), distributed.world_size(), distributed.rank())  # type: ignore[arg-type]
        batches = DataLoader(
            loader.dataset,
            batch_size=1024,
            sampler=shard,
            collate_fn=loader.collate_fn,
            num_workers=loader.num_workers,
            generator=torch.Generator(),  # otherwise the pass would draw from the global generator
        )
        distributed.share_buffers(self.backbone)
        was_training = self.backbone.training
        self.backbone.eval()
        parts: list[tuple[Tensor, Tensor, Tensor]] = []
        for position, batch in enumerate(batches):
            batch = self.trainer.precision_plugin.convert_input(batch)
            self.trainer.validating = True  # data modules augment in training only
            sample = self._as_sample(self.trainer.strategy.batch_to_device(batch))
            self.trainer.training = True
            index = sample.index
            if index is None:  # without indices of the user's, any consistent numbering will do
                first = position * 1024
                index = torch.tensor(list(shard)[first : first + len(sample.target)], device=self.device)
            with self.trainer.precision_plugin.forward_context():
                scores = _at_least_float32(self(sample.input)).sigmoid()
            parts.append((scores, sample.target, index))
        self.backbone.train(was_training)
        scores, target, index = (distributed.gather(torch.cat(column)) for column in zip(*parts, strict=True))
        self._collapse_monitor.look_at_start(scores, target)
        self.initialize_objective(scores, target, index)

    # ------------------------------------------------------------------ evaluation

    def validation_step(self, batch: Any, batch_idx: int) -> dict[str, Tensor]:
        """Add a batch to the validation metrics; scores and labels go to the callbacks."""
        return self._evaluation_step(batch, self.val_metrics)

    def test_step(self, batch: Any, batch_idx: int) -> dict[str, Tensor]:
        """Add a batch to the test metrics; scores and labels go to the callbacks."""
        return self._evaluation_step(batch, self.test_metrics)

    def on_validation_start(self) -> None:
        """Make all ranks evaluate one model, and look for a collapse before the metrics refuse its scores."""
        distributed.share_buffers(self.backbone)
        if self.trainer.state.fn == "fit" and not self.trainer.sanity_checking:
            self._collapse_monitor.look(self.global_step, self._last_scores, self._last_target, {})

    def on_validation_epoch_end(self) -> None:
        """Log the validation metrics, and look for a collapse in them."""
        if not self.trainer.sanity_checking:
            self._log_metrics("val", self.val_metrics)
            if self.trainer.state.fn == "fit":
                self._collapse_monitor.look_at_validation(self.global_step, self._validated_ranking())

    def _validated_ranking(self) -> Ranking:
        """The whole AUC of the validation part; ranks have equal shares of it, one sample more or less."""
        metric = dict(self.val_metrics.items(copy_state=False))[Region().name]
        assert isinstance(metric, BinaryPartialAUC)
        labels = torch.cat(metric.labels)
        n_pos = int(labels.sum())
        n_ranks = distributed.world_size()
        return Ranking(float(metric.compute()), n_pos * n_ranks, (len(labels) - n_pos) * n_ranks)

    def on_test_epoch_end(self) -> None:
        """Log the test metrics."""
        self._log_metrics("test", self.test_metrics)

    def _log_metrics(self, part: str, metrics: MetricCollection) -> None:
        # The objects, not their values: Lightning then computes them over all ranks and resets them.
        for key, metric in metrics.items(copy_state=False):
            assert isinstance(metric, BinaryPartialAUC)
            name = key if key == "pauc" else metric.region.name
            self.log(f"{part}/{name}", metric, prog_bar=key == "pauc")

    def predict_step(self, batch: Any, batch_idx: int) -> dict[str, Tensor | None]:
        """Index, label and score of every sample of the batch."""
        sample = self._as_sample(batch)
        return {"index": sample.index, "label": sample.target, "score": self._evaluation_scores(sample)}

    def _evaluation_scores(self, sample: Sample) -> Tensor:
        logits = self(sample.input)
        # In float32 the sigmoid is exactly 1 from a logit of 17 on, which would tie the best-separated samples.
        wide = torch.float32 if logits.device.type == "mps" else torch.float64
        scores: Tensor = logits.to(wide).sigmoid()
        return scores

    def _evaluation_step(self, batch: Any, metrics: MetricCollection) -> dict[str, Tensor]:
        sample = self._as_sample(batch)
        scores = self._evaluation_scores(sample)
        if not self.trainer.sanity_checking:  # the few batches of a sanity check need not hold both classes
            metrics.update(scores, sample.target)
        return {"scores": scores, "target": sample.target}


def _say_it_has_weights(module: nn.Module, _: object) -> None:
    """After the module's own weights have been loaded, `init_weights` must not take their place.

    They come from a checkpoint, or from the processes that trained the module. Not a method: a module is pickled.
    """
    assert isinstance(module, PartialAUCModule)
    module._has_initial_weights = True


def _check_regions(regions: Any) -> None:
    """Refuse what is not a list of regions."""
    if regions is not None and (
        not isinstance(regions, (list, tuple)) or not all(isinstance(region, Region) for region in regions)
    ):
        raise InputError(
            f"`regions` must be a list of regions, got {regions!r}: write for example [Region(max_fpr=0.1)]."
        )


def _at_least_float32(logits: Tensor) -> Tensor:
    return logits.float() if logits.dtype in (torch.float16, torch.bfloat16) else logits


@contextmanager
def _batch_norm_statistics(module: nn.Module, update: bool) -> Iterator[None]:
    """Normalise with the batch's statistics, but leave the running ones alone unless ``update``."""
    layers = [
        layer
        for layer in module.modules()
        if isinstance(layer, nn.modules.batchnorm._BatchNorm) and layer.track_running_stats
    ]
    for layer in layers:
        layer.track_running_stats = update
    try:
        yield
    finally:
        for layer in layers:
            layer.track_running_stats = True
