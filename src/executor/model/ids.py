"""Identifiers: a prefix that tells the noun, a time part that sorts, and 80 random bits that can't be guessed."""

from __future__ import annotations

import os
import time


def new_id(prefix: str) -> str:
    return f"{prefix}_{now_ms():012x}{os.urandom(10).hex()}"


def now_ms() -> int:
    return int(time.time() * 1000)
