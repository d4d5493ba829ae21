"""The recall at a false-positive budget with its confidence interval as a torchmetrics metric."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from pauc_lightning.arguments import check_integer, check_number
from pauc_lightning.metrics.functional.intervals import tpr_at_fpr_interval
from pauc_lightning.metrics.score_metric import ScoreMetric, as_scalars
from pauc_lightning.region import Region


class BinaryTPRAtFPRInterval(ScoreMetric):
    """The largest recall within a false-positive budget and its confidence interval, on all ranks.

    As output of ``compute`` and ``forward`` it returns a dictionary of scalars: ``value``, equal to that of
    :class:`BinaryTPRAtFPR`, the interval's ends ``low`` and ``high``, and the ``standard_error``. It resamples the
    data; see :func:`~pauc_lightning.metrics.functional.tpr_at_fpr_interval`.

    Args:
        max_fpr: The budget: the largest false-positive rate, in (0, 1].
        confidence: Probability with which the interval covers the true rate.
        n_resamples: Number of resamples.
        seed: Seed of the resampling, so that all ranks draw the same.
        validate_args: Whether ``update`` checks that labels are 0 or 1 and scores are finite; on a GPU this waits for
            the device.
        kwargs: Arguments of :class:`torchmetrics.Metric`.

    Example:
        >>> metric = BinaryTPRAtFPRInterval(max_fpr=0.5)
        >>> metric.update([0.9, 0.8, 0.7], [1, 0, 1])
        >>> metric.update([0.6, 0.5, 0.4], [0, 0, 0])
        >>> {name: round(number.item(), 2) for name, number in metric.compute().items()}
        {'value': 1.0, 'low': 0.34, 'high': 1.0, 'standard_error': 0.13}
    """

    def __init__(
        self,
        max_fpr: float,
        confidence: float = 0.95,
        n_resamples: int = 2000,
        seed: int = 0,
        validate_args: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(None, validate_args, **kwargs)
        self.max_fpr = Region(max_fpr).max_fpr
        check_number("confidence", confidence, above=0, below=1, hint="95 % is 0.95")
        check_integer("n_resamples", n_resamples, at_least=100)
        check_integer("seed", seed, at_least=0)
        self.confidence = confidence
        self.n_resamples = n_resamples
        self.seed = seed

    def compute(self) -> dict[str, Tensor]:
        """Compute the value and the interval of everything seen, on all ranks together.

        Raises:
            InputError: With fewer than two samples of a class.
        """
        scores, labels = self._samples()
        interval = tpr_at_fpr_interval(
            scores,
            labels,
            self.max_fpr,
            confidence=self.confidence,
            n_resamples=self.n_resamples,
            seed=self.seed,
        )
        return as_scalars(interval, scores.device)
