"""The base class of all methods: constructor, hooks and the training step."""

from __future__ import annotations

import inspect
from typing import Any, get_args

import torch
from lightning.pytorch.core.optimizer import LightningOptimizer
from lightning.pytorch.utilities import rank_zero_info
from torch import Tensor, nn
from torch.optim import Optimizer

from pauc_lightning import distributed
from pauc_lightning.arguments import check_choice, check_integer, check_number, check_prior
from pauc_lightning.data.sample import Sample
from pauc_lightning.errors import InputError
from pauc_lightning.methods import nonfinite
from pauc_lightning.methods.closed_form_start import TrainingScores, score_training_set
from pauc_lightning.methods.evaluation import EvaluatedModule
from pauc_lightning.methods.initial_weights import load_initial_weights
from pauc_lightning.methods.length import check_epochs, check_schedule_ends, check_steps
from pauc_lightning.methods.log_values import log_values
from pauc_lightning.methods.optimizers import build_optimizer, check_optimizer
from pauc_lightning.methods.ranking import Ranking
from pauc_lightning.methods.schedule import Schedule, set_step_sizes
from pauc_lightning.methods.stepping import Evaluation, Step
from pauc_lightning.methods.temperature import Auto, Score, check_temperature, fitting_temperature
from pauc_lightning.models.backbone import at_least_float32, check_trainable
from pauc_lightning.objectives import CELoss, Objective
from pauc_lightning.objectives.checks import values_are_checked
from pauc_lightning.region import Region


