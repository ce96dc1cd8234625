"""Logins against a real database and real servers on loopback, and a browser that follows redirects by hand."""

from __future__ import annotations

import http.client
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from executor.connections.connections import Connections
from executor.connections.oauth.code_flow import Begun, Callback
from executor.connections.oauth.logins import Logins, Wish
from executor.connections.oauth.new_connection import Connected
from executor.daemon.wiring.oauth import reseal
from executor.model.credentials import Connection
from executor.model.identity.actor import Actor
from executor.model.source import Source
from executor.network.client import Egress
from executor.secrets.master import FileKeeper
from executor.secrets.master_keys import KeptKeys
from executor.secrets.sealing import Sealing
from executor.secrets.secrets import Secrets
from executor.sources.openapi.tools.security import describe_scheme
from executor.storage import migrate
from executor.storage.catalog import sources
from executor.storage.credentials import connections
from executor.storage.database import Database
from executor.storage.feed import Feed
from executor.storage.identity import tenancy
from tests.support.loopback import Authority, Service, listening

BASE = "http://127.0.0.1:8788"


@dataclass
class LoginHarness:
    """`authority` and `service` are on origins of their own; an operator allowed the first for the second."""

    database: Database
    secrets: Secrets
    egress: Egress
    logins: Logins
    connections: Connections
    operator: Actor
    source: Source
    authority: Authority
    service: Service
    told: list[Connected] = field(default_factory=list)

    def wish(self, **options: Any) -> Wish:
        return Wish(**{"source": "shop", "allow": self.authority.origin, **options})

    async def begin(self, **options: Any) -> Begun:
        return await self.logins.begin(self.operator, self.wish(**options), in_browser=True)

    async def login(self, **options: Any) -> Connected:
        """As a person in one browser would."""
        begun = await self.begin(**options)
        return await self.come_back(begun, browse(begun.url))

    async def come_back(self, begun: Begun, query: dict[str, str], *, browser: str | None = None) -> Connected:
        jar = {begun.cookie: begun.browser if browser is None else browser}
        return await self.logins.finish(Callback(query, lambda name: jar.get(name, ""), "127.0.0.1"))

    async def connection(self) -> Connection:
        [found] = await self.database.read(lambda c: connections.of_source(c, self.source.id))
        return found

    async def another(self) -> Logins:
        """Another process, as far as these objects know: nothing is shared but the database."""
        return Logins(self.database, Secrets(self.database, self.secrets.sealing, {}), self.egress, BASE)


def browse(url: str) -> dict[str, str]:
    """What the server sends the browser back with."""
    answer = visit(url)
    assert answer.status in (302, 303), (answer.status, answer.read())
    location = answer.headers["Location"]
    assert location.startswith(f"{BASE}/oauth/callback?"), location
    return dict(parse_qsl(urlsplit(location).query))


def visit(url: str) -> http.client.HTTPResponse:
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.netloc, timeout=120)
    try:
        connection.request("GET", f"{parts.path}?{parts.query}")
        response = connection.getresponse()
        response.read()
        return response
    finally:
        connection.close()


@asynccontextmanager
async def open_harness(path: Path) -> AsyncIterator[LoginHarness]:
    database = Database(migrate.ready(path / "data" / "executor.db"))
    local = await database.write(tenancy.provision)
    with ExitStack() as stack:
        authority = stack.enter_context(listening(Authority))
        service = stack.enter_context(listening(lambda origin: Service(origin, authority)))
        source = source_of(local.workspace.id, service)
        await database.write(lambda c: sources.insert(c, source))
        secrets = Secrets(database, Sealing(KeptKeys(FileKeeper(path / "data"))), {})
        secrets.others.append(reseal)
        egress = Egress()
        logins = Logins(database, secrets, egress, BASE)
        known = Connections(database, secrets, Feed(database), logins.grants)
        harness = LoginHarness(database, secrets, egress, logins, known, local.operator, source, authority, service)

        async def tell(connected: Connected) -> None:
            harness.told.append(connected)

        logins.on_connected.append(tell)
        yield harness
        await logins.grants.close()
        await egress.close()
        await database.close()


def source_of(workspace_id: str, service: Service) -> Source:
    auth = [describe_scheme("login", service.document()["components"]["securitySchemes"]["login"])]
    config = {"location": f"{service.origin}/openapi.json", "base_url": service.resource, "auth": auth}
    config |= {"origins": [service.origin]}
    return Source("src_shop", workspace_id, "openapi", "shop", "Shop", config)
