"""`Connections`: which credential a call gets, and the connections themselves."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Protocol

from sqlalchemy.engine import Connection as Database_

from executor.connections import new_connection, resolution
from executor.connections.new_connection import Offer
from executor.connections.origin import origin_of, reading_origin
from executor.connections.placement import place
from executor.connections.resolution import Missing, Use
from executor.connections.schemes import Auth
from executor.connections.source_headers import SourceHeaders, values_of
from executor.errors import CredentialRequired, Forbidden, NotFound
from executor.model.credentials import Connection, ConnectionStatus, Credential
from executor.model.event import Announcement
from executor.model.identity.actor import Actor
from executor.model.identity.permissions import require
from executor.model.ids import now_ms
from executor.model.source import Source
from executor.model.tool import Tool
from executor.secrets import in_use
from executor.secrets.secrets import OWN, Secrets
from executor.storage.catalog import sources
from executor.storage.credentials import connections as rows
from executor.storage.credentials import secrets as secret_rows
from executor.storage.database import Database
from executor.storage.executions import events
from executor.storage.feed import Feed
from executor.storage.object_cache import ObjectCache
from executor.storage.read_cache import ReadCache

TOUCH_MS = 60_000
REMEMBERED_MS = 30_000
KEPT = 1_000


class Grants(Protocol):
    """What OAuth gave. Raises CredentialRequired when a human has to consent again."""

    async def access_token(self, connection: Connection, *, rejected: str = "") -> str: ...


class Connections:
    """What is known of a source's connections is dropped the moment a change is committed."""

    def __init__(self, database: Database, secrets: Secrets, feed: Feed, grants: Grants | None = None) -> None:
        self._database = database
        self.secrets = secrets
        self.statics = SourceHeaders(database, secrets)
        self.grants = grants
        self._known = ReadCache(database, rows.of_source)
        self._uses: ObjectCache[Use] = ObjectCache()
        self._touched: dict[str, int] = {}
        self._read: dict[tuple[str, int], tuple[int, dict[str, str]]] = {}
        feed.listen(self._forget, self._forget_all)

    async def resolve(self, source: Source, tool: Tool, actor_id: str) -> Use:
        present = await self.of_source(source.id)
        known = self._uses.get(actor_id, source, tool, present)
        if known is not None:
            return known
        return self._uses.put(resolution.resolve(source, tool, actor_id, present), actor_id, source, tool, present)

    def missing(
        self, source: Source, tool: Tool, reason: str, connection: str = "", asks: Sequence[Auth] = ()
    ) -> Missing:
        return resolution.missing(source, tool, reason, connection, asks)

    def missing_consent(
        self, source: Source, tool: Tool, connection: Connection, asks: Sequence[Auth]
    ) -> Missing | None:
        return resolution.missing_consent(source, tool, connection, asks)

    async def credential(self, connection: Connection, *, rejected: Credential | None = None) -> Credential:
        """The values, where they go, and only for `connection.origin`. Raises SecretUnavailable, CredentialRequired.

        `rejected` is one that the service has just refused: a login gets a new token.
        """
        if connection.scheme == "oauth2":
            values = {"token": await self._token(connection, rejected.values[0] if rejected is not None else "")}
        else:
            values = await self._values(connection)
        credential = place(connection, values)
        in_use.remember(credential.values)
        at = now_ms()
        if at - self._touched.get(connection.id, 0) > TOUCH_MS:
            self._touched[connection.id] = at
            await self._database.write(lambda c: rows.touch(c, connection.id, at))
        return credential

    async def _values(self, connection: Connection) -> dict[str, str]:
        """Remembered for a moment; a secret that changes raises the revision of its connections, so never too long."""
        key, now = (connection.id, connection.revision), now_ms()
        known = self._read.get(key)
        if known is not None and known[0] > now:
            return known[1]
        workspace_id = connection.workspace_id
        values = {
            name: await self.secrets.value(workspace_id, ref, connection.origin)
            for name, ref in connection.inputs.items()
        }
        if len(self._read) >= KEPT:
            self._read.clear()
        self._read[key] = now + REMEMBERED_MS, values
        return values

    async def unseal(self, source: Source) -> tuple[Source, tuple[str, ...]]:
        """The source with the values of its own config, and what of these must never be seen again."""
        opened = await self.statics.unseal(source)
        values = values_of(opened.known_keys) if opened is not source else ()
        in_use.remember(values)
        return opened, values

    async def for_reading(self, source: Source) -> Credential | None:
        """To read the source's document or listing."""
        chosen = await self.connection_to_read(source)
        return await self.credential(chosen) if chosen is not None else None

    async def connection_to_read(self, source: Source) -> Connection | None:
        """The workspace's, or else the oldest. One for where the document is comes before one for its calls."""
        origins = (source.known_keys.get("unread") or reading_origin(source), origin_of(source))
        fitting = [one for one in await self.of_source(source.id) if one.status == "ready" and one.origin in origins]
        return min(
            fitting, key=lambda one: (one.origin != origins[0], bool(one.actor_id), *resolution.rank(one)), default=None
        )

    async def note_unreadable(self, used: Connection | None, status: int) -> None:
        """Reading was refused. A login may only need a new token, which the next call sees to."""
        if used is not None and used.scheme != "oauth2":
            await self.note_rejection(used, status)

    async def note_rejection(self, connection: Connection, status: int) -> None:
        """The service refused it. After a 401 the next call requests a new one; nothing is retried automatically.

        If someone has replaced the value meanwhile, this says nothing about the new one.
        """
        state: ConnectionStatus = "rejected" if status == 401 else "ready"
        error = f"the service answered {status}"
        if (connection.status, connection.error) != (state, error):
            await self._database.write(lambda c: self._mark(c, connection, state, error))

    async def note_success(self, connection: Connection) -> None:
        if connection.status != "ready" or connection.error:
            await self._database.write(lambda c: self._mark(c, connection, "ready", ""))

    async def of_source(self, source_id: str) -> list[Connection]:
        return await self._known.of(source_id)

    # -- for humans ---------------------------------------------------------------------------------------------------

    async def add(self, source: Source, offer: Offer, *, by: Actor) -> Connection:
        check_scope(offer.scope, by)
        needed = new_connection.needed_for(source, offer)
        actor_id = by.id if offer.scope == "actor" else ""
        return await self._database.write(
            lambda c: new_connection.save(c, self.secrets, source, needed, offer, actor_id=actor_id, by=by)
        )

    async def listing(self, actor: Actor) -> list[tuple[Connection, str]]:
        """Those of the workspace and one's own, each with the namespace of its source; an admin sees all."""

        def read(c: Database_) -> list[tuple[Connection, str]]:
            names = {source.id: source.namespace for source in sources.listing(c, actor.workspace_id)}
            found = [one for one in rows.listing(c, actor.workspace_id) if may_see(actor, one)]
            return [(one, names.get(one.source_id, "")) for one in found]

        return await self._database.read(read)

    async def get(self, actor: Actor, connection_id: str) -> tuple[Connection, str]:
        for one, namespace in await self.listing(actor):
            if one.id == connection_id:
                return one, namespace
        raise NotFound(f"there is no connection {connection_id[:80]!r}", hint="see `executor connections list`")

    async def remove(self, actor: Actor, connection_id: str) -> Connection:
        found, namespace = await self.get(actor, connection_id)
        if not (found.actor_id == actor.id or actor.may("administer")):
            raise Forbidden("this connection belongs to the workspace", hint="an admin can remove it")

        def job(c: Database_) -> None:
            if not rows.delete(c, actor.workspace_id, found.id):
                raise NotFound(f"there is no connection {found.id}", hint="see `executor connections list`")
            secret_rows.delete_under(c, actor.workspace_id, f"connection{OWN}{found.id}{OWN}")
            data = {"id": found.id, "name": found.name, "source": namespace}
            events.append(c, actor.workspace_id, "connection.removed", data, by=actor)

        await self._database.write(job)
        return found

    def end_elsewhere(self, c: Database_, source: Source, origins: Collection[str]) -> None:
        """In a writing job: the calls of a source go to `origins` now, and what is pinned elsewhere has ended.

        It stays ended if they ever go back: a person enters the credential again.
        """
        for one in rows.of_source(c, source.id):
            if one.origin not in origins and one.status != "revoked":
                self._mark(c, one, "revoked", "the calls of the source go elsewhere now")

    def forget_source(self, c: Database_, source: Source) -> None:
        """In a writing job: what was kept for a source that goes. Its connections go with its row."""
        self.statics.forget(c, source)
        for one in rows.of_source(c, source.id):
            secret_rows.delete_under(c, source.workspace_id, f"connection{OWN}{one.id}{OWN}")

    async def _token(self, connection: Connection, rejected: str) -> str:
        if self.grants is None:
            raise CredentialRequired("this connection has no OAuth client", hint="connect with a token instead")
        return await self.grants.access_token(connection, rejected=rejected)

    def _mark(self, c: Database_, connection: Connection, status: ConnectionStatus, error: str) -> None:
        if not rows.set_status(c, connection.id, status, error, revision=connection.revision):
            return
        data = {"id": connection.id, "name": connection.name, "status": status, "error": error}
        events.append(c, connection.workspace_id, "connection.marked", data)

    def _forget(self, announcement: Announcement) -> None:
        if announcement.type.startswith(("connection.", "source.", "secret.")):
            self._forget_all()

    def _forget_all(self) -> None:
        self._known.clear()
        self._uses.clear()
        self._read.clear()


def may_see(actor: Actor, connection: Connection) -> bool:
    return connection.actor_id in ("", actor.id) or actor.may("administer")


def check_scope(scope: str, by: Actor) -> None:
    if scope == "workspace":
        require(by, "sharing a connection with the workspace")
