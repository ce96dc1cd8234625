"""Processes of this machine, as the system shows them."""

from __future__ import annotations

from pathlib import Path


def is_alive(pid: int) -> bool:
    """A process that has ended and only waits for its parent to look is not alive."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:  # it may end while it is read
        return False
