"""The output of a terminal is drawn in small parts, in order, and others get their turn between them."""

from __future__ import annotations

import asyncio
import os

import pytest

from executor.model.identity.actor import Actor
from executor.sessions.terminals.terminal import CHUNK, Terminal
from executor.sessions.terminals.watcher import Watcher
from tests.support.conditions import until


async def test_a_flood_leaves_turns_to_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short lines take the longest to draw."""
    reading, writing = os.pipe()
    actor = Actor("usr_1", "ws_1", "human", "someone")
    terminal = Terminal("term_1", "ses_1", reading, (80, 24), actor, None)
    watcher = Watcher(actor)
    watcher.needs_snapshot = False
    terminal.attach(watcher)
    sizes: list[int] = []
    turns: list[int] = []
    feed, turn = terminal.model.feed, 0

    def note(data: bytes) -> tuple[str, bytes]:
        sizes.append(len(data))
        turns.append(turn)
        return feed(data)

    def take_turn() -> None:
        nonlocal turn
        turn += 1
        if not terminal.output_ended.done():
            asyncio.get_running_loop().call_soon(take_turn)

    monkeypatch.setattr(terminal.model, "feed", note)
    written = b"".join(b"%d\n" % (at % 10) for at in range(8 * CHUNK // 2))
    os.write(writing, written)
    os.close(writing)

    take_turn()
    await until(terminal.output_ended.done)
    terminal.finish(0, "its shell exited")
    assert sum(sizes) == len(written) and max(sizes) <= CHUNK <= 2048
    assert len(set(turns)) == len(turns)
    shown = ""
    while (item := watcher.take()) is not None:
        assert isinstance(item, str)
        shown += item
    assert shown.encode() == written
