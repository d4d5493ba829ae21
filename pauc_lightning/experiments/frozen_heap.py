"""Keeps Python's garbage collector from searching through all imported modules again and again."""

from __future__ import annotations

import gc
import weakref


class FrozenHeap:
    """Sets the objects that exist at the first :meth:`freeze` aside: they are not searched for garbage any more.

    Each small run leaves so much garbage that the collector soon searches everything: half a million objects of torch,
    Lightning and pandas, which takes longer than ten epochs of a linear network. When this object is deleted, the
    collector searches everything again.
    """

    def __init__(self) -> None:
        self._is_frozen = False

    def freeze(self) -> None:
        """Set all present objects aside, at the first call; best after a run, when everything has been imported."""
        if self._is_frozen:
            return
        gc.collect()  # garbage that is set aside would stay
        gc.freeze()
        weakref.finalize(self, gc.unfreeze)
        self._is_frozen = True
