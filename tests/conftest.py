"""Imports Lightning before any test redirects standard error or HOME.

Lightning's log handler keeps the stream that it finds when it is imported, and matplotlib, which comes with it, writes
a cache into HOME. The commands import both only when they need them, which would be within a test.
"""

from __future__ import annotations

import lightning.pytorch  # noqa: F401
