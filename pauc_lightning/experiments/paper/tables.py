"""The paper's tables of results, by number."""

from __future__ import annotations

from dataclasses import dataclass

from pauc_lightning.experiments.paper.results import Result, results


@dataclass(frozen=True)
class Table:
    """One of the paper's Tables 3 to 10.

    Args:
        number: Its number in the paper.
        title: What it shows.

    Example:
        >>> table = TABLES[0]
        >>> table.config, table.title, len(table.results)
        ('paper/table3', 'OPAUC on CIFAR-10-LT', 60)
    """

    number: int
    title: str

    @property
    def config(self) -> str:
        """The name of the experiment that repeats the table: ``pauc compare -c paper/table3``."""
        return f"paper/table{self.number}"

    @property
    def results(self) -> tuple[Result, ...]:
        """Its numbers, in the paper's order."""
        return tuple(result for result in results() if result.table == self.number)


TABLES = (
    Table(3, "OPAUC on CIFAR-10-LT"),
    Table(4, "OPAUC on CIFAR-100-LT"),
    Table(5, "OPAUC on Tiny-ImageNet-200-LT"),
    Table(6, "TPAUC on CIFAR-10-LT"),
    Table(7, "TPAUC on CIFAR-100-LT"),
    Table(8, "TPAUC on Tiny-ImageNet-200-LT"),
    Table(9, "OPAUC on iNaturalist2021"),
    Table(10, "TPAUC on iNaturalist2021"),
)
"""The tables that have an experiment file in ``configs/paper``."""
