"""What the paper reports, as data: its tables of results and of loss times.

The numbers are in ``results.csv`` and ``timings.csv`` beside these modules. Nothing here imports torch.
"""

from pauc_lightning.experiments.paper.results import Result, published, published_result, results
from pauc_lightning.experiments.paper.tables import TABLES, Table
from pauc_lightning.experiments.paper.timings import Timing, published_time, timings

__all__ = [
    "TABLES",
    "Result",
    "Table",
    "Timing",
    "published",
    "published_result",
    "published_time",
    "results",
    "timings",
]
