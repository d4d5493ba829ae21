"""AUC-M: the minimax form of the whole AUC."""

from __future__ import annotations

from typing import Any

from torch import Tensor
from torch.optim import SGD, Optimizer

from pauc_lightning.arguments import check_flag
from pauc_lightning.methods.base import PartialAUCModule
from pauc_lightning.methods.nonfinite import check_training_scores
from pauc_lightning.objectives import AUCMLoss


class AUCM(PartialAUCModule):
    """The instance-wise minimax objective of the whole AUC (Ying et al. 2016), trained by stochastic descent-ascent.

    The region only selects the model and the reports.

    Args:
        closed_form_start: Whether a, b and alpha start at their optimum for the scores after the warm-up, rather
            than at 0.
        kwargs: See the arguments shared by all methods.
    """

    objective: AUCMLoss

    def __init__(self, *, closed_form_start: bool = True, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        check_flag("closed_form_start", closed_form_start)
        self.closed_form_start = closed_form_start
        self.objective = AUCMLoss(prior=self.prior)

    def configure_method_optimizer(self) -> Optimizer:
        """SGD that descends on the backbone, a and b and ascends on alpha; only the backbone decays."""
        return SGD(
            [
                {"params": self.parameters_to_train(), "weight_decay": self.weight_decay},
                *self.objective.param_groups(),
            ],
            lr=self.learning_rate,
            momentum=self.momentum,
        )

    def initialize_objective(self, scores: Tensor, target: Tensor, index: Tensor) -> None:
        """Start a, b and alpha at their optimum for the warm-up's scores."""
        if self.closed_form_start:
            check_training_scores(scores, index)
            self.objective.initialize_(scores, target)

    def diagnostics(self) -> dict[str, Tensor]:
        """The objective's variables."""
        return self.objective.variables()
