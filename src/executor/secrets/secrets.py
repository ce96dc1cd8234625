"""`Secrets`: set, use, rotate and remove. A value goes in here, and comes out only to be sent where it belongs."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Mapping
from dataclasses import replace

from sqlalchemy.engine import Connection

from executor.errors import Conflict, InvalidRequest, NotFound, SecretUnavailable
from executor.model.credentials import Provider as ProviderName
from executor.model.credentials import Secret
from executor.model.identity.actor import Actor
from executor.model.identity.permissions import require
from executor.model.ids import new_id, now_ms
from executor.secrets import rotation
from executor.secrets.origins import bind_origin, check_origin
from executor.secrets.providers.provider import Provider
from executor.secrets.rotation import Reseal
from executor.secrets.sealing import Sealed, Sealing
from executor.storage.credentials import connections
from executor.storage.credentials import secrets as rows
from executor.storage.database import Database
from executor.storage.executions import events

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}\Z")
OWN = ":"  # in the names of what Executor keeps itself; no one can give such a name
MAX_VALUE = 64 * 1024
TOUCH_MS = 60_000
OUTSIDE_SECONDS = 60.0


class Secrets:
    """`sealing` keeps the store's own values; `providers` are the places outside, by name."""

    def __init__(self, database: Database, sealing: Sealing, providers: Mapping[str, Provider]) -> None:
        self._database = database
        self._providers = providers
        self._outside_values: dict[str, tuple[float, str]] = {}
        self._rotating = asyncio.Lock()
        self.sealing = sealing
        self.others: list[Reseal] = []

    async def set(
        self,
        workspace_id: str,
        name: str,
        value: str = "",
        *,
        by: Actor,
        provider: ProviderName = "store",
        reference: str = "",
    ) -> Secret:
        """A new one. For the store `value` is sealed; another provider is given `value`, or only pointed at."""
        check_name(name)
        check_reference(by, reference)
        at = now_ms()
        secret = Secret(new_id("sec"), workspace_id, name, provider, reference, by.id, at, at)
        if provider == "keyring":
            secret = replace(secret, reference=f"{workspace_id}/{secret.id}" if value else "")
        if await self._database.read(lambda c: rows.get(c, workspace_id, name)) is not None:
            raise name_taken(name)
        await self._put(secret, value)

        def job(c: Connection) -> None:
            if rows.get(c, workspace_id, name) is not None:
                raise name_taken(name)
            sealed = self._seal(c, secret, value)
            rows.insert(c, secret, sealed.key_id, sealed.data or None)
            events.append(c, workspace_id, "secret.added", {"name": name, "provider": provider}, by=by)

        await self._database.write(job)
        return secret

    def keep(self, c: Connection, workspace_id: str, name: str, value: str, by: str) -> Secret:
        """In a writing job: a value that belongs to something else (a connection, a source) and goes with it."""
        check_value(value)
        at = now_ms()
        secret = Secret(new_id("sec"), workspace_id, name, "store", "", by, at, at)
        sealed = self._seal(c, secret, value)
        rows.put(c, secret, sealed.key_id, sealed.data)
        return secret

    async def rotate(
        self, workspace_id: str, id_or_name: str, value: str = "", *, by: Actor, reference: str = ""
    ) -> Secret:
        """A new value under the same name, used from now on; approvals with the old one are requested again."""
        check_reference(by, reference)
        found = await self.get(workspace_id, id_or_name)
        kept = found.reference if found.provider == "keyring" else reference or found.reference
        secret = replace(found, rotated_at=now_ms(), reference=kept)
        if found.provider == "keyring" and not value:
            raise InvalidRequest("the value is empty", hint="enter it on standard input or at the prompt")
        await self._put(secret, value)

        def job(c: Connection) -> None:
            sealed = self._seal(c, secret, value)
            rows.replace_value(c, secret.id, secret.rotated_at, sealed.key_id, sealed.data or None, secret.reference)
            for one in connections.using(c, workspace_id, secret.id):
                connections.raise_revision(c, one.id)
            events.append(c, workspace_id, "secret.rotated", {"name": secret.name}, by=by)

        await self._database.write(job)
        self._outside_values.clear()
        return secret

    async def remove(self, workspace_id: str, id_or_name: str, *, by: Actor, force: bool = False) -> Secret:
        """Refused while something uses it, unless forced: connections then wait for a new credential."""
        from executor.storage.sessions import model_keys

        secret = await self.get(workspace_id, id_or_name)

        def job(c: Connection) -> None:
            users = connections.using(c, workspace_id, secret.id)
            served = model_keys.using(c, workspace_id, secret.id)
            if users and not force:
                names = ", ".join(one.name for one in users[:5])
                raise Conflict(
                    f"the secret {secret.name!r} is used by {len(users)} connection(s): {names}",
                    hint="remove those first, or pass `force`: their calls will need a new credential",
                )
            if served and not force:
                raise Conflict(
                    f"the secret {secret.name!r} is the model key for {served[0].provider}",
                    hint="set another key first, or pass `force`: sessions will have no key",
                )
            for key in served:
                model_keys.delete(c, workspace_id, key.provider, key.actor_id)
            for one in users:
                connections.set_status(c, one.id, "incomplete", f"its secret {secret.name!r} was removed")
            rows.delete(c, workspace_id, secret.id)
            events.append(c, workspace_id, "secret.removed", {"name": secret.name}, by=by)

        await self._database.write(job)
        outside = self._providers.get(secret.provider)
        if outside is not None and outside.writable:
            await outside.remove(secret.reference)
        self._outside_values.clear()
        return secret

    async def get(self, workspace_id: str, id_or_name: str) -> Secret:
        """One that someone named; what Executor keeps itself is not among them."""
        found = await self._database.read(lambda c: rows.get(c, workspace_id, id_or_name))
        if found is None or OWN in found.name:
            raise NotFound(f"there is no secret {id_or_name[:100]!r}", hint="see `executor secrets list`")
        return found

    async def listing(self, workspace_id: str) -> list[Secret]:
        found = await self._database.read(lambda c: rows.listing(c, workspace_id))
        return [secret for secret in found if OWN not in secret.name]

    async def value(self, workspace_id: str, id_or_name: str, origin: str | None = None) -> str:
        """For a call on its way out, and no one else. One that has a name is sent to its own `origin` alone."""

        def read(c: Connection) -> tuple[Secret | None, str]:
            found = rows.get(c, workspace_id, id_or_name)
            return found, self._unseal(c, found) if found is not None and found.provider == "store" else ""

        secret, value = await self._database.read(read)
        if secret is None:
            raise SecretUnavailable(f"the secret {id_or_name[:100]!r} was removed", hint="enter the credential again")
        if origin is not None and OWN not in secret.name:
            check_origin(secret, origin)
        if secret.provider != "store":
            value = await self._outside_value(secret)
        at = now_ms()
        if at - (secret.last_used_at or 0) > TOUCH_MS:
            await self._database.write(lambda c: rows.touch(c, secret.id, at))
        return value

    async def allow_origin(self, workspace_id: str, id_or_name: str, origin: str, *, by: Actor) -> Secret:
        """Let it be sent to one more place."""

        def job(c: Connection) -> Secret:
            found = rows.get(c, workspace_id, id_or_name)
            if found is None or OWN in found.name:
                raise NotFound(f"there is no secret {id_or_name[:100]!r}", hint="see `executor secrets list`")
            bind_origin(c, found, origin, allow=True, by=by)
            return rows.get(c, workspace_id, found.id) or found

        return await self._database.write(job)

    async def rotate_key(self, *, workspace_id: str = "", by: Actor | None = None) -> int:
        """A new master key and a new data key for everything; how many values were sealed again."""

        def job(c: Connection) -> int:
            count = rotation.rotate(c, self.sealing, self.others)
            if workspace_id:
                events.append(c, workspace_id, "secret.resealed", {"values": count}, by=by)
            return count

        async with self._rotating:  # to finish one while the next is under way would remove the key of the next
            count = await self._database.write(job)
            await self.finish_rotation()
        return count

    async def finish_rotation(self) -> None:
        """Also at the start, for a rotation that a crash interrupted."""
        await self._database.read(self.sealing.finish_rotation)

    async def _outside_value(self, secret: Secret) -> str:
        known = self._outside_values.get(secret.id)
        if known is not None and known[0] > time.monotonic():
            return known[1]
        value = await self._outside(secret.provider).read(secret.reference)
        check_value(value)
        self._outside_values[secret.id] = time.monotonic() + OUTSIDE_SECONDS, value
        return value

    async def _put(self, secret: Secret, value: str) -> None:
        """To where it is kept, if that is outside. Nothing is written here before it worked."""
        if secret.provider == "store":
            check_value(value)
            return
        outside = self._outside(secret.provider)
        outside.check(secret.reference)
        if value and not outside.writable:
            raise InvalidRequest(
                f"{secret.provider} does not take values from Executor",
                hint="set the value there, and pass only its reference here",
            )
        if value:
            check_value(value)
            await outside.write(secret.reference, value)

    def _outside(self, name: str) -> Provider:
        found = self._providers.get(name)
        if found is None:
            raise InvalidRequest(
                f"there is no secret provider {name!r}", hint=f"use store, {', '.join(sorted(self._providers))}"
            )
        return found

    def _seal(self, c: Connection, secret: Secret, value: str) -> Sealed:
        if secret.provider != "store":
            return Sealed("", b"")
        return self.sealing.seal(c, value.encode(), rotation.context(secret.workspace_id, secret.id))

    def _unseal(self, c: Connection, secret: Secret) -> str:
        found = rows.read_sealed(c, secret.workspace_id, secret.id)
        if found is None:
            raise SecretUnavailable(f"the secret {secret.name!r} has no value", hint="set it with `secrets rotate`")
        return self.sealing.unseal(c, Sealed(*found), rotation.context(secret.workspace_id, secret.id)).decode()


def check_reference(by: Actor, reference: str) -> None:
    """The daemon reads it with what it has itself: its environment, its vault. That is not an organization's."""
    if reference:
        require(by, "pointing at a value outside the store")


def name_taken(name: str) -> Conflict:
    return Conflict(f"a secret {name!r} already exists", hint="change its value with `secrets rotate`")


def check_value(value: str) -> None:
    if not value:
        raise InvalidRequest("the value is empty", hint="enter it on standard input or at the prompt")
    if len(value) > MAX_VALUE:
        raise InvalidRequest(f"a secret has at most {MAX_VALUE} characters", hint="store a reference to it instead")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise InvalidRequest("the value is not valid Unicode text", hint="send it as UTF-8") from error


def check_name(name: str) -> None:
    if not NAME.match(name):
        raise InvalidRequest(
            f"{name[:100]!r} is not a valid secret name",
            hint="use letters, digits, dots, dashes and underscores, at most 100 characters",
        )
