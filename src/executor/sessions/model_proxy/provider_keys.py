"""Provider keys: which secret serves a provider, set by people and read for one request at a time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from sqlalchemy.engine import Connection

from executor.errors import CredentialRequired, InvalidRequest, NotFound
from executor.model.identity.actor import Actor
from executor.model.identity.permissions import require
from executor.model.ids import now_ms
from executor.model.sessions.model_usage import ModelKey, ModelProvider
from executor.secrets import in_use
from executor.secrets.origins import bind_origin
from executor.secrets.secrets import OWN, Secrets
from executor.sessions.party import SessionParty
from executor.storage.credentials import secrets as secret_rows
from executor.storage.database import Database
from executor.storage.executions import events
from executor.storage.sessions import model_keys as rows

KeyScope = Literal["workspace", "actor"]
MAX_KEY = 4096


class ProviderKeys:
    """`origins` are where each provider is: a key is sent there and nowhere else."""

    def __init__(self, database: Database, secrets: Secrets, origins: Mapping[ModelProvider, str]) -> None:
        self._database = database
        self._secrets = secrets
        self.origins = origins

    async def set(
        self, provider: ModelProvider, scope: KeyScope, *, value: str = "", secret: str = "", by: Actor
    ) -> tuple[ModelKey, str]:
        """Either a `value`, which is stored, or the name of a `secret` that is there. Replaces what was set before."""
        if bool(value) == bool(secret):
            raise InvalidRequest("pass either a value or the name of a secret", hint="and not both")
        check_scope(scope, by)
        actor_id = by.id if scope == "actor" else ""
        if value:
            check_value(value)
        else:
            require(by, "using a stored secret")

        def job(c: Connection) -> ModelKey:
            drop(c, by.workspace_id, provider, actor_id)
            secret_id = self._keep(c, provider, actor_id, value, by) if value else self._bind(c, provider, secret, by)
            key = ModelKey(by.workspace_id, provider, actor_id, secret_id, by.id, now_ms())
            rows.put(c, key)
            events.append(c, by.workspace_id, "model_key.set", {"provider": provider, "scope": scope}, by=by)
            return key

        return await self._database.write(job), secret

    async def listing(self, actor: Actor) -> list[tuple[ModelKey, str]]:
        """Those of the workspace and one's own, each with the name of its secret; empty for one without a name."""

        def read(c: Connection) -> list[tuple[ModelKey, str]]:
            mine = [key for key in rows.listing(c, actor.workspace_id) if key.actor_id in ("", actor.id)]
            return [(key, name_of(c, key)) for key in mine]

        return await self._database.read(read)

    async def remove(self, provider: str, scope: KeyScope, *, by: Actor) -> None:
        check_scope(scope, by)
        actor_id = by.id if scope == "actor" else ""

        def job(c: Connection) -> None:
            if not drop(c, by.workspace_id, provider, actor_id):
                raise NotFound(
                    f"no {provider[:50]} key is set for {'you' if actor_id else 'this workspace'}",
                    hint="see `executor sessions keys list`",
                )
            events.append(c, by.workspace_id, "model_key.removed", {"provider": provider, "scope": scope}, by=by)

        await self._database.write(job)

    async def find(self, party: SessionParty, provider: ModelProvider) -> ModelKey:
        """The user's own key, or else that of the workspace. Raises CredentialRequired."""

        def read(c: Connection) -> ModelKey | None:
            own = rows.get(c, party.workspace_id, provider, party.actor_id) if party.actor_id else None
            return own or rows.get(c, party.workspace_id, provider, "")

        found = await self._database.read(read)
        if found is None:
            raise CredentialRequired(
                f"no key for {provider} is set", hint=f"set one with `executor sessions keys set {provider}`"
            )
        return found

    async def value(self, party: SessionParty, provider: ModelProvider) -> str:
        """The real key, for a request on its way out. Raises CredentialRequired, SecretUnavailable, SecretElsewhere."""
        key = await self.find(party, provider)
        value = await self._secrets.value(party.workspace_id, key.secret_id, self.origins[provider])
        in_use.remember((value,))
        return value.strip()

    def _keep(self, c: Connection, provider: ModelProvider, actor_id: str, value: str, by: Actor) -> str:
        return self._secrets.keep(c, by.workspace_id, own_name(provider, actor_id), value.strip(), by.id).id

    def _bind(self, c: Connection, provider: ModelProvider, name: str, by: Actor) -> str:
        found = secret_rows.get(c, by.workspace_id, name)
        if found is None or OWN in found.name:
            raise NotFound(f"there is no secret {name[:100]!r}", hint="see `executor secrets list`")
        bind_origin(c, found, self.origins[provider], allow=False, by=by)
        return found.id


def own_name(provider: str, actor_id: str) -> str:
    return f"model{OWN}{provider}{OWN}{actor_id or 'workspace'}"


def name_of(c: Connection, key: ModelKey) -> str:
    found = secret_rows.get(c, key.workspace_id, key.secret_id)
    return "" if found is None or OWN in found.name else found.name


def drop(c: Connection, workspace_id: str, provider: str, actor_id: str) -> bool:
    """With the value that was stored for it. A secret with a name stays."""
    secret_rows.delete_named(c, workspace_id, own_name(provider, actor_id))
    return rows.delete(c, workspace_id, provider, actor_id)


def check_scope(scope: KeyScope, by: Actor) -> None:
    if scope == "workspace":
        require(by, "sharing a model key with the workspace")


def check_value(value: str) -> None:
    text = value.strip()
    if not text or len(text) > MAX_KEY or not text.isascii() or not text.isprintable() or " " in text:
        raise InvalidRequest(
            f"a model key is one word of at most {MAX_KEY} visible ASCII characters",
            hint="copy it again from the provider",
        )
