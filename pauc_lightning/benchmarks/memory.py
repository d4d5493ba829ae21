"""The memory of the benchmarks."""

from __future__ import annotations

import sys
from pathlib import Path


def peak_megabytes() -> float:
    """Return the peak of this process's resident memory."""
    status = Path("/proc/self/status")
    if status.exists():  # Linux, where getrusage() starts from the parent's peak
        return float(status.read_text().split("VmHWM:")[1].split()[0]) / 1e3
    import resource  # not on Windows

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3)
