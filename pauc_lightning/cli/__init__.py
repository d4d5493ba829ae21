"""The command line: ``pauc fit|validate|test|predict``, ``pauc compare``, ``pauc data``, ``pauc benchmark``."""

from __future__ import annotations

from collections.abc import Sequence


def main(args: Sequence[str] | None = None) -> None:
    """Run ``pauc`` with these arguments, or with those of the process."""
    # Imported late: the modules of this package may be used without loading every command.
    from pauc_lightning.cli.entry import main

    main(args)


__all__ = ["main"]
