"""Rows "best of": on each split the run, of several methods, that is best on the validation part."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from pauc_lightning.experiments.cells import Run
from pauc_lightning.experiments.outcome import Outcome

Members = Mapping[str, Sequence[str]]
"""The methods to choose from, by the label of the choice."""


def best_on_validation(values: Mapping[str, float | None]) -> str | None:
    """Choose the method with the largest value on the validation part; of equals, the first.

    Args:
        values: The value of each method; None if it is unknown.

    Returns:
        The method; None if any value is unknown, as that method might be the best.

    Example:
        >>> best_on_validation({"ce_late": 0.71, "ce_early": 0.74})
        'ce_early'
        >>> best_on_validation({"ce_late": 0.71, "ce_early": 0.71})
        'ce_late'
        >>> best_on_validation({"ce_late": 0.71, "ce_early": None}) is None
        True
    """
    known = {method: value for method, value in values.items() if value is not None}
    return max(known, key=known.__getitem__) if len(known) == len(values) else None


class BestOf:
    """Finds the runs that the rows "best of" stand for.

    A run of such a row, say of ``ce``, is not trained: it stands for the run of ``ce_late`` or of ``ce_early`` with the
    same data, backbone, region and seed.

    Args:
        members: The methods to choose from, by label.
        outcome: Returns the outcome of a trained run.
    """

    def __init__(self, members: Members, outcome: Callable[[Run], Outcome]) -> None:
        self._members = members
        self._outcome = outcome

    def run(self, run: Run) -> Run | None:
        """The trained run that a run stands for, which is itself if it was trained; None if none can be chosen."""
        if run.method not in self._members:
            return run
        found = self._candidates(run)
        chosen = best_on_validation(
            {method: None if one.value is None else one.validation for method, one in found.items()}
        )
        return None if chosen is None else replace(run, method=chosen)

    def extended(self, outcome: Callable[[Run], Outcome]) -> Callable[[Run], Outcome]:
        """Extend outcomes of trained runs, on whatever part, to the runs that stand for them."""

        def of(run: Run) -> Outcome:
            trained = self.run(run)
            if trained is None:
                return Outcome(no_choice=self._why_none(run))
            return outcome(run) if trained == run else replace(outcome(trained), chosen=trained.method)

        return of

    def _candidates(self, run: Run) -> dict[str, Outcome]:
        return {method: self._outcome(replace(run, method=method)) for method in self._members[run.method]}

    def _why_none(self, run: Run) -> str | None:
        """Why none can be chosen, in a sentence; None if runs are still to come."""
        found = self._candidates(run)
        failed = [method for method, one in found.items() if one.failure is not None]
        unknown = [
            method for method, one in found.items() if one.value is not None and one.validation is None
        ]
        said = [f"{listed(failed)} failed"] if failed else []
        if unknown:
            kept = "has" if len(unknown) == 1 else "have"
            said.append(f"{listed(unknown)} {kept} no recorded value on the validation part")
        return f"{', and '.join(said)}." if said else None


def explain(members: Members, outcomes: Callable[[str], Sequence[Outcome]]) -> Iterator[str]:
    """Say what the rows are, in a sentence for each, and how often each method was chosen, in one sentence.

    Args:
        members: The methods to choose from, by label.
        outcomes: Returns the outcomes of a label.

    Example:
        >>> found = [Outcome(0.5, chosen="ce_early"), Outcome(0.6, chosen="ce_early"), Outcome(0.7, chosen="ce_late")]
        >>> for sentence in explain({"ce": ["ce_late", "ce_early"]}, lambda label: found):
        ...     print(sentence)
        ce is on each split the one of ce_late and ce_early that is best on the validation part.
        ce was ce_late in 1 and ce_early in 2 of 3.
    """
    said = []
    for label, methods in members.items():
        yield f"{label} is on each split the one of {listed(methods)} that is best on the validation part."
        chosen = Counter(one.chosen for one in outcomes(label) if one.chosen)
        if chosen:
            counts = [f"{method} in {chosen[method]}" for method in methods]
            said.append(f"{label} was {listed(counts)} of {chosen.total()}")
    if said:
        yield f"{'; '.join(said)}."


def listed(words: Sequence[str]) -> str:
    """Write words as a list in a sentence.

    Example:
        >>> listed(["a"]), listed(["a", "b"]), listed(["a", "b", "c"])
        ('a', 'a and b', 'a, b and c')
    """
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))
