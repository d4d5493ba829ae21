"""The partial AUC with its confidence interval as a torchmetrics metric."""

from __future__ import annotations

from typing import Any, get_args

from torch import Tensor

from pauc_lightning.arguments import check_choice, check_integer, check_number
from pauc_lightning.metrics.functional.intervals import IntervalMethod, partial_auc_interval
from pauc_lightning.metrics.score_metric import ScoreMetric, as_scalars
from pauc_lightning.region import Region


class BinaryPartialAUCInterval(ScoreMetric):
    """The partial AUC and its confidence interval, over all samples seen since the last reset, on all ranks.

    As output of ``compute`` and ``forward`` it returns a dictionary of scalars: ``value``, equal to that of
    :class:`BinaryPartialAUC`, the interval's ends ``low`` and ``high``, and the ``standard_error``. In Lightning, use
    ``self.log_dict(metric.compute())`` at the end of an epoch, and call ``metric.reset()``.

    Args:
        max_fpr: Largest false-positive rate that counts.
        min_tpr: Smallest true-positive rate that counts.
        min_fpr: Smallest false-positive rate that counts.
        confidence: Probability with which the interval covers the true value.
        method: ``"analytic"``, which is instantaneous, or ``"bootstrap"``; see
            :func:`~pauc_lightning.metrics.functional.partial_auc_interval`.
        n_resamples: Number of resamples of the bootstrap.
        seed: Seed of the bootstrap, so that all ranks draw the same.
        validate_args: Whether ``update`` checks that labels are 0 or 1 and scores are finite; on a GPU this waits for
            the device.
        kwargs: Arguments of :class:`torchmetrics.Metric`.

    Example:
        >>> metric = BinaryPartialAUCInterval(max_fpr=0.5)
        >>> metric.update([0.9, 0.8, 0.7], [1, 0, 1])
        >>> metric.update([0.6, 0.5, 0.4], [0, 0, 0])
        >>> {name: round(number.item(), 3) for name, number in metric.compute().items()}
        {'value': 0.75, 'low': 0.069, 'high': 0.992, 'standard_error': 0.354}
    """

    def __init__(
        self,
        max_fpr: float = 1.0,
        min_tpr: float = 0.0,
        min_fpr: float = 0.0,
        confidence: float = 0.95,
        method: IntervalMethod = "analytic",
        n_resamples: int = 2000,
        seed: int = 0,
        validate_args: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(None, validate_args, **kwargs)
        self.region = Region(max_fpr, min_tpr, min_fpr)
        check_number("confidence", confidence, above=0, below=1, hint="95 % is 0.95")
        check_choice("method", method, get_args(IntervalMethod))
        check_integer("n_resamples", n_resamples, at_least=100)
        check_integer("seed", seed, at_least=0)
        self.confidence = confidence
        self.method = method
        self.n_resamples = n_resamples
        self.seed = seed

    def compute(self) -> dict[str, Tensor]:
        """Compute the value and the interval of everything seen, on all ranks together.

        Raises:
            InputError: With fewer than two samples of a class, or if the region selects none.
        """
        scores, labels = self._samples()
        interval = partial_auc_interval(
            scores,
            labels,
            self.region.max_fpr,
            self.region.min_tpr,
            self.region.min_fpr,
            confidence=self.confidence,
            method=self.method,
            n_resamples=self.n_resamples,
            seed=self.seed,
        )
        return as_scalars(interval, scores.device)
