"""How much memory there is, and how much a process has; where the system does not say, nothing is assumed."""

from __future__ import annotations

import os
import re
from pathlib import Path


def resident_bytes(pid: int) -> int:
    """0 where that is unknown."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1]) if pid else 0
    except (OSError, ValueError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def free_memory() -> int:
    """What could be used without swapping; endless where that is unknown."""
    try:
        found = re.search(r"^MemAvailable:\s+(\d+) kB", Path("/proc/meminfo").read_text(encoding="ascii"), re.MULTILINE)
    except OSError:
        found = None
    return int(found.group(1)) * 1024 if found else 1 << 62
