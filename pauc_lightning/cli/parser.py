"""The parser of ``pauc fit|validate|test|predict``."""

from __future__ import annotations

from typing import Any, NoReturn

from jsonargparse import Namespace
from lightning.pytorch.cli import LightningArgumentParser

from pauc_lightning.cli.kinds import load_known_classes
from pauc_lightning.cli.suggestions import explain


class PaucArgumentParser(LightningArgumentParser):
    """A parser whose errors are one sentence that quotes what was given, and that takes no abbreviations."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        load_known_classes()
        # A beginning of an option's name would be taken for it: a typo would pass, and change its meaning one day.
        super().__init__(*args, **{"allow_abbrev": False, **kwargs})
        self._given: list[str] = []

    def parse_args(self, args: Any = None, *more: Any, **kwargs: Any) -> Namespace:  # type: ignore[override]
        """Parse, and remember the arguments for the error messages."""
        self._given = list(args or ())
        namespace: Namespace = super().parse_args(args, *more, **kwargs)
        return namespace

    def error(self, message: str, ex: Exception | None = None) -> NoReturn:
        """Say what is wrong and what was probably meant, and exit with status 2."""
        if not self.exit_on_error:  # the parser of one class among several that might be meant
            super().error(message, ex)
        self.exit(2, f"error: {explain(self, message, self._given)}\n")
