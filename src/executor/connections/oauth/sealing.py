"""What is sealed of logins, clients and grants, and to what each is bound."""

from __future__ import annotations

from typing import Any

import orjson
from sqlalchemy.engine import Connection

from executor.secrets.sealing import Sealed, Sealing
from executor.storage.credentials import connections, oauth_flows


def flow_context(workspace_id: str, state_digest: str) -> str:
    return f"oauth flow {workspace_id} {state_digest}"


def client_context(workspace_id: str, row_id: str) -> str:
    return f"oauth client {workspace_id} {row_id}"


def grant_context(workspace_id: str, connection_id: str) -> str:
    return f"grant {workspace_id} {connection_id}"


def seal(c: Connection, sealing: Sealing, value: Any, context: str) -> Sealed:
    return sealing.seal(c, orjson.dumps(value), context)


def unseal(c: Connection, sealing: Sealing, key_id: str, data: bytes, context: str) -> Any:
    return orjson.loads(sealing.unseal(c, Sealed(key_id, data), context))


def reseal(c: Connection, sealing: Sealing) -> None:
    """All of it under the newest key: part of the rotation of keys. What someone has replaced since it was read stays:
    it is newer, and the key that it is sealed with stays too."""
    for client in oauth_flows.every_client(c):
        if client.sealed is not None:
            fresh = _reseal(c, sealing, client.key_id, client.sealed, client_context(client.workspace_id, client.id))
            oauth_flows.reseal_client(c, client.id, fresh.key_id, fresh.data, before=client.sealed)
    for flow in oauth_flows.every_flow(c):
        fresh = _reseal(c, sealing, flow.key_id, flow.sealed, flow_context(flow.workspace_id, flow.state_digest))
        oauth_flows.replace_flow(c, flow.state_digest, fresh.key_id, fresh.data, before=flow.sealed)
    for grant in connections.every_grant(c):
        context = grant_context(grant.workspace_id, grant.connection_id)
        fresh = _reseal(c, sealing, grant.key_id, grant.sealed, context)
        connections.reseal_grant(c, grant, fresh.key_id, fresh.data)


def _reseal(c: Connection, sealing: Sealing, key_id: str, data: bytes, context: str) -> Sealed:
    return sealing.seal(c, sealing.unseal(c, Sealed(key_id, data), context), context)
