"""Tables of a comparison as CSV, with the value of every seed."""

from __future__ import annotations

import csv
import io
import statistics
from collections.abc import Iterator, Sequence

from pauc_lightning.experiments.table import Table, values_of

_GAINS = ("gain", "gain_deviation", "gain_low", "gain_high")


def csv_rows(table: Table, quantity: str, with_gains: bool = True) -> Iterator[dict[str, object]]:
    """Yield a row for each method and region; missing values are empty.

    Args:
        table: The table.
        quantity: What its values are.
        with_gains: Whether the columns of the gains are filled.
    """
    for region in table.regions:
        for method in table.methods:
            outcomes = table.outcomes(method, region)
            values, gains = values_of(outcomes), table.gains(method, region)
            interval = table.interval(method, region)
            published = (table.published or {}).get((method, region))
            row: dict[str, object] = {
                "quantity": quantity,
                "data": table.task.data,
                "backbone": table.task.backbone,
                "method": method,
                "max_fpr": region.max_fpr,
                "min_tpr": region.min_tpr,
                "mean": statistics.mean(values) if values else "",
                "deviation": statistics.stdev(values) if len(values) > 1 else "",
                "baseline": table.baseline,
                "gain": statistics.mean(gains) if gains else "",
                "gain_deviation": statistics.stdev(gains) if len(gains) > 1 else "",
                "gain_low": "" if interval is None else interval.low,
                "gain_high": "" if interval is None else interval.high,
                "paper": "" if published is None else published,
                **{
                    f"seed_{seed}": "" if outcome.value is None else outcome.value
                    for seed, outcome in outcomes.items()
                },
                "start_seeds": " ".join(str(s) for s, o in outcomes.items() if o.is_start),
                "collapsed_seeds": " ".join(str(s) for s, o in outcomes.items() if o.collapse is not None),
                "failed_seeds": " ".join(str(s) for s, o in outcomes.items() if o.failure is not None),
                "chosen": " ".join(o.chosen or "-" for o in outcomes.values())
                if method in table.best_of
                else "",
            }
            yield row if with_gains else {**row, **dict.fromkeys(_GAINS, "")}


def as_csv(rows: Sequence[dict[str, object]]) -> str:
    """Write rows with equal keys as CSV."""
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
