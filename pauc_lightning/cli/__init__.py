"""The command line ``pauc``.

- Start: ``entry`` dispatches to the commands, ``mistakes`` turns exceptions into sentences.
- Commands: ``app`` (fit, validate, test, predict), ``run_commands`` and ``predict`` (commands on a run),
  ``evaluate`` with ``scored_table`` and ``decision_tables``,
  ``configs_command``, ``data`` with ``data_tables``. ``advise``, ``compare``, ``tune`` and ``benchmark`` live in
  packages of their own.
- Settings: ``given``, ``configs``, ``settings``, ``parsed_before``, ``continued``, ``run_config``.
- Runs: ``runs``, ``older_run``, ``run_logger``, ``signals``, ``report``, ``no_profiler``.
- Dashboards: ``dashboards``, ``wandb_logger`` with ``wandb_run`` and ``wandb_files``, ``tensorboard_run``; ``labels``,
  ``panels``, ``sent_steps``.
- Parsers and their errors: ``parser``, ``plain_parser``, ``complaints``, ``suggestions``, ``nearest``, ``kinds``,
  ``type_words``.
- Help pages: ``overview``, ``command_help``, ``options``, ``pages``.
"""

from __future__ import annotations

from collections.abc import Sequence


def main(args: Sequence[str] | None = None) -> None:
    """Run ``pauc`` with these arguments; None uses the arguments of the process."""
    # Imported here so that modules of this package can be used without loading the commands.
    from pauc_lightning.cli.entry import main

    main(args)


__all__ = ["main"]
