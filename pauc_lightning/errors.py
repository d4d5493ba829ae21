"""The one exception a user's mistake ends in."""

from __future__ import annotations


class InputError(ValueError):
    """Something the user gave cannot be used: the message names it and says what to do.

    A ``ValueError``, so that library users may catch it as such. The command line prints its message without
    a traceback.
    """
