"""How much memory a computation may use: a server must refuse a task that would not fit, not die of it."""

from __future__ import annotations

import os
from pathlib import Path

try:
    import resource
except ImportError:  # Windows
    resource = None

MAX_BYTES = 1_000_000_000  # of one score, however large the machine is
SHARE_OF_FREE = 0.8  # of the free memory: other sessions compute as well


def available() -> float:
    """The bytes one computation may use: a share of what the machine, its container and the process's limit leave."""
    return min(MAX_BYTES, SHARE_OF_FREE * max(0.0, min(_machine(), _container(), _process())))


def _machine() -> float:
    for line in _text("/proc/meminfo").splitlines():
        if line.startswith("MemAvailable:"):
            return 1024.0 * int(line.split()[1])
    return float("inf")


def _container() -> float:
    limit, used = _text("/sys/fs/cgroup/memory.max").strip(), _text("/sys/fs/cgroup/memory.current").strip()
    return float(limit) - float(used) if limit.isdecimal() and used.isdecimal() else float("inf")


def _process() -> float:
    pages = _text("/proc/self/statm").split()
    limit = resource.getrlimit(resource.RLIMIT_AS)[0] if resource else -1
    if not pages or limit in (-1, getattr(resource, "RLIM_INFINITY", -1)):
        return float("inf")
    return float(limit) - int(pages[0]) * os.sysconf("SC_PAGE_SIZE")


def _text(path: str) -> str:
    try:
        return Path(path).read_text()
    except OSError:
        return ""
