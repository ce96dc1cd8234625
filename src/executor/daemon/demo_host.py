"""Services that the daemon runs itself, one for each source that asks for it: the sample API of the demo.

Every source has a service of its own, so that no workspace sees what another one did in it. It listens on loopback, in
a thread, ends with its source, and comes back with the daemon: at the same port, or the source's address is mended.
"""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from executor.catalog.catalog import Catalog
from executor.errors import Conflict
from executor.model.event import Announcement
from executor.model.source import HOSTED, Source, hosted_as
from executor.sources.source_request import Consent, SourceRequest
from executor.storage.catalog import sources
from executor.storage.database import Database
from executor.storage.executions.events import By
from executor.storage.feed import Feed

if TYPE_CHECKING:
    from executor.demo.server import DemoServer

DEMO = "demo"
POLL_SECONDS = 0.2


class DemoHost:
    def __init__(self, database: Database, catalog: Catalog, feed: Feed) -> None:
        self._database = database
        self._catalog = catalog
        self._servers: dict[str, DemoServer] = {}
        self._changing = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()
        feed.listen(self._on_event)

    async def start(self) -> None:
        for source in await self._database.read(sources.list_hosted):
            if await self._serve(source):
                self._catalog.lifecycle.source_changed(source.id)

    async def demo(self, workspace_id: str, *, by: By = None) -> tuple[Source, bool]:
        """The workspace's demo, and whether this call created it. A second call finds the same one."""
        async with self._changing:
            known = await self._catalog.source(workspace_id, DEMO)
            if known is None:
                return await self._add(workspace_id, by), True
            if hosted_as(known) != DEMO:
                raise Conflict(
                    f"the namespace {DEMO} belongs to {known.known_keys.get('location') or known.name}",
                    hint=f"remove that source first: `executor sources remove {DEMO}`",
                )
            if await self._serve(known):
                known = (await self._catalog.lifecycle.refresh(workspace_id, known.id)).source
            return known, False

    async def close(self) -> None:
        servers, self._servers = list(self._servers.values()), {}
        await asyncio.gather(*(asyncio.to_thread(stop, server) for server in servers), *self._tasks)

    async def _add(self, workspace_id: str, by: By) -> Source:
        server = await asyncio.to_thread(start_server, 0)
        request = SourceRequest(
            kind="openapi",
            location=f"{server.url}/openapi.json",
            namespace=DEMO,
            options={HOSTED: DEMO},
            consented=Consent(private_network=True),
        )
        try:
            source = await self._catalog.add_source(workspace_id, request, by=by)
        except BaseException:
            await asyncio.to_thread(stop, server)
            raise
        self._servers[source.id] = server
        return source

    async def _serve(self, source: Source) -> bool:
        """True if it had to move: then its address is another already, but it has not been read there."""
        if source.id in self._servers:
            return False
        before = urlsplit(str(source.known_keys["location"]))
        server = await asyncio.to_thread(start_server, before.port or 0)
        self._servers[source.id] = server
        old, new = f"{before.scheme}://{before.netloc}", server.url
        if old == new:
            return False
        moved = replace(source, config=at(source.config, old, new))
        await self._database.write(lambda c: sources.rewrite(c, moved))
        return True

    def _on_event(self, event: Announcement) -> None:
        if event.type == "source.removed" and self._servers:
            task = asyncio.ensure_future(self._end_orphans())
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _end_orphans(self) -> None:
        async with self._changing:
            present = {source.id for source in await self._database.read(sources.list_hosted)}
            for source_id in self._servers.keys() - present:
                await asyncio.to_thread(stop, self._servers.pop(source_id))


def start_server(port: int) -> DemoServer:
    """At this port if it is free, else at another."""
    from executor.demo.server import DemoServer  # not needed by anyone who has no demo

    try:
        server = DemoServer(port)
    except OSError:
        server = DemoServer(0)
    threading.Thread(target=server.serve_forever, args=(POLL_SECONDS,), name="demo", daemon=True).start()
    return server


def stop(server: DemoServer) -> None:
    server.shutdown()
    server.server_close()


def at(config: dict[str, Any], old: str, new: str) -> dict[str, Any]:
    """The same config at another origin. It is loaded there again, whatever it says about itself."""
    moved = {name: str(config[name]).replace(old, new, 1) for name in ("location", "base_url")}
    origins = [str(one).replace(old, new, 1) for one in config["origins"]]
    return {**config, **moved, "origins": origins, "validators": {}}
