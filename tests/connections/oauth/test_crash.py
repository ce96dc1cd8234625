"""A process that is killed while it renews a token: the next one takes over, and nobody is stuck."""

from __future__ import annotations

import asyncio
import sys
import textwrap
import threading

import pytest

from executor.errors import CredentialRequired
from tests.connections.oauth.test_access_tokens import expire
from tests.support.login_harness import LoginHarness
from tests.support.loopback import Answer

PROGRAM = textwrap.dedent(
    """
    import asyncio, sys
    from pathlib import Path
    from executor.connections.oauth import access_tokens
    from executor.connections.oauth.logins import Logins
    from executor.secrets.master import FileKeeper
    from executor.secrets.master_keys import KeptKeys
    from executor.secrets.sealing import Sealing
    from executor.secrets.secrets import Secrets
    from executor.network.client import Egress
    from executor.storage.credentials import connections
    from executor.storage.database import Database, open_engine

    access_tokens.CLAIM_MS = 2_000

    async def main(path, connection_id, workspace_id):
        database = Database(open_engine(Path(path)))
        secrets = Secrets(database, Sealing(KeptKeys(FileKeeper(Path(path).parent))), {})
        logins = Logins(database, secrets, Egress(), "http://127.0.0.1:8788")
        connection = await database.read(lambda c: connections.get(c, workspace_id, connection_id))
        await logins.grants.access_token(connection)

    asyncio.run(main(*sys.argv[1:]))
    """
)


async def killed_while_renewing(harness: LoginHarness, *, after_the_server_acted: bool) -> None:
    """A real process, killed while the server holds its answer back."""
    connection = await harness.connection()
    arrived, gone = threading.Event(), threading.Event()

    def hold(path: str, data: dict[str, str]) -> Answer | None:
        if data.get("grant_type") != "refresh_token":
            return None
        harness.authority.hook = lambda path, data: None
        if after_the_server_acted:
            body = "&".join(f"{name}={value}" for name, value in data.items()).encode()
            harness.authority.answer("POST", path, body, {})
        arrived.set()
        gone.wait(120)
        return 503, {}, {}

    harness.authority.hook = hold
    path = str(harness.database.engine.url.database)
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", PROGRAM, path, connection.id, connection.workspace_id
    )
    assert await asyncio.to_thread(arrived.wait, 60)
    process.kill()
    await process.wait()
    gone.set()


async def test_killed_before_the_server_acted_the_grant_is_renewed_by_the_next(harness: LoginHarness) -> None:
    await harness.login()
    await expire(harness)
    await killed_while_renewing(harness, after_the_server_acted=False)
    token = await harness.logins.grants.access_token(await harness.connection())
    assert harness.authority.ledger.token(token)


async def test_killed_after_the_server_rotated_a_person_is_asked_and_then_it_works(harness: LoginHarness) -> None:
    """Nobody has the new refresh token: the server takes the old one for stolen, and says so once."""
    await harness.login()
    await expire(harness)
    await killed_while_renewing(harness, after_the_server_acted=True)
    with pytest.raises(CredentialRequired, match="needs a new login"):
        await harness.logins.grants.access_token(await harness.connection())
    assert (await harness.connection()).status == "revoked"
    await harness.login()
    assert await harness.logins.grants.access_token(await harness.connection())
