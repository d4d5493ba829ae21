"""Exceptions for invalid user input."""

from __future__ import annotations


class InputError(ValueError):
    r"""Raised for invalid user input: the message names the input and says what to do.

    It is a ``ValueError``, so callers may catch it as such. The command line prints the message without a traceback.

    A ``DataLoader`` re-raises the exception of a worker process with the worker's whole traceback as its message. Only
    the last sentence of such a report is kept.

    Args:
        message: One sentence that names the argument, the value received and the remedy.

    Example:
        >>> print(InputError("Caught InputError in DataLoader worker process 0.\nOriginal Traceback (most recent call "
        ...     "last):\n  ...\npauc_lightning.errors.InputError: `root` is empty.\n"))
        `root` is empty.
    """

    def __init__(self, message: str) -> None:
        if message.startswith("Caught InputError in "):
            message = message.rpartition(f"\n{__name__}.InputError: ")[2].rstrip("\n")
        super().__init__(message)


class NonFiniteError(InputError):
    """Raised when a loss, a score or a gradient is NaN or infinite, before the step is taken.

    The weights, the optimizer's state and the state kept per training sample stay as they were before the step. The
    message names the step, the samples, and the file that holds the batch's scores and the state.
    """
