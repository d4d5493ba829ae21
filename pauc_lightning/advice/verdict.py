"""One sentence from the evidence."""

from __future__ import annotations

import statistics
from dataclasses import dataclass, replace
from typing import Literal

from pauc_lightning.advice.evidence import Evidence

OVERFITTING_GAP = 0.1
"""A partial AUC on the training part that is larger by this than on the validation part is called overfitting."""


@dataclass(frozen=True)
class Verdict:
    """The advice.

    Args:
        kind: "corner": train for the corner; "overfits": get data or regularise first; "no_difference": keep
            cross-entropy, nothing else could be shown; "behind": cross-entropy is better; "too_little": no interval.
        sentence: The advice in words.
    """

    kind: Literal["corner", "overfits", "no_difference", "behind", "too_little"]
    sentence: str


def verdict(evidence: Evidence) -> Verdict:
    """Judge by the interval of the gain of the method that is best on the validation parts."""
    found = _by_the_interval(evidence)
    if evidence.is_tuned:
        return found
    some = "Nothing was tuned" if max(evidence.trials) == 1 else "On some splits nothing was tuned"
    return replace(found, sentence=f"{found.sentence} {some}, which may decide this: give more --minutes.")


def _by_the_interval(evidence: Evidence) -> Verdict:
    chosen, base = evidence.chosen, evidence.baseline
    interval = evidence.interval(chosen)
    gain = statistics.mean(evidence.gains(chosen))
    what = evidence.region.title
    if interval is None and evidence.n_splits > 1:
        return Verdict(
            "too_little",
            f"No advice: {chosen.method} gains {gain:+.4f} in {what} on each of the {evidence.n_splits} splits; with "
            "equal gains it is unknown how far others would differ. Test parts with more positives would tell.",
        )
    if interval is None:
        return Verdict(
            "too_little",
            f"No advice: {chosen.method} gains {gain:+.4f} in {what} on a single split, which says nothing about "
            "others. The other ones failed.",
        )
    over = "equally tuned cross-entropy" if evidence.is_tuned else "cross-entropy"
    measured = (
        f"{chosen.method} gains {gain:+.4f} in {what} over {over} (95 % interval {interval.low:+.4f} to "
        f"{interval.high:+.4f}, {evidence.n_splits} splits)"
    )
    if interval.low > 0:
        return Verdict("corner", f"Train for the corner: {measured}.")
    if interval.high < 0:
        return Verdict("behind", f"Keep cross-entropy, it is better here: {measured}.")
    if base.gap > OVERFITTING_GAP:
        return Verdict(
            "overfits",
            f"Get more data or regularise first: cross-entropy reaches {statistics.mean(base.train):.4f} on the "
            f"training parts but only {statistics.mean(base.validation):.4f} on the validation parts, and no gain was "
            f"shown: {measured}, which includes zero.",
        )
    return Verdict(
        "no_difference",
        f"Keep cross-entropy, as no gain was shown: {measured}, which includes zero; more --minutes, seeds or data may "
        "narrow it.",
    )
