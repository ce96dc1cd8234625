"""Locks by name: everyone who asks for the same name gets the same lock, and it is gone with the last of them."""

from __future__ import annotations

import asyncio
from weakref import WeakValueDictionary


class Locks:
    def __init__(self) -> None:
        self._used: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def of(self, name: str) -> asyncio.Lock:
        return self._used.setdefault(name, asyncio.Lock())
