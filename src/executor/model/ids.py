"""Identifiers: a prefix that names the noun, a time part that sorts, and 80 random bits that can't be guessed."""

from __future__ import annotations

import os
import time

_newest = 0  # the time part of the last id made, or found at start


def new_id(prefix: str) -> str:
    """Sorts after every id made before, also when the clock was set back."""
    global _newest
    _newest = max(now_ms(), _newest + 1)
    return f"{prefix}_{_newest:012x}{os.urandom(10).hex()}"


def continue_after(found: str) -> None:
    """Ids made from now on sort after this one, which an earlier process may have made under another clock."""
    global _newest
    time_part = found.rpartition("_")[2][:12]
    try:
        _newest = max(_newest, int(time_part, 16))
    except ValueError:
        return  # not one of ours


def now_ms() -> int:
    return int(time.time() * 1000)
