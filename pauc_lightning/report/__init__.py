"""Reports: one HTML file about runs, or about scores from elsewhere, that opens without a network.

``run_subject`` and ``scored_samples`` read what a report is about, ``evaluation`` computes its numbers, ``sections``
and ``figures`` turn them into HTML and SVG, and ``page`` puts these together. ``command`` is ``pauc report``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pauc_lightning.lazy import lazy_names

if TYPE_CHECKING:
    from pauc_lightning.report.scored_samples import ScoredSamples
    from pauc_lightning.report.write import write_report

__all__ = ["ScoredSamples", "write_report"]

__getattr__, __dir__ = lazy_names(__name__, {"scored_samples": ["ScoredSamples"], "write": ["write_report"]})
