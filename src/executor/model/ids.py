"""Identifiers: a prefix that tells the noun, a time part that sorts, and 80 random bits that can't be guessed."""

from __future__ import annotations

import base64
import os
import time


def new_id(prefix: str) -> str:
    stamp = int(time.time() * 1000).to_bytes(6, "big")
    return f"{prefix}_{base64.b32encode(stamp + os.urandom(10)).decode().rstrip('=').lower()}"


def now_ms() -> int:
    return int(time.time() * 1000)
