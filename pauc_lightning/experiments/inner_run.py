"""One ``pauc`` command inside another: quiet, and with its end told apart."""

from __future__ import annotations

import contextlib
import io
import logging
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence

from lightning.fabric.utilities.warnings import PossibleUserWarning

RunPauc = Callable[[Sequence[str]], None]
"""The ``pauc`` command, called with its arguments."""

_INTERRUPTED = (130, 143)
"""The exit status after Ctrl-C, and after a request to end."""
_LOGGERS = ("lightning.pytorch", "lightning.fabric")
_NOT_FOR_USERS = (PossibleUserWarning, DeprecationWarning, PendingDeprecationWarning, FutureWarning)


class RunFailed(Exception):
    """A command failed.

    Args:
        reason: Why, in a sentence.
        output: All that it printed, and the traceback if there is one.
        is_mistake: Whether it refused what it was asked for.
    """

    def __init__(self, reason: str, output: str, is_mistake: bool) -> None:
        super().__init__(reason)
        self.reason = reason
        self.output = output
        self.is_mistake = is_mistake


class InnerRuns:
    """Runs ``pauc`` commands without their chatter.

    Args:
        run_pauc: The ``pauc`` command.
    """

    def __init__(self, run_pauc: RunPauc) -> None:
        self._run_pauc = run_pauc
        self._known_warnings: set[str] = set()
        self._warnings: list[warnings.WarningMessage] = []

    def __call__(self, arguments: Sequence[str]) -> str:
        """Run a command and return what it printed.

        Raises:
            RunFailed: If it fails, whatever the reason.
            KeyboardInterrupt: If it was interrupted, also where Lightning makes an exit of that.
        """
        output = io.StringIO()
        with _quiet(output), warnings.catch_warnings(record=True) as caught:
            try:
                self._run_pauc(arguments)
            except SystemExit as stopped:
                sentence = _error_sentence(output.getvalue())
                if not stopped.code and "--print_config" in arguments:
                    return output.getvalue()
                if not stopped.code or stopped.code in _INTERRUPTED or sentence is None:
                    raise KeyboardInterrupt from stopped  # under DDP, other processes than the first end with 0
                raise RunFailed(sentence, output.getvalue(), is_mistake=True) from stopped
            except Exception as error:
                what = str(error).strip().partition("\n")[0]
                reason = f"{type(error).__name__}: {what}" if what else type(error).__name__
                raise RunFailed(
                    reason, output.getvalue() + traceback.format_exc(), is_mistake=False
                ) from error
            finally:
                self._warnings = caught
        return output.getvalue()

    def new_warnings(self) -> Iterator[str]:
        """What the last command warned of and no earlier one did, except collapses, which the table marks."""
        for warning in self._warnings:
            text = str(warning.message)
            is_known = text in self._known_warnings or text.startswith("Training has collapsed")
            self._known_warnings.add(text)
            if not is_known and not issubclass(warning.category, _NOT_FOR_USERS):
                yield text


@contextlib.contextmanager
def _quiet(output: io.StringIO) -> Iterator[None]:
    """Send what is printed to ``output``, and leave out what Lightning logs about itself."""
    loggers = [logging.getLogger(name) for name in _LOGGERS]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    try:
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


def _error_sentence(output: str) -> str | None:
    """What a command that refused its arguments printed last."""
    before, found, sentence = output.rpartition("error: ")
    return " ".join(sentence.split()) if found and (not before or before.endswith("\n")) else None
