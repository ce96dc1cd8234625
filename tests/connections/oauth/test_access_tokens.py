"""Access tokens are renewed once, wherever and however often they are wanted."""

from __future__ import annotations

import asyncio
import sys
import textwrap

import pytest
import sqlalchemy as sa

from executor.errors import CredentialRequired, OAuthFailed, StorageFull
from executor.model.ids import now_ms
from executor.storage.credentials import connections
from executor.storage.executions import events
from executor.storage.tables.access import grants
from tests.support.login_harness import LoginHarness
from tests.support.loopback import Answer


async def expire(harness: LoginHarness) -> None:
    """As if its time had passed; the service does not take the token any more either."""
    await harness.database.write(lambda c: c.execute(sa.update(grants).values(expires_at=now_ms() - 1)))
    for token in harness.authority.ledger.tokens:
        token.expires_at = 0
    harness.logins.grants._known.clear()


async def test_fifty_calls_with_an_expired_token_make_one_refresh(harness: LoginHarness) -> None:
    await harness.login()
    await expire(harness)
    connection = await harness.connection()
    tokens = await asyncio.gather(*(harness.logins.grants.access_token(connection) for _ in range(50)))
    assert len(set(tokens)) == 1
    assert harness.authority.ledger.asked["refresh_token"] == 1
    assert harness.authority.ledger.token(tokens[0])


async def test_two_processes_make_one_refresh_between_them(harness: LoginHarness) -> None:
    """Two real processes on the same data directory, 25 calls each, with a server that takes its time."""
    await harness.login()
    await expire(harness)
    connection = await harness.connection()
    path = harness.database.engine.url.database
    program = textwrap.dedent(
        """
        import asyncio, sys
        from pathlib import Path
        from executor.connections.oauth.logins import Logins
        from executor.secrets.master import FileKeeper
        from executor.secrets.master_keys import KeptKeys
        from executor.secrets.sealing import Sealing
        from executor.secrets.secrets import Secrets
        from executor.network.client import Egress
        from executor.storage.credentials import connections
        from executor.storage.database import Database, open_engine

        async def main(path, connection_id, workspace_id):
            database = Database(open_engine(Path(path)))
            secrets = Secrets(database, Sealing(KeptKeys(FileKeeper(Path(path).parent))), {})
            egress = Egress()
            logins = Logins(database, secrets, egress, "http://127.0.0.1:8788")
            connection = await database.read(lambda c: connections.get(c, workspace_id, connection_id))
            print("ready", flush=True)
            await asyncio.to_thread(sys.stdin.readline)
            tokens = await asyncio.gather(*(logins.grants.access_token(connection) for _ in range(25)))
            print(*sorted(set(tokens)), flush=True)
            await egress.close()
            await database.close()

        asyncio.run(main(*sys.argv[1:]))
        """
    )
    arguments = (sys.executable, "-c", program, str(path), connection.id, connection.workspace_id)
    started = [
        await asyncio.create_subprocess_exec(*arguments, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE)
        for _ in range(2)
    ]
    for process in started:
        assert process.stdout is not None
        assert await asyncio.wait_for(process.stdout.readline(), 60) == b"ready\n"
    answers = await asyncio.gather(*(asyncio.wait_for(process.communicate(b"go\n"), 60) for process in started))
    [one, other] = [output.decode().split() for output, _ in answers]
    assert one == other
    assert len(one) == 1
    assert harness.authority.ledger.asked["refresh_token"] == 1


async def test_a_token_is_renewed_before_it_runs_out(harness: LoginHarness) -> None:
    harness.authority.ledger.lifetime = 30
    await harness.login()
    connection = await harness.connection()
    first = await harness.logins.grants.access_token(connection)
    soon = now_ms() + 2_000  # within a tenth of thirty seconds
    await harness.database.write(lambda c: c.execute(sa.update(grants).values(expires_at=soon)))
    harness.logins.grants._known.clear()
    assert await harness.logins.grants.access_token(connection) != first


async def test_a_rotated_refresh_token_is_kept_and_works_the_next_time(harness: LoginHarness) -> None:
    await harness.login()
    connection = await harness.connection()
    seen = set()
    for _ in range(3):
        await expire(harness)
        seen.add(await harness.logins.grants.access_token(connection))
    assert len(seen) == 3
    assert not harness.authority.ledger.revoked


async def test_an_answer_without_a_new_refresh_token_keeps_the_old_one(harness: LoginHarness) -> None:
    harness.authority.ledger.rotates = False
    await harness.login()
    connection = await harness.connection()
    for _ in range(2):
        await expire(harness)
        assert await harness.logins.grants.access_token(connection)


async def test_a_server_that_refuses_the_scope_is_asked_again_without_it(harness: LoginHarness) -> None:
    harness.authority.ledger.refuses_scope = True
    await harness.login()
    await expire(harness)
    assert await harness.logins.grants.access_token(await harness.connection())
    sent = [form.get("scope") for form in harness.authority.ledger.forms if form["grant_type"] == "refresh_token"]
    assert sent == ["read write offline_access", None]


