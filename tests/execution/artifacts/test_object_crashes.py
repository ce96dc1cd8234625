"""A process that is killed while it moves or uploads content, at each request that it sends to the store."""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
import sys
from pathlib import Path

import pytest

from executor.execution.artifacts.contents import Contents
from executor.execution.artifacts.objects import maintenance
from executor.execution.artifacts.objects.store import Objects
from executor.model.ids import now_ms
from executor.storage import migrate
from executor.storage.database import Database
from tests.execution.artifacts.conftest import Shelf, open_shelf
from tests.storage.test_artifacts import pieces
from tests.support import object_store
from tests.support.object_store import FaultyProxy

CONTENT = os.urandom(9_000_000)
MOVE = """
import asyncio, sys
from pathlib import Path
from executor.execution.artifacts.contents import Contents
from executor.execution.artifacts.objects import maintenance
from executor.execution.artifacts.objects.store import Objects
from executor.storage import migrate
from executor.storage.database import Database
from tests.support import object_store

async def main():
    store = Objects(object_store.location(sys.argv[2], sys.argv[3]))
    await maintenance.move_rows(Contents(Database(migrate.ready(Path(sys.argv[1]))), store, 1), store)

asyncio.run(main())
"""
# What a move sends: begin, two parts, complete, the size, three pieces to compare.
REQUESTS = ["POST", "PUT", "PUT", "POST", "HEAD", "GET", "GET", "GET"]


@pytest.mark.parametrize("request_number", [1, 3, 4, 5, 8])
async def test_killing_a_move_loses_nothing_and_leaves_nothing(
    proxy: FaultyProxy, tmp_path: Path, request_number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, prefix = tmp_path / "executor.db", f"p/{secrets.token_hex(4)}"
    database = Database(migrate.ready(file))
    shelf = await open_shelf(database, None)
    kept = await shelf.keep(CONTENT)
    await shelf.end()
    await database.close()

    options = [str(file), proxy.url, prefix]
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", MOVE, *options)
    proxy.on_request(request_number, lambda: os.kill(process.pid, signal.SIGKILL))
    assert await process.wait() == -signal.SIGKILL
    assert [request.split()[0] for request in proxy.requests] == REQUESTS[:request_number]

    store = Objects(object_store.location(proxy.url, prefix))
    database = Database(migrate.ready(file))
    after = Shelf(Contents(database, store, 1), shelf.local, shelf.execution)
    found = await after.find(kept.id)
    assert found.object_key is None and await after.contents.read(found) == CONTENT
    await maintenance.maintain(after.contents)
    later = now_ms() + 3 * maintenance.DAY_MS
    monkeypatch.setattr(maintenance, "now_ms", lambda: later)
    await maintenance.maintain(after.contents)
    moved = await after.find(kept.id)
    assert moved.object_key is not None and await after.contents.read(moved) == CONTENT
    assert sorted(await after.keys()) == sorted([maintenance.OWNER, moved.object_key])
    assert await pieces(database) == 0
    await store.close()
    await database.close()
