"""From scores to decisions: thresholds for false-positive budgets, kept with a run.

- ``operating_points`` chooses thresholds on validation scores; ``run_points`` reads and writes those of a run.
"""

from pauc_lightning.decisions.operating_points import (
    DELTA,
    ChosenPoint,
    OperatingPoints,
    choose_operating_points,
    threshold_text,
)
from pauc_lightning.decisions.run_points import (
    default_targets,
    not_finished,
    operating_point_of_run,
    read_operating_points,
    region_of_run,
    write_operating_points,
)

__all__ = [
    "DELTA",
    "ChosenPoint",
    "OperatingPoints",
    "choose_operating_points",
    "default_targets",
    "not_finished",
    "operating_point_of_run",
    "read_operating_points",
    "region_of_run",
    "threshold_text",
    "write_operating_points",
]
