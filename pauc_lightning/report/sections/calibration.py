"""Whether the scores are probabilities, and what calibration makes of them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from pauc_lightning.metrics.functional import brier_score, calibration_error, reliability_bins
from pauc_lightning.report.evaluation import Evaluation
from pauc_lightning.report.figures.reliability import reliability
from pauc_lightning.report.html import Child, Html, element
from pauc_lightning.report.parts import absent, beside, figure, figures, key, section, table
from pauc_lightning.report.subject import Missing, Subject
from pauc_lightning.report.words import number

_BINS = 10
_FEWEST = 20
"""Samples in a bin, on average."""
_RARE = 0.1
"""Share of positives below which the axes are logarithmic."""
_SHOWN = "platt"
"""The calibrator in the figure: it is monotone, so that the ranking stays as it is, and needs few samples."""
_NAMES = {"platt": "Platt scaling", "temperature": "temperature", "isotonic": "isotonic curve"}


def calibration_section(subject: Subject, evaluation: Evaluation, id: str, level: int) -> Html:
    """Brier score and calibration error of the scores and of calibrated ones, and the reliability curve."""
    if not (evaluation.score.min() >= 0 and evaluation.score.max() <= 1):
        missing = Missing("The scores are not in [0, 1], so they cannot be read as probabilities.")
        return section("Calibration", absent(missing), id=id, level=level)
    probabilities = {"scores": evaluation.score, **_calibrated(subject, evaluation)}
    share = float(np.mean(evaluation.label))
    is_log = share < _RARE
    rows = [
        (
            name,
            number(brier_score(values, evaluation.label), 4),
            number(calibration_error(values, evaluation.label), 4),
        )
        for name, values in probabilities.items()
    ]
    shown = {
        name: reliability_bins(
            values,
            evaluation.label,
            min(_BINS, max(len(values) // _FEWEST, 2)),
            "halving" if is_log else "equal_mass",
            evaluation.confidence,
        )
        for name, values in probabilities.items()
        if name in ("scores", _NAMES[_SHOWN])
    }
    legend = [
        *(key(f"line c{index}", name) for index, name in enumerate(shown)),
        key("line dotted", "perfect"),
    ]
    text = (
        "A score is calibrated if, of the samples with score 0.3, 30 % are positive. Ranking, and with it every number "
        "above, does not need that; decisions by cost do. Whoever always predicts the share of positives has a Brier "
        f"score of {number(share * (1 - share), 4)}."
    )
    return section(
        "Calibration",
        element("p", text),
        figures(
            figure(
                reliability(shown, is_log),
                "Reliability",
                "On logarithmic axes. Each bin holds half of the samples above the one before, so that the few high "
                "scores are seen; bars are intervals of the observed share."
                if is_log
                else "Bins of equally many samples; bars are intervals of the observed share.",
                legend,
            ),
            beside(
                table(("", "Brier score", "Calibration error"), rows, "Lower is better", "numbers"),
                _how(subject),
            ),
        ),
        id=id,
        level=level,
    )


def _calibrated(subject: Subject, evaluation: Evaluation) -> Mapping[str, NDArray[np.float64]]:
    if isinstance(subject.calibration, Missing):
        return {}
    return {
        _NAMES.get(name, name): calibrator(evaluation.score)
        for name, calibrator in subject.calibration.calibrators.items()
    }


def _how(subject: Subject) -> list[Html]:
    """How the calibrators were made, and how they are applied; or why there are none."""
    if isinstance(subject.calibration, Missing):
        return [absent(subject.calibration)] if subject.calibration.sentence else []
    too_good = " These are the samples shown here, so the calibrated values are a little too good."
    same = "" if subject.chosen_on else too_good
    use: Child = None
    if subject.training is not None:
        command = f"pauc predict {subject.place} --calibrate {_SHOWN}"
        use = (" To write calibrated probabilities: ", element("code", command))
    return [
        element("p", f"Fitted on the validation part.{same}", use, class_="quiet"),
        *(
            element("p", f"{_NAMES.get(name, name)}: {reason}", class_="quiet")
            for name, reason in subject.calibration.refused.items()
        ),
    ]
