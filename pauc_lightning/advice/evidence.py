"""What the comparisons of all splits have measured."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from pauc_lightning.advice.options import EARLY
from pauc_lightning.experiments.cells import Run
from pauc_lightning.experiments.interval import TEST_OVER_TRAIN, Interval, corrected_interval
from pauc_lightning.experiments.plan import Plan
from pauc_lightning.experiments.report import Results
from pauc_lightning.experiments.tuned import Search
from pauc_lightning.region import Region
from pauc_lightning.tuning.directory import TuningDirectory


@dataclass(frozen=True)
class MethodEvidence:
    """The values of one method, one for each split.

    Args:
        method: The method.
        test: Partial AUC on the test part.
        train: Partial AUC on the training part.
        validation: Partial AUC on the validation part.
        tpr: True-positive rate on the test part at the region's largest false-positive rate.
    """

    method: str
    test: tuple[float, ...]
    train: tuple[float, ...]
    validation: tuple[float, ...]
    tpr: tuple[float, ...]

    @property
    def gap(self) -> float:
        """The mean partial AUC on the training part minus that on the validation part."""
        return statistics.mean(self.train) - statistics.mean(self.validation)


@dataclass(frozen=True)
class Evidence:
    """The values of all methods on the same splits.

    Args:
        region: The region.
        baseline: Cross-entropy.
        methods: The methods that train for the region.
        trials: For each split, the number of trials of every method's search; one means that nothing was tuned.
        test_over_train: The size of the test part over that of the training part.
        baselines: For each split, the label of the cross-entropy that is better on the validation part; empty if only
            one was trained.
    """

    region: Region
    baseline: MethodEvidence
    methods: tuple[MethodEvidence, ...]
    trials: tuple[int, ...]
    test_over_train: float = TEST_OVER_TRAIN
    baselines: tuple[str, ...] = ()

    @property
    def n_splits(self) -> int:
        """Number of splits."""
        return len(self.baseline.test)

    @property
    def is_tuned(self) -> bool:
        """Whether there was time for a search on every split: the first trial is the method as it is configured."""
        return min(self.trials) > 1

    @property
    def chosen(self) -> MethodEvidence:
        """The method that is best on the validation parts; the test parts must not choose it."""
        return max(self.methods, key=lambda of: statistics.mean(of.validation))

    def gains(self, of: MethodEvidence) -> list[float]:
        """The gain on the test part of each split."""
        return _differences(of.test, self.baseline.test)

    def interval(self, of: MethodEvidence) -> Interval | None:
        """The interval of the mean gain in partial AUC; None for a single split or equal gains."""
        return corrected_interval(self.gains(of), self.test_over_train)

    def tpr_interval(self, of: MethodEvidence) -> Interval | None:
        """The interval of the mean gain in true-positive rate; None for a single split or equal gains."""
        return corrected_interval(_differences(of.tpr, self.baseline.tpr), self.test_over_train)


def better_on_validation(
    name: str, candidates: Sequence[MethodEvidence]
) -> tuple[MethodEvidence, tuple[str, ...]]:
    """Take, on every split, the candidate that is better on the validation part; the test parts must not choose it.

    Args:
        name: What the chosen are called together.
        candidates: Methods with values for the same splits; of equals, the first is taken.

    Returns:
        The values of the chosen, and which method was chosen on each split.
    """
    splits = range(len(candidates[0].test))
    # Validation values are differences of others: equal ones may differ in their last bits.
    chosen = [max(candidates, key=lambda of: round(of.validation[split], 9)) for split in splits]
    both = list(zip(splits, chosen, strict=True))
    return (
        MethodEvidence(
            name,
            test=tuple(of.test[split] for split, of in both),
            train=tuple(of.train[split] for split, of in both),
            validation=tuple(of.validation[split] for split, of in both),
            tpr=tuple(of.tpr[split] for split, of in both),
        ),
        tuple(of.method for of in chosen),
    )


def collect(results: Results) -> Evidence | None:
    """Take the evidence from the results of a comparison; None unless the baseline and a method have a whole split.

    Splits count for which all methods have a value. A method that failed on all splits is left out. The baseline of a
    split is the better one, on the validation part, of cross-entropy from the warm-up and from its initial weights.
    """
    plan = results.plan
    (task,), (region,) = plan.tasks, plan.regions

    def is_known(method: str, seed: int) -> bool:
        run = Run(method, region, seed, task)
        return (
            results.outcomes[run].value is not None
            and run in results.curves
            and "gap" in results.on_training_part.get(run, {})
        )

    methods = [method for method in plan.methods if any(is_known(method, seed) for seed in plan.seeds)]
    seeds = [seed for seed in plan.seeds if all(is_known(method, seed) for method in methods)]
    baselines = [method for method in methods if method in (plan.baseline, EARLY)]
    others = [method for method in methods if method not in baselines]
    if not (baselines and others and seeds):
        return None

    def of(method: str) -> MethodEvidence:
        runs = [Run(method, region, seed, task) for seed in seeds]
        on_train = [results.on_training_part[run] for run in runs]
        return MethodEvidence(
            method,
            test=tuple(results.outcomes[run].value or 0.0 for run in runs),
            train=tuple(found["pauc"] for found in on_train),
            validation=tuple(found["pauc"] - found["gap"] for found in on_train),
            tpr=tuple(float(results.curves[run].tpr_at(region.max_fpr)) for run in runs),
        )

    baseline, chosen = better_on_validation(plan.baseline, [of(method) for method in baselines])
    return Evidence(
        region,
        baseline,
        tuple(of(method) for method in others),
        tuple(_trials(plan, Search(task, region, seed)) for seed in seeds),
        results.test_over_train.get(task, TEST_OVER_TRAIN),
        chosen if EARLY in plan.methods else (),
    )


def _trials(plan: Plan, search: Search) -> int:
    """The number of trials that every method had on a split."""
    directory = TuningDirectory(plan.out / search.folder)
    return min(len(directory.trials(method)) for method in plan.methods)


def _differences(values: Sequence[float], others: Sequence[float]) -> list[float]:
    return [value - other for value, other in zip(values, others, strict=True)]
