"""What an executor process and its agent show to the daemon: the session's token, and a key for `/mcp`."""

from __future__ import annotations

from sqlalchemy.engine import Connection

from executor.model.ids import now_ms
from executor.storage.database import Database
from executor.storage.executions import events
from executor.storage.identity import api_keys
from executor.storage.sessions import tokens


async def end_credentials(database: Database, workspace_id: str, session_id: str, key_id: str) -> None:
    """Their process has ended, or never began. Executions that were submitted with the key continue: no one took
    anything from the agent."""

    def write(c: Connection) -> None:
        at = now_ms()
        tokens.revoke(c, session_id, at)
        if key_id and api_keys.expire(c, workspace_id, key_id, at):
            events.append(c, workspace_id, "key.revoked", {"keyId": key_id})

    await database.write(write)
