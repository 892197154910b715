"""How many processors this program may use."""

from __future__ import annotations

import math
import os
from pathlib import Path

CGROUP = Path("/sys/fs/cgroup")


def processors() -> int:
    """The processors this process may run on, or fewer if its container is given less time than they have."""
    try:
        allowed = len(os.sched_getaffinity(0))
    except AttributeError:  # not Linux
        allowed = os.cpu_count() or 1
    return max(1, math.ceil(min(allowed, _quota())))


def _quota() -> float:
    """The container's share of time in processors (control groups, version 2 or 1); infinite if it has no limit."""
    try:
        limit, period = (CGROUP / "cpu.max").read_text().split()
        return int(limit) / int(period)
    except (OSError, ValueError):  # "max" is no limit
        pass
    try:
        limit, period = (int((CGROUP / "cpu" / f"cpu.cfs_{name}_us").read_text()) for name in ("quota", "period"))
        return limit / period if limit > 0 else math.inf
    except (OSError, ValueError, ZeroDivisionError):
        return math.inf
