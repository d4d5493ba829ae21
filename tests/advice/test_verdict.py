"""The sentence follows from the numbers."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pauc_lightning.advice.evidence import Evidence, MethodEvidence, better_on_validation
from pauc_lightning.advice.verdict import verdict
from pauc_lightning.region import Region


def method(name: str, test: list[float], train: float = 0.7, validation: float = 0.7) -> MethodEvidence:
    n = len(test)
    return MethodEvidence(name, tuple(test), (train,) * n, (validation,) * n, tuple(test))


def evidence(ce: MethodEvidence, *others: MethodEvidence) -> Evidence:
    return Evidence(Region(0.05), ce, others, (5,) * len(ce.test), test_over_train=0.25)


def test_a_gain_whose_interval_excludes_zero_says_train_for_the_corner() -> None:
    # Gains .09, .10, .11: mean .1, s = .01, t(2) = 4.3027, half = 4.3027 * .01 * sqrt(1/3 + 1/4) = .03286.
    found = verdict(
        evidence(method("ce", [0.6, 0.6, 0.6]), method("upauci", [0.69, 0.70, 0.71], validation=0.8))
    )
    assert found.kind == "corner"
    assert found.sentence == (
        "Train for the corner: upauci gains +0.1000 in OPAUC (FPR ≤ 0.05) over equally tuned cross-entropy (95 % "
        "interval +0.0671 to +0.1329, 3 splits)."
    )


def test_a_gain_that_varies_more_than_it_is_large_is_no_gain() -> None:
    # The same mean, but s = .1: the interval includes zero.
    found = verdict(evidence(method("ce", [0.6, 0.6, 0.6]), method("upauci", [0.6, 0.7, 0.8])))
    assert found.kind == "no_difference"
    assert "which includes zero" in found.sentence


def test_no_gain_and_a_wide_gap_asks_for_data() -> None:
    found = verdict(
        evidence(
            method("ce", [0.3, 0.4, 0.3], train=0.95, validation=0.35), method("upauci", [0.35, 0.35, 0.3])
        )
    )
    assert found.kind == "overfits"
    assert (
        "cross-entropy reaches 0.9500 on the training parts but only 0.3500 on the validation"
        in found.sentence
    )


def test_equal_gains_on_all_splits_are_no_advice() -> None:
    found = verdict(evidence(method("ce", [0.6, 0.7, 0.8]), method("upauci", [0.7, 0.8, 0.9])))
    assert found.kind == "too_little"
    assert "upauci gains +0.1000 in OPAUC (FPR ≤ 0.05) on each of the 3 splits" in found.sentence
    assert "single split" not in found.sentence


def test_a_gain_counts_even_where_cross_entropy_overfits() -> None:
    ce = method("ce", [0.6, 0.6, 0.6], train=0.95, validation=0.6)
    assert verdict(evidence(ce, method("upauci", [0.69, 0.70, 0.71]))).kind == "corner"


def test_a_loss_is_said() -> None:
    found = verdict(evidence(method("ce", [0.6, 0.6, 0.6]), method("upauci", [0.51, 0.50, 0.49])))
    assert found.kind == "behind"
    assert "Keep cross-entropy, it is better here" in found.sentence


def test_the_method_is_chosen_on_validation_and_not_on_the_test_part() -> None:
    lucky = method("lucky", [0.9, 0.9, 0.9], validation=0.6)
    chosen = method("chosen", [0.6, 0.6, 0.61], validation=0.7)
    found = evidence(method("ce", [0.6, 0.6, 0.6]), lucky, chosen)
    assert found.chosen is chosen
    assert "chosen gains +0.0033" in verdict(found).sentence


def test_the_baseline_of_a_split_is_the_cross_entropy_that_is_better_on_its_validation_part() -> None:
    late = MethodEvidence("ce", (0.9, 0.9, 0.5), (0.8, 0.8, 0.8), (0.6, 0.7, 0.7), (0.1, 0.2, 0.3))
    early = MethodEvidence("ce_early", (0.1, 0.6, 0.7), (0.5, 0.6, 0.7), (0.7, 0.7, 0.8), (0.4, 0.5, 0.6))
    found, labels = better_on_validation("ce", [late, early])
    assert labels == ("ce_early", "ce", "ce_early")  # whatever the test parts say; of equals, the first
    assert found == MethodEvidence("ce", (0.1, 0.9, 0.7), (0.5, 0.8, 0.7), (0.7, 0.7, 0.8), (0.4, 0.2, 0.6))


@pytest.mark.parametrize(
    ("trials", "caution"), [((1, 1, 1), "Nothing was tuned"), ((4, 1, 4), "On some splits nothing was tuned")]
)
def test_methods_that_were_not_tuned_are_not_called_tuned(trials: tuple[int, ...], caution: str) -> None:
    ce, upauci = method("ce", [0.6, 0.6, 0.6]), method("upauci", [0.69, 0.70, 0.71])
    sentence = verdict(replace(evidence(ce, upauci), trials=trials)).sentence
    assert "equally tuned" not in sentence
    assert sentence.endswith(f"{caution}, which may decide this: give more --minutes.")


def test_one_split_is_no_evidence() -> None:
    found = verdict(evidence(method("ce", [0.6]), method("upauci", [0.9])))
    assert found.kind == "too_little"


@pytest.mark.parametrize(("train", "validation", "gap"), [(0.9, 0.4, 0.5), (0.5, 0.6, -0.1)])
def test_gap(train: float, validation: float, gap: float) -> None:
    assert method("ce", [0.5, 0.5], train, validation).gap == pytest.approx(gap)
