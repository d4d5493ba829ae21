"""Runs one ``pauc`` command inside another: silently, with its output kept for a log file."""

from __future__ import annotations

import contextlib
import io
import logging
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from pauc_lightning.data.kept_sources import KeptSources
from pauc_lightning.experiments.frozen_heap import FrozenHeap

RunPauc = Callable[[Sequence[str]], None]
"""The ``pauc`` command, called with its arguments."""

_INTERRUPTED = (130, 143)
"""The exit status after Ctrl-C, and after SIGTERM."""
_LOGGERS = ("lightning.pytorch", "lightning.fabric")
_NOT_FOR_USERS = (DeprecationWarning, PendingDeprecationWarning, FutureWarning)
"""With Lightning's ``PossibleUserWarning``, which is imported late: executors use this module without Lightning."""


@dataclass(frozen=True)
class Said:
    """The output of a command.

    Args:
        text: Everything that it printed and logged, with its warnings.
        warnings: The warnings that a user should read. Collapses are not among them, because the table marks them.
    """

    text: str
    warnings: tuple[str, ...] = ()


class RunFailed(Exception):
    """Raised when a command fails.

    Args:
        reason: Why, in a sentence.
        said: The command's output, with the traceback if there is one.
        is_mistake: Whether the command rejected its arguments.
    """

    def __init__(self, reason: str, said: Said, is_mistake: bool) -> None:
        super().__init__(reason)
        self.reason = reason
        self.said = said
        self.is_mistake = is_mistake


class RunStopped(KeyboardInterrupt):
    """Raised when a command is interrupted.

    Args:
        said: The command's output.
    """

    def __init__(self, said: Said) -> None:
        super().__init__()
        self.said = said


class InnerRuns:
    """Runs ``pauc`` commands silently in this process.

    Data that several of them need are read once.

    Args:
        run_pauc: The ``pauc`` command.
    """

    def __init__(self, run_pauc: RunPauc) -> None:
        self._run_pauc = run_pauc
        self._sources = KeptSources()
        self._heap = FrozenHeap()

    def __call__(self, arguments: Sequence[str]) -> Said:
        """Run a command and return its output.

        Raises:
            RunFailed: If it fails, whatever the reason.
            RunStopped: If it was interrupted; Lightning's attempt to end the process is prevented.
        """
        output = io.StringIO()
        caught: list[tuple[str, type[Warning]]] = []

        def said(more: str = "") -> Said:
            return Said(output.getvalue() + more, tuple(_for_users(caught)))

        with _captured(output, caught), self._sources.in_use():
            try:
                self._run_pauc(arguments)
            except SystemExit as stopped:
                sentence = _error_sentence(output.getvalue())
                if not stopped.code and "--print_config" in arguments:
                    return said()
                if not stopped.code or stopped.code in _INTERRUPTED or sentence is None:
                    raise RunStopped(
                        said()
                    ) from stopped  # under DDP, processes other than the first end with 0
                raise RunFailed(sentence, said(), is_mistake=True) from stopped
            except KeyboardInterrupt as stopped:
                raise RunStopped(said()) from stopped
            except Exception as error:
                what = str(error).strip().partition("\n")[0]
                reason = f"{type(error).__name__}: {what}" if what else type(error).__name__
                raise RunFailed(reason, said(traceback.format_exc()), is_mistake=False) from error
        self._heap.collect()
        return said()


def _for_users(caught: Sequence[tuple[str, type[Warning]]]) -> Iterator[str]:
    from lightning.fabric.utilities.warnings import PossibleUserWarning

    hidden = (PossibleUserWarning, *_NOT_FOR_USERS)
    for text in dict.fromkeys(text for text, category in caught if not issubclass(category, hidden)):
        if not text.startswith("Training has collapsed"):
            yield text


@contextlib.contextmanager
def _captured(output: io.StringIO, caught: list[tuple[str, type[Warning]]]) -> Iterator[None]:
    """Send all printed text, logs and warnings to ``output``, and the warnings to ``caught`` as well."""
    loggers = [logging.getLogger(name) for name in _LOGGERS]
    before = [(logger.handlers, logger.propagate) for logger in loggers]
    for logger in loggers:
        logger.handlers, logger.propagate = [logging.StreamHandler(output)], False

    def keep(message: Warning | str, category: type[Warning], *_: object) -> None:
        caught.append((str(message), category))
        output.write(f"{category.__name__}: {message}\n")

    try:
        with (
            warnings.catch_warnings(),
            contextlib.redirect_stdout(output),
            contextlib.redirect_stderr(output),
        ):
            warnings.showwarning = keep  # type: ignore[assignment]
            yield
    finally:
        for logger, (handlers, propagate) in zip(loggers, before, strict=True):
            logger.handlers, logger.propagate = handlers, propagate


def _error_sentence(output: str) -> str | None:
    """Find the last sentence printed by a command that rejected its arguments."""
    before, found, sentence = output.rpartition("error: ")
    return " ".join(sentence.split()) if found and (not before or before.endswith("\n")) else None
