"""The parser of ``pauc fit|validate|test|predict``."""

from __future__ import annotations

from typing import NoReturn

from lightning.pytorch.cli import LightningArgumentParser

from pauc_lightning.cli.suggestions import explain

DESCRIPTION = """\
Train and evaluate models for a corner of the ROC curve.

  pauc fit -c digits -c ce
  pauc test runs/DigitsLT-CE/version_0
  pauc predict runs/TabularLT-CE/version_0 --input new.csv --output scores.csv
  pauc compare -c digits --methods ce pauci upauci --regions 0.3 0.3,0.7
  pauc data -c digits
  pauc benchmark metric

Later files and options win over earlier ones. `pauc fit --help` lists what can be set;
`pauc fit --model.help CE` and `pauc fit --data.help DigitsLT` explain one class.
`pauc compare --help` explains comparisons of methods, `pauc data --help` shows what a data set
consists of, `pauc benchmark --help` lists the measurements behind the project's claims.
"""


class PaucArgumentParser(LightningArgumentParser):
    """A parser whose errors name the nearest valid key."""

    def error(self, message: str, ex: Exception | None = None) -> NoReturn:
        """Say what is wrong and what was probably meant, and exit with status 2."""
        self.exit(2, f"error: {explain(self, message)}\n")
