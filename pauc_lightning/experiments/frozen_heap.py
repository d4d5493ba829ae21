"""Keeps Python's garbage collector from searching through all imported modules again and again."""

from __future__ import annotations

import gc
import weakref


class FrozenHeap:
    """Sets the objects that exist at the first :meth:`collect` aside: they are not searched for garbage any more.

    Each small run leaves so much garbage that the collector soon searches everything: half a million objects of torch,
    Lightning and pandas, which takes longer than ten epochs of a linear network. When this object is deleted, the
    collector searches everything again.

    The collector counts objects, not bytes: of its own accord it would let the data of many runs pile up, which hang
    together with their trainers in cycles. So the garbage of each run is collected at its end, which takes
    milliseconds once everything else is set aside.
    """

    def __init__(self) -> None:
        self._is_frozen = False

    def collect(self) -> None:
        """Free what a run has left; after the first, when everything has been imported, set the rest aside."""
        gc.collect()  # garbage that is set aside would stay
        if self._is_frozen:
            return
        gc.freeze()
        weakref.finalize(self, gc.unfreeze)
        self._is_frozen = True
