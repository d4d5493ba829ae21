"""The one exception a user's mistake ends in."""

from __future__ import annotations


class InputError(ValueError):
    r"""Something the user gave cannot be used: the message names it and says what to do.

    A ``ValueError``, so that library users may catch it as such. The command line prints its message without
    a traceback.

    A ``DataLoader`` raises the exception of a worker process anew, as the same class with the worker's whole
    traceback as its message. Of such a report only the sentence at its end is kept.

    Args:
        message: The sentence.

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
    """Training met a loss, a score or a gradient that is NaN or infinite, and has stopped before the step.

    The weights, the optimizer's state and everything kept per training sample are those before the step. The message
    names the step and the samples, and the file that holds the batch's scores and the state.
    """