async def test_a_revoked_grant_asks_for_consent_once_and_never_the_server_again(harness: LoginHarness) -> None:
    await harness.login()
    harness.authority.ledger.revoked.add(harness.authority.ledger.tokens[-1].family)
    await expire(harness)
    with pytest.raises(CredentialRequired, match=r"needs a new login.*invalid_grant"):
        await harness.logins.grants.access_token(await harness.connection())
    connection = await harness.connection()
    assert connection.status == "revoked"
    assert "invalid_grant" in connection.error
    assert harness.authority.ledger.asked["refresh_token"] == 1
    found = await harness.database.read(lambda c: events.after(c, harness.operator.workspace_id))
    assert found[-1].type == "connection.marked"
    await harness.login()
    assert (await harness.connection()).status == "ready"


async def test_a_grant_that_can_not_be_renewed_expires(harness: LoginHarness) -> None:
    harness.authority.hook = without_refresh_token(harness)
    await harness.login()
    await expire(harness)
    with pytest.raises(CredentialRequired):
        await harness.logins.grants.access_token(await harness.connection())
    assert (await harness.connection()).status == "expired"


async def test_a_server_that_is_down_loses_nothing(harness: LoginHarness) -> None:
    await harness.login()
    await expire(harness)
    connection = await harness.connection()
    harness.authority.hook = lambda path, data: (503, {}, {})
    with pytest.raises(OAuthFailed):
        await harness.logins.grants.access_token(connection)
    assert (await harness.connection()).status == "ready"
    harness.authority.hook = lambda path, data: None
    assert await harness.logins.grants.access_token(connection)


async def test_a_token_that_still_works_is_used_while_the_server_is_down(harness: LoginHarness) -> None:
    harness.authority.ledger.lifetime = 300
    await harness.login()
    connection = await harness.connection()
    first = await harness.logins.grants.access_token(connection)
    soon = now_ms() + 10_000
    await harness.database.write(lambda c: c.execute(sa.update(grants).values(expires_at=soon)))
    harness.logins.grants._known.clear()
    harness.authority.hook = lambda path, data: (503, {}, {})
    assert await harness.logins.grants.access_token(connection) == first


async def test_a_token_that_the_service_rejects_is_renewed_although_it_looks_good(harness: LoginHarness) -> None:
    await harness.login()
    connection = await harness.connection()
    first = await harness.logins.grants.access_token(connection)
    tokens = await asyncio.gather(*(harness.logins.grants.access_token(connection, rejected=first) for _ in range(10)))
    assert len(set(tokens)) == 1
    assert tokens[0] != first
    assert harness.authority.ledger.asked["refresh_token"] == 1


async def test_a_claim_of_a_process_that_died_runs_out(harness: LoginHarness) -> None:
    await harness.login()
    await expire(harness)
    connection = await harness.connection()
    until = now_ms() + 300
    claimed = await harness.database.write(
        lambda c: connections.claim_refresh(c, connection.id, 1, "a dead process", now_ms(), until)
    )
    assert claimed
    assert await harness.logins.grants.access_token(connection)
    assert now_ms() >= until


async def test_tokens_that_could_not_be_written_are_written_by_the_next_attempt(
    harness: LoginHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server has rotated: to ask it again with the old token would lose the grant."""
    await harness.login()
    await expire(harness)
    connection = await harness.connection()
    with monkeypatch.context() as patched:

        def full(*_: object) -> bool:
            raise StorageFull("the disk is full")

        patched.setattr(connections, "finish_refresh", full)
        with pytest.raises(StorageFull):
            await harness.logins.grants.access_token(connection)
    token = await harness.logins.grants.access_token(connection)
    assert harness.authority.ledger.token(token)
    assert harness.authority.ledger.asked["refresh_token"] == 1
    assert not harness.authority.ledger.revoked


async def test_a_new_consent_during_a_refresh_wins_over_it(harness: LoginHarness) -> None:
    await harness.login()
    await expire(harness)
    connection = await harness.connection()
    before = harness.authority.hook
    loop = asyncio.get_running_loop()

    def meanwhile(path: str, data: dict[str, str]) -> Answer | None:
        if data.get("grant_type") == "refresh_token":
            harness.authority.hook = before
            asyncio.run_coroutine_threadsafe(harness.login(), loop).result(120)
        return None

    harness.authority.hook = meanwhile
    token = await harness.logins.grants.access_token(connection)
    assert token == await harness.logins.grants.access_token(await harness.connection())
    assert harness.authority.ledger.token(token)


def without_refresh_token(harness: LoginHarness) -> object:
    """The server's own answer, without that part."""

    def answer(path: str, data: dict[str, str]) -> Answer | None:
        if path != "/token":
            return None
        harness.authority.hook = lambda path, data: None
        status, body, headers = harness.authority.answer(
            "POST", path, "&".join(f"{k}={v}" for k, v in data.items()).encode(), {}
        )
        body.pop("refresh_token", None)
        return status, body, headers

    return answer
