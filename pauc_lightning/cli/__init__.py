"""The command line ``pauc``; ``pauc --help`` lists its commands."""

from __future__ import annotations

from collections.abc import Sequence


def main(args: Sequence[str] | None = None) -> None:
    """Run ``pauc`` with these arguments, or with those of the process."""
    # Imported here so that modules of this package can be used without loading the commands.
    from pauc_lightning.cli.entry import main

    main(args)


__all__ = ["main"]