class PartialAUCModule(EvaluatedModule):
    """A backbone trained for a corner of the ROC curve.

    A method is a subclass that sets ``self.objective`` (an :class:`~pauc_lightning.objectives.Objective`) and may
    override :meth:`configure_method_optimizer`, :meth:`compute_loss`, :meth:`before_loss`,
    :meth:`initialize_objective` and :meth:`diagnostics`. The steps themselves are taken in
    :mod:`pauc_lightning.methods.stepping`.

    Args:
        backbone: Network that maps a batch of inputs to one logit per sample. Scores are its sigmoid.
        max_fpr: Largest false-positive rate of the region to optimise (the paper's beta).
        min_tpr: Smallest true-positive rate of the region to optimise (one minus the paper's alpha); 0 for one-way.
        train_max_fpr: Largest false-positive rate of the loss's own region, which may be wider than the one that
            selects the model and is reported; null means ``max_fpr``.
        train_min_tpr: Smallest true-positive rate of the loss's own region; null means ``min_tpr``.
        regions: Regions reported in validation and test, besides the optimised one and the whole AUC; null
            means the paper's four.
        warmup_epochs: Epochs of cross-entropy before the method itself starts.
        score: The score that the loss sees: "sigmoid" of the logit, or the "logit" itself, for losses that take any
            score, such as the logistic one. CE and HardCE always see the logit. Reported and saved scores are always
            the sigmoid.
        temperature: T of the sigmoid(logit / T) that the loss sees; "auto" chooses it once, after the warm-up, from the
            training set's logits, so that the sigmoid is not flat at the scores in the region. No effect on losses that
            see the logit, except PartialAUC's.
        ce_weight: Weight w of cross-entropy in the loss after the warm-up, (1 - w) loss + w cross-entropy; 1 is
            cross-entropy alone.
        optimizer: Class of torch.optim that trains the warm-up and then the method, such as AdamW; PAUCI, UPAUCI and
            AGDSBCD have optimizers of their own after the warm-up.
        optimizer_options: Options of the optimizer besides learning_rate, momentum and weight_decay, such as
            {betas: [0.9, 0.95]}.
        learning_rate: Step size of the optimizer, in the warm-up and in the methods without step sizes of their own.
        momentum: Momentum of SGD, and of other optimizers that have an option of this name.
        weight_decay: L2 penalty on the backbone's weights; AdamW and its like decay them apart from the gradient.
        schedule: "constant", or "cosine": the step sizes fall from their full size to zero, once over the warm-up and
            once over the method.
        gradient_clip_norm: Largest norm of the gradient, in the warm-up too; null means no clipping.
        init_weights: Checkpoint of an earlier run whose backbone to start from, for example a finished warm-up.
        prior: Fraction of positives in the training batches. Filled in from the data by the command line.
        train_size: Number of training samples. Filled in from the data by the command line.
        input_shape: Shape of one input. Filled in from the data by the command line.
    """

    objective: Objective
    closed_form_start: bool = False
    """Whether :meth:`initialize_objective` is called with the scores of the training set after the warm-up."""
    start_ranking: Ranking | None = None
    """The ranking of the training set at the closed-form start; None before it, or without one."""
    objective_initialized: Tensor
    """False until the method's first step: a checkpoint with False holds the warm-up or the initial weights."""
    auto_temperature: Tensor | None
    """The temperature that was chosen, if it is to be chosen."""
    train_region: Region
    """The loss's region; :attr:`region` selects the model and is reported."""
    temperature: float
    """T of the sigmoid that the objective sees."""

    def __init__(
        self,
        backbone: nn.Module,
        max_fpr: float = 0.3,
        min_tpr: float = 0.0,
        train_max_fpr: float | None = None,
        train_min_tpr: float | None = None,
        regions: list[Region] | None = None,
        warmup_epochs: int = 10,
        score: Score = "sigmoid",
        temperature: float | Auto = 1.0,
        ce_weight: float = 0.0,
        optimizer: str = "SGD",
        optimizer_options: dict[str, Any] | None = None,
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
        super().__init__(backbone, Region(max_fpr=max_fpr, min_tpr=min_tpr), regions, input_shape)
        self.automatic_optimization = False
        if type(self) is PartialAUCModule:
            raise InputError("No method was named: add one, for example -c upauci.")
        # Modules and regions are objects, which cannot be in a checkpoint that is safe to load.
        self.save_hyperparameters(ignore=["backbone", "regions"])
        check_integer("warmup_epochs", warmup_epochs, at_least=0)
        for name, value in (("learning_rate", learning_rate), ("weight_decay", weight_decay)):
            check_number(name, value, at_least=0)
        check_number(
            "momentum", momentum, at_least=0, below=1, hint="from 1 on, SGD never forgets a gradient"
        )
        check_choice("schedule", schedule, get_args(Schedule))
        if train_max_fpr is not None:
            check_number("train_max_fpr", train_max_fpr, above=0, at_most=1, hint="for 30 % write 0.3")
        if train_min_tpr is not None:
            check_number("train_min_tpr", train_min_tpr, at_least=0, below=1, hint="for 70 % write 0.7")
        check_choice("score", score, get_args(Score))
        check_temperature(temperature)
        check_number("ce_weight", ce_weight, at_least=0, at_most=1, hint="1 is cross-entropy alone")
        check_optimizer(optimizer, optimizer_options)
        if gradient_clip_norm is not None:
            check_number("gradient_clip_norm", gradient_clip_norm, above=0, hint="write null for no clipping")
        check_prior(prior)
        if train_size is not None:
            check_integer("train_size", train_size, at_least=1, hint="it is the number of training samples")
        self.train_region = Region(
            max_fpr if train_max_fpr is None else train_max_fpr,
            min_tpr if train_min_tpr is None else train_min_tpr,
        )
        self.warmup_epochs = warmup_epochs
        self.score = score
        self.temperature = 1.0 if isinstance(temperature, str) else float(temperature)
        self.ce_weight = ce_weight
        self.optimizer_name = optimizer
        self.optimizer_options = optimizer_options
        self.learning_rate = learning_rate
        self.momentum = momentum
        self.weight_decay = weight_decay
        self.schedule = schedule
        self.gradient_clip_norm = gradient_clip_norm
        self.init_weights = init_weights
        self.prior = prior
        self.train_size = train_size
        self._cross_entropy = CELoss()
        self.register_buffer("objective_initialized", torch.tensor(False))
        self.register_buffer("auto_temperature", torch.tensor(1.0) if temperature == "auto" else None)
        self._step: Step | None = None
        self._is_objective_ready = False
        self._has_initial_weights = False
        self.register_load_state_dict_post_hook(_mark_weights_as_loaded)  # type: ignore[no-untyped-call]

    # ------------------------------------------------------------------ hooks of methods

    def configure_method_optimizer(self) -> Optimizer:
        """Return the optimizer after the warm-up; it is stepped once per batch with a closure."""
        return self.build_optimizer([{"params": self.parameters_to_train()}, *self.objective.param_groups()])

    def compute_loss(self, scores: Tensor, target: Tensor, index: Tensor | None) -> Tensor:
        """Return the loss of one batch, a scalar; ``scores`` are the objective's input, shape ``(B,)``."""
        normalizer = None if self.objective.exchanges_scores else self._normalizer(target)
        loss: Tensor = self.objective(scores, target, index, normalizer)
        return loss

    def before_loss(self, scores: Tensor, target: Tensor, index: Tensor | None) -> None:
        """Called once per batch with the objective's input, detached, before the first evaluation of the loss."""

    def after_step(self, sample: Sample, optimizer: Optimizer) -> None:
        """Called after each of the method's steps, with the gradients of its last evaluation still in place."""

    def diagnostics(self) -> dict[str, Tensor]:
        """Return the values to log beside the loss: the objective's variables."""
        return self.objective.variables()

    def suspicious_bounds(self) -> dict[str, Tensor]:
        """Return, for the collapse warning, which variables are at a bound where they should not stay."""
        return {}

    def initialize_objective(self, scores: Tensor, target: Tensor, index: Tensor) -> None:
        """Called once, after the warm-up, with the objective's input for the training set, if ``closed_form_start``."""
        self.objective.initialize_(scores, target, index)

    # ------------------------------------------------------------------ set-up

    def parameters_to_train(self) -> list[nn.Parameter]:
        """Return the backbone's trainable parameters."""
        return [parameter for parameter in self.backbone.parameters() if parameter.requires_grad]

    def configure_optimizers(self) -> list[Optimizer]:
        """Return the warm-up's optimizer (if there is a warm-up) and the method's."""
        warmup = (
            [self.build_optimizer([{"params": self.parameters_to_train()}])] if self.warmup_epochs > 0 else []
        )
        return [*warmup, self.configure_method_optimizer()]

    def build_optimizer(self, groups: list[dict[str, Any]]) -> Optimizer:
        """Return the optimizer that ``optimizer`` names."""
        return build_optimizer(
            self.optimizer_name,
            self.optimizer_options,
            groups,
            lr=self.learning_rate,
            momentum=self.momentum,
            weight_decay=self.weight_decay,
        )

    def setup(self, stage: str) -> None:
        """Load initial weights, determine the prior, and keep per-instance state out of DDP's broadcast."""
        if self.init_weights is not None and not self._has_initial_weights and self.trainer.ckpt_path is None:
            self.load_backbone(self.init_weights)
            self._has_initial_weights = True
        if stage != "fit":
            return
        check_trainable(self.backbone)
        if self.score == "logit" and self.objective.needs_unit_scores:
            raise InputError(
                f"`score` must be sigmoid for {type(self).__name__}, whose loss needs scores in [0, 1], got 'logit': "
                "leave it out, or choose a loss that takes any score, such as MB with `surrogate: logistic`."
            )
        check_epochs(type(self).__name__, self.warmup_epochs, self.trainer)
        prior = getattr(getattr(self.trainer, "datamodule", None), "prior", None)
        if prior is not None:
            # The data module knows the number of processes only now, and a batch has a whole number of positives.
            self.objective.prior = prior
        # DDP would copy these buffers from rank 0 at every forward: O(training set) instead of O(batch).
        self._ddp_params_and_buffers_to_ignore = [
            f"objective.{name}" for name in self.objective.per_instance_buffers
        ]

    def load_backbone(self, path: str) -> None:
        """Load the backbone's weights from a checkpoint of any method."""
        load_initial_weights(self.backbone, path)

    # ------------------------------------------------------------------ training

    @property
    def is_warming_up(self) -> bool:
        """Whether the current epoch trains cross-entropy before the method starts."""
        return self.current_epoch < self.warmup_epochs

    def on_fit_start(self) -> None:
        """Forget an earlier fit."""
        self.start_ranking = None
        self._is_objective_ready = False

    def on_train_start(self) -> None:
        """Refuse settings that the length of the run makes impossible, before the first step."""
        check_steps(type(self).__name__, self.warmup_epochs, self.trainer)
        if self.schedule == "cosine":
            check_schedule_ends(self.warmup_epochs, self.trainer)

    def training_step(self, batch: Any, batch_idx: int) -> dict[str, Tensor]:
        """Take one optimizer step; the loss, scores and labels of the batch go to the callbacks."""
        if not self.is_warming_up and not self._is_objective_ready:
            self._prepare_objective()
        sample = Sample.from_batch(batch)
        if self.objective.needs_index and sample.index is None:
            raise InputError(
                f"{type(self).__name__} keeps a weight for every training sample and needs to know which is which: "
                "return (input, label, index) from your Dataset, index being the argument of __getitem__."
            )
        optimizers = self.optimizers()
        optimizer = optimizers if isinstance(optimizers, LightningOptimizer) else optimizers[-1]
        evaluate = self._evaluate_method
        if self.is_warming_up:
            assert isinstance(optimizers, list)
            optimizer, evaluate = optimizers[0], self._evaluate_cross_entropy
        set_step_sizes(optimizer.optimizer, self.schedule, self.warmup_epochs, self.trainer)
        self._step = step = Step(self, optimizer, evaluate, sample)
        try:
            step.take()
        finally:
            self._step = None  # it would keep the batch in memory
        if not self.is_warming_up:
            self.after_step(sample, optimizer.optimizer)
        self._log_training(step, batch_idx)
        return {"loss": step.loss, "scores": step.scores, "target": sample.target}

    # Lightning inspects the signature for every batch, which takes ten times as long as reading it here.
    training_step.__signature__ = inspect.signature(training_step)  # type: ignore[attr-defined]

    def on_before_optimizer_step(self, optimizer: Optimizer) -> None:
        """Stop at a loss or a gradient that is not finite, and clip the backbone's gradient, after each evaluation."""
        if self._step is not None:
            self._step.finish_evaluation()

    def _evaluate_cross_entropy(self, sample: Sample, is_first: bool) -> Evaluation:
        logits = self._checked_logits(sample)
        with values_are_checked():
            loss: Tensor = self._cross_entropy(
                logits, sample.target, normalizer=self._normalizer(sample.target)
            )
        # The objective's variables do not take part yet, but DDP wants every parameter in the graph.
        unused = [parameter.sum() for parameter in self.objective.parameters()]
        loss = loss + 0.0 * torch.stack(unused).sum() if unused else loss
        return Evaluation(loss, logits.detach().sigmoid())

    def _evaluate_method(self, sample: Sample, is_first: bool) -> Evaluation:
        logits = self._checked_logits(sample)
        with values_are_checked():
            outputs = self.objective_input(logits)
            if is_first:
                self.before_loss(outputs.detach(), sample.target, sample.index)
            loss = self.compute_loss(outputs, sample.target, sample.index)
            if self.ce_weight > 0:
                normalizer = self._normalizer(sample.target)
                cross_entropy: Tensor = self._cross_entropy(logits, sample.target, normalizer=normalizer)
                loss = (1 - self.ce_weight) * loss + self.ce_weight * cross_entropy
            return Evaluation(loss, logits.detach().sigmoid())

    def objective_input(self, logits: Tensor) -> Tensor:
        """Return the scores that the objective sees: the logits, or the sigmoid of logits / T."""
        if self.objective.takes == "logits" or self.score == "logit":
            return logits
        return (logits if self.temperature == 1 else logits / self.temperature).sigmoid()

    def _checked_logits(self, sample: Sample) -> Tensor:
        """Return the logits in float32 at least; a batch that must not reach the objective is refused on all ranks."""
        logits = at_least_float32(self(sample.input))
        nonfinite.check_batch(logits, sample, self.train_size if self.objective.needs_index else None)
        return logits

    def _normalizer(self, target: Tensor) -> Tensor | float:
        """Return the ranks' mean batch size: dividing by it makes averaged gradients those of the union batch."""
        if distributed.world_size() == 1:
            return float(len(target))
        return distributed.mean_across_ranks(torch.tensor(float(len(target)), device=target.device))

    def _log_training(self, step: Step, batch_idx: int) -> None:
        """Log when the loggers write; the loss also at the ends of an epoch, for the progress bar and for callbacks.

        Logging takes as long as a step of a small network, so it is not done at every step.
        """
        every: int = self.trainer.log_every_n_steps  # type: ignore[attr-defined]
        is_time = every > 0 and self.global_step % every == 0
        if is_time or batch_idx == 0 or self.trainer.is_last_batch:
            log_values(self, {"train/loss": step.loss}, prog_bar="train/loss")
        if not is_time:
            return
        if step.gradient_norm is not None:
            log_values(self, {"train/gradient_norm": step.gradient_norm})
        if not self.is_warming_up:
            log_values(self, {f"train/{name}": value for name, value in self.diagnostics().items()})

    def _prepare_objective(self) -> None:
        """Initialise the objective from the training set's scores, unless a checkpoint says that it has been done.

        Called by the method's first step, not at the start of its epoch: Lightning skips the hooks of that start in a
        run that is resumed from the warm-up's last step. Later steps do not read the buffer, which may be on a device.
        """
        if not self.objective_initialized:
            is_needed = self.closed_form_start or self.auto_temperature is not None
            scored = score_training_set(self) if is_needed else None
            if scored is not None:
                self._start_from(scored)
            self.objective_initialized.fill_(True)
        if self.auto_temperature is not None:
            self.temperature = float(self.auto_temperature)
        self._is_objective_ready = True

    @torch.no_grad()
    def _start_from(self, scored: TrainingScores) -> None:
        logits, target, index = scored
        nonfinite.check_training_scores(logits, index)
        self.start_ranking = Ranking.of(logits, target)
        if self.auto_temperature is not None:
            self.temperature = fitting_temperature(logits, target, self.train_region)
            self.auto_temperature.fill_(self.temperature)
            rank_zero_info(f"The objective sees the sigmoid of logits / {self.temperature:.3g}.")
        if self.closed_form_start:
            self.initialize_objective(self.objective_input(logits), target, index)


def _mark_weights_as_loaded(module: nn.Module, _: object) -> None:
    """Keep ``init_weights`` from replacing weights that come from a checkpoint or from the processes that trained.

    Not a method, because the module is pickled.
    """
    assert isinstance(module, PartialAUCModule)
    module._has_initial_weights = True
