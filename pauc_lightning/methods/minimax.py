"""The base class of PAUCI and UPAUCI, which train their objective's variables with ASGDA."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer

from pauc_lightning.arguments import check_flag, check_number
from pauc_lightning.data.sample import Sample
from pauc_lightning.errors import InputError
from pauc_lightning.methods.base import PartialAUCModule
from pauc_lightning.methods.defaults import default_of
from pauc_lightning.methods.schedule import Schedule
from pauc_lightning.methods.step_gauge import StepGauge
from pauc_lightning.methods.temperature import Auto
from pauc_lightning.objectives.minimax import BOXES, MinimaxObjective
from pauc_lightning.optim import ASGDA
from pauc_lightning.optim.asgda import ASCENT_FACTOR


class MinimaxMethod(PartialAUCModule):
    """A minimax objective trained by ASGDA after the warm-up.

    Args:
        descent_lr: Step size of the backbone; the paper's nu. Wide inputs, such as a thousand frozen features, need
            shorter steps. "auto" measures it on the first batches after the warm-up, such that a step of full length
            changes the score gaps between the region's positives and negatives by the share ``relative_step`` of
            their standard deviation.
        adaptive: Whether each weight's step is divided by the root of the mean square of its gradients, as in Adam, so
            that one ``descent_lr``, such as 0.01, fits inputs and networks of any width.
        relative_step: How far a step goes with ``descent_lr: auto``: larger for simple models and short runs, smaller
            for models that overfit.
        gradient_clip_norm: Largest norm of the backbone's gradient, in the warm-up too; null means no clipping. A
            network that has nearly fitted the training data has large gradients at the few selected instances, and
            a single step that is too long saturates all scores, from which training does not recover.
        variable_lr: Step size of a, b, s and s', which are on the scale of the scores; null means `descent_lr` if that
            is a number, and 0.5 otherwise.
        ascent_lr: Step size of gamma; the paper's lambda. null means a sixteenth of `variable_lr`: gamma must be
            slower than the thresholds, or they oscillate.
        k: Numerator of the mixing weight eta = k / (m + step)^(1/3).
        m: Offset of the step count in eta.
        iota_descent: How fast the estimators of the descent gradients forget; the paper's iota_1. They keep
            max(0, 1 - iota eta^2) of the past; large values disable variance reduction, as deep networks require.
        iota_ascent: How fast the estimators of the ascent gradients forget; the paper's iota_2.
        closed_form_start: Whether a, b, gamma, s and s' (and stored weights) start at their optimum for the
            scores after the warm-up, rather than at fixed values.
        initial: These fixed values where they differ from the loss's defaults, such as {a: 0.5, s_neg: 1}; the names
            are a, b, gamma, s_neg (the paper's s') and s_pos (s; two-way), and c for stored weights. Needs
            ``closed_form_start: false``.
        schedule: "constant", or "cosine": the step sizes fall from their full size to zero, once over the warm-up and
            once over the method.
        kwargs: See the arguments shared by all methods.
    """

    objective: MinimaxObjective

    def __init__(
        self,
        *,
        descent_lr: float | Auto = default_of(ASGDA, "lr"),
        adaptive: bool = default_of(ASGDA, "adaptive"),
        relative_step: float = 0.25,
        gradient_clip_norm: float | None = 1.0,
        variable_lr: float | None = default_of(ASGDA, "lr"),
        ascent_lr: float | None = default_of(ASGDA, "lr_ascent"),
        k: float = default_of(ASGDA, "k"),
        m: float = default_of(ASGDA, "m"),
        iota_descent: float = default_of(ASGDA, "iota_descent"),
        iota_ascent: float = default_of(ASGDA, "iota_ascent"),
        closed_form_start: bool = True,
        initial: dict[str, float] | None = None,
        schedule: Schedule = "cosine",
        **kwargs: Any,
    ) -> None:
        super().__init__(gradient_clip_norm=gradient_clip_norm, schedule=schedule, **kwargs)
        for name, value in (
            ("descent_lr", None if descent_lr == "auto" else descent_lr),
            ("variable_lr", variable_lr),
            ("ascent_lr", ascent_lr),
            ("iota_descent", iota_descent),
            ("iota_ascent", iota_ascent),
        ):
            if value is not None:
                check_number(name, value, at_least=0)
        for name, value in (("k", k), ("m", m), ("relative_step", relative_step)):
            check_number(name, value, above=0)
        check_flag("closed_form_start", closed_form_start)
        check_flag("adaptive", adaptive)
        if initial and closed_form_start:
            raise InputError(
                f"`initial={initial}` has no effect with `closed_form_start`, which computes all of them: add "
                "`closed_form_start: false`."
            )
        self.step_gauge = StepGauge(relative_step) if isinstance(descent_lr, str) else None
        self.descent_lr = 0.0 if isinstance(descent_lr, str) else descent_lr
        if variable_lr is None:
            variable_lr = default_of(ASGDA, "lr") if isinstance(descent_lr, str) else descent_lr
        self.variable_lr = float(variable_lr)
        self.ascent_lr = self.variable_lr * ASCENT_FACTOR if ascent_lr is None else ascent_lr
        self.adaptive = adaptive
        self.k = k
        self.m = m
        self.iota_descent = iota_descent
        self.iota_ascent = iota_ascent
        self.closed_form_start = closed_form_start
        self._initial = dict(initial or {})

    def initial_values(self, *more: str) -> dict[str, float]:
        """Return the initial values of the objective's variables that were given; a name that it lacks is refused.

        Args:
            more: Names of variables besides those that PAUCI and UPAUCI have in common.
        """
        known = ("a", "b", "gamma", "s_neg", "s_pos", *more)
        for name in self._initial:
            if name not in known:
                raise InputError(
                    f"`initial={self._initial}`: {name} is not a variable here. Name some of {', '.join(known)}."
                )
        return self._initial

    def configure_method_optimizer(self) -> Optimizer:
        """ASGDA on the backbone and the objective's variables; only the backbone decays."""
        return ASGDA(
            [
                {
                    "params": self.parameters_to_train(),
                    "weight_decay": self.weight_decay,
                    "adaptive": self.adaptive,
                },
                *self.objective.param_groups(lr=self.variable_lr, lr_ascent=self.ascent_lr),
            ],
            lr=self.descent_lr if self.step_gauge is None else self.step_gauge.step_size,
            k=self.k,
            m=self.m,
            iota_descent=self.iota_descent,
            iota_ascent=self.iota_ascent,
        )

    def after_step(self, sample: Sample, optimizer: Optimizer) -> None:
        """Measure the first batches; the schedule scales the new step size before the next step."""
        if self.step_gauge is not None and not self.step_gauge.is_done:
            self.step_gauge.measure(self, sample)
            network = optimizer.param_groups[0]
            network["lr"] = network["initial_lr"] = self.step_gauge.step_size

    def before_loss(self, scores: Tensor, target: Tensor, index: Tensor | None) -> None:
        """Remember the batch for the diagnostics."""
        self._last_batch = (scores, target, index)

    def diagnostics(self) -> dict[str, Tensor]:
        """The objective's variables, and the distribution of its selection weights c over the batch."""
        scores, target, index = self._last_batch
        c = self.objective.selection_weights(scores, target, index)
        classes = {
            "c_neg": c[target == 0],
            **({"c_pos": c[target == 1]} if self.train_region.is_two_way else {}),
        }
        distribution = {
            f"{name}_{label}": values.quantile(level)
            for name, values in classes.items()
            if len(values) > 0
            for label, level in (("q10", 0.1), ("median", 0.5), ("q90", 0.9))
        }
        means = {f"{name}_mean": values.mean() for name, values in classes.items() if len(values) > 0}
        step_size = {} if self.step_gauge is None else {"descent_lr": torch.tensor(self.step_gauge.step_size)}
        return {**self.objective.variables(), **means, **distribution, **step_size}

    def suspicious_bounds(self) -> dict[str, Tensor]:
        """Whether gamma (negatives outrank positives) or a threshold (it selects nothing) is at its upper bound."""
        variables = self.objective.variables()
        return {
            name: variables[name] >= BOXES[name][1] - 1e-6
            for name in ("gamma", "s_neg", "s_pos")
            if name in variables
        }
