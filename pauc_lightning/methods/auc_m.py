"""AUC-M: the minimax form of the whole AUC."""

from __future__ import annotations

from typing import Any

from pauc_lightning.arguments import check_flag
from pauc_lightning.methods.base import PartialAUCModule
from pauc_lightning.objectives import AUCMLoss


class AUCM(PartialAUCModule):
    """The minimax form of the whole AUC, trained by stochastic descent-ascent.

    The region only selects the model and the reports. Reference: Ying, Wen and Lyu, NeurIPS 2016,
    https://papers.nips.cc/paper/6065-stochastic-online-auc-maximization.

    Args:
        closed_form_start: Whether a, b and alpha start at their optimum for the scores after the warm-up, rather
            than at 0.
        kwargs: See the arguments shared by all methods.
    """

    def __init__(self, *, closed_form_start: bool = True, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        check_flag("closed_form_start", closed_form_start)
        self.closed_form_start = closed_form_start
        self.objective = AUCMLoss(self.train_region.max_fpr, self.train_region.min_tpr, prior=self.prior)
