"""What a process uses, as the kernel counts it, and the kernel's own bounds on it."""

from __future__ import annotations

import contextlib
import math
import os
import sys
import time
from pathlib import Path

_PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096
_NICE = 10
_KERNEL_GRACE_SECONDS = 3


def cpu_ns(pid: int) -> int:
    """CPU time of all its threads; 0 where the kernel does not report it, or when it is gone."""
    if sys.platform != "linux":
        return 0
    try:
        return time.clock_gettime_ns((~pid << 3) | 2)  # how the kernel names the CPU clock of another process
    except OSError:
        return 0


def memory_bytes(pid: int) -> int:
    """What it holds that is not a file's; 0 if unknown."""
    try:
        fields = Path(f"/proc/{pid}/statm").read_text().split()
        return (int(fields[1]) - int(fields[2])) * _PAGE
    except (OSError, ValueError, IndexError):
        return 0


def be_nice(pid: int) -> None:
    """What runs on for a while comes after the daemon and after short programs."""
    with contextlib.suppress(OSError, AttributeError):
        os.setpriority(os.PRIO_PROCESS, pid, _NICE)


def tighten(pid: int, *, data_bytes: int, cpu_ms: int) -> None:
    """Bounds from here on, for when no one watches: more data than it has now, more CPU time than it has used."""
    if sys.platform != "linux":
        return
    import resource

    with contextlib.suppress(OSError, ValueError, IndexError):
        has = int(Path(f"/proc/{pid}/statm").read_text().split()[5]) * _PAGE
        most = min(has + data_bytes, resource.prlimit(pid, resource.RLIMIT_DATA)[1])
        resource.prlimit(pid, resource.RLIMIT_DATA, (most, most))
        seconds = math.ceil(cpu_ns(pid) / 1e9 + cpu_ms / 1000) + _KERNEL_GRACE_SECONDS
        resource.prlimit(pid, resource.RLIMIT_CPU, (seconds, seconds + 1))
