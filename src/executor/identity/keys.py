"""Personal API keys: what a human gives to a program that acts for them, with at most what they may do themselves."""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy.engine import Connection

from executor.errors import Conflict, Forbidden, NotFound
from executor.identity.new_token import PERSONAL, mint
from executor.model.identity.access import Key
from executor.model.identity.actor import Actor
from executor.model.identity.permissions import Permission
from executor.model.ids import new_id, now_ms
from executor.storage.database import Database
from executor.storage.executions import events
from executor.storage.identity import api_keys

MOST = 100


async def create(
    database: Database, by: Actor, name: str, scopes: Iterable[Permission], expires_at: int | None
) -> tuple[Key, str]:
    """The key and, this one time, its token."""
    wanted = tuple(sorted(set(scopes)))
    if beyond := [scope for scope in wanted if not by.may(scope)]:
        raise Forbidden(
            f"you can't give a key the scope `{beyond[0]}`, because you don't have it", hint="leave out that scope"
        )
    minted, at = mint(PERSONAL), now_ms()
    key = Key(
        new_id("key"), by.workspace_id, by.id, "personal", name, minted.prefix, wanted, by.id, at, expires_at=expires_at
    )

    def write(c: Connection) -> None:
        if api_keys.count_usable(c, by.workspace_id, by.id, at) >= MOST:
            raise Conflict(f"you already have {MOST} keys", hint="revoke one with `executor keys revoke`")
        api_keys.insert(c, key, minted.digest)
        data = {"keyId": key.id, "name": name, "scopes": list(wanted), "prefix": key.prefix}
        events.append(c, by.workspace_id, "key.created", data, by=by)

    await database.write(write)
    return key, minted.token


async def listing(database: Database, by: Actor) -> list[Key]:
    """One's own; those of everyone for anyone who administers the workspace."""
    whose = None if by.may("administer") else by.id
    return await database.read(lambda c: api_keys.listing(c, by.workspace_id, "personal", whose))


async def revoke(database: Database, by: Actor, key_id: str) -> Key:
    at = now_ms()

    def write(c: Connection) -> Key:
        found = api_keys.get(c, by.workspace_id, key_id)
        theirs = found is not None and found.kind == "personal" and (found.actor_id == by.id or by.may("administer"))
        if found is None or not theirs:
            raise NotFound(f"there is no key {key_id!r}", hint="see `executor keys list`")
        if not api_keys.revoke(c, by.workspace_id, key_id, at):
            raise Conflict(f"key {key_id} is already revoked", hint="there is nothing left to do")
        data = {"keyId": key_id, "name": found.name, "prefix": found.prefix}
        events.append(c, by.workspace_id, "key.revoked", data, by=by)
        return found

    return await database.write(write)
