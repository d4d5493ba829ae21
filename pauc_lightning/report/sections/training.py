"""The curves of a training run."""

from __future__ import annotations

from pauc_lightning.report.figures.training import panel_chart, panels, validation
from pauc_lightning.report.html import Html
from pauc_lightning.report.parts import absent, figure, figures, section
from pauc_lightning.report.subject import Missing, Training
from pauc_lightning.report.words import number


def training_section(training: Training, id: str, level: int) -> Html:
    """Validation values, the loss, and the method's own variables, by epoch."""
    curves = training.curves
    if isinstance(curves, Missing):
        return section("Training", absent(curves), id=id, level=level)
    best = curves.best()
    shown = []
    chart = validation(curves, "partial AUC", training.warmup)
    if chart is not None and best is not None:
        caption = f"Best: {number(best[1])} after epoch {best[0]:g}; that model is the one that is kept."
        shown.append(figure(chart, "On the validation part", caption))
    shown += [
        figure(panel_chart(panel, curves, training.warmup), panel.title, panel.text)
        for panel in panels(curves)
    ]
    if not shown:
        return section("Training", absent(Missing("Nothing was logged.")), id=id, level=level)
    return section("Training", figures(*shown), id=id, level=level)
