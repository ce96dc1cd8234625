"""Someone who watches a terminal: output in order, and never more of it in memory than a bound."""

from __future__ import annotations

import asyncio
from collections import deque

from executor.dataclass import dataclass
from executor.model.identity.actor import Actor

MOST_BEHIND = 1024 * 1024  # characters that wait; beyond it a watcher gets a snapshot instead
MOST_AT_ONCE = 64 * 1024


@dataclass(frozen=True, slots=True)
class Notice:
    """Who writes has changed."""


Item = str | Notice


class Watcher:
    """Begins with a snapshot, and gets another one when it has fallen behind."""

    def __init__(self, actor: Actor) -> None:
        self.actor = actor
        self.needs_snapshot = True
        self.has_news = asyncio.Event()
        self.has_news.set()
        self._waiting: deque[Item] = deque()
        self._size = 0

    def show(self, item: Item) -> None:
        self.has_news.set()
        if self.needs_snapshot:
            return
        self._waiting.append(item)
        self._size += len(item) if isinstance(item, str) else 1
        if self._size > MOST_BEHIND:
            self.restart()

    def restart(self) -> None:
        """The screen as it is when it is taken replaces everything that waits."""
        self.needs_snapshot = True
        self._waiting.clear()
        self._size = 0
        self.has_news.set()

    def take(self) -> Item | None:
        """The next thing to send; output that waits together goes together."""
        if not self._waiting:
            return None
        item = self._waiting.popleft()
        if isinstance(item, str):
            parts, size = [item], len(item)
            while self._waiting and isinstance(following := self._waiting[0], str) and size < MOST_AT_ONCE:
                self._waiting.popleft()
                parts.append(following)
                size += len(following)
            item = "".join(parts)
        self._size -= len(item) if isinstance(item, str) else 1
        return item
