"""Failures are slowed down, and nobody who shows something good ever pays for the failures of others."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Iterator

import pytest

from executor.identity.authentication import LOOKUPS, TRIES
from executor.identity.rate_limit import neighbourhood
from tests.support.rate_limits import stop_rate_limit_clocks
from tests.surfaces.api.daemon_server import Answer, Daemon
from tests.surfaces.api.identities import Caller, create_key, expect_created, fragment, nobody, operator, signed_in


@pytest.fixture(autouse=True)
def forgiven(daemon: Daemon, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No try comes back while a test runs, however long it takes."""
    for attempts in (daemon.executor.authenticator.attempts, daemon.executor.anonymous.failures):
        monkeypatch.setattr(attempts, "_per_second", 1e-9)
    yield
    daemon.executor.authenticator.attempts.clear()
    daemon.executor.anonymous.failures.clear()


def junk() -> str:
    return secrets.token_urlsafe(32)


FLOODS: dict[str, Callable[[Daemon], Answer]] = {
    "bearer tokens": lambda daemon: Caller(daemon, "junk", f"exk_{junk()}").get("/v1/auth/whoami"),
    "cookies": lambda daemon: Caller(daemon, "junk", cookie=f"executor_session={junk()}").get("/v1/auth/whoami"),
    "links": lambda daemon: nobody(daemon).post("/v1/auth/sign-in", {"token": junk()}),
    "invitations": lambda daemon: nobody(daemon).post("/v1/invitations/accept", {"token": junk(), "name": "x"}),
}


@pytest.mark.parametrize("flood", FLOODS)
def test_a_flood_of_failures_shuts_out_nothing_that_is_good(
    daemon: Daemon, flood: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`Attempts.limit_failures`: looked up first, and only what failed is counted and refused."""
    stop_rate_limit_clocks(daemon, monkeypatch)
    mine = operator(daemon)
    link = expect_created(mine.post("/v1/auth/links"))
    invitation = expect_created(mine.post("/v1/invitations", {"role": "viewer"}))
    fresh, browser = create_key(daemon, "read"), signed_in(daemon)
    session = made_session(daemon)
    statuses = [FLOODS[flood](daemon).status for _ in range(TRIES + 20)]
    assert set(statuses) == {401, 429}
    assert statuses[0] == 401
    assert statuses[-1] == 429
    assert fresh.get("/v1/auth/whoami").status == 200
    assert browser.get("/v1/auth/whoami").status == 200
    assert nobody(daemon).post("/v1/auth/sign-in", {"token": fragment(link["url"])}).status == 200
    joining = {"token": fragment(invitation["url"]), "name": "Guest"}
    assert nobody(daemon).post("/v1/invitations/accept", joining).status == 200
    assert nobody(daemon).post("/v1/auth/anonymous/token", {"sessionId": session}).status == 200
    assert FLOODS[flood](daemon).headers["retry-after"]


def made_session(daemon: Daemon) -> str:
    daemon.executor.anonymous.starts.clear()
    return str(expect_created(nobody(daemon).post("/v1/auth/anonymous/bootstrap"))["sessionId"])


def test_guessed_sessions_shut_out_no_session_that_was_started(daemon: Daemon, monkeypatch: pytest.MonkeyPatch) -> None:
    stop_rate_limit_clocks(daemon, monkeypatch)
    session = made_session(daemon)
    statuses = [nobody(daemon).post("/v1/auth/anonymous/token", {"sessionId": junk()}).status for _ in range(30)]
    assert statuses[-1] == 429
    assert nobody(daemon).post("/v1/auth/anonymous/token", {"sessionId": session}).status == 200


def test_what_no_one_has_seen_is_looked_up_a_few_at_a_time_and_the_known_need_not_wait(daemon: Daemon) -> None:
    """`Authenticator._lookups`: with every turn taken by a flood, whoever came before is served as always."""
    known = create_key(daemon, "read")
    assert known.get("/v1/auth/whoami").status == 200
    turns: asyncio.Semaphore = daemon.executor.authenticator._lookups

    async def take() -> None:
        for _ in range(LOOKUPS):
            await turns.acquire()

    async def give() -> None:
        for _ in range(LOOKUPS):
            turns.release()

    daemon.run(take())
    try:
        assert known.get("/v1/auth/whoami").status == 200
        assert operator(daemon).get("/v1/auth/whoami").status == 200
        assert daemon.get("/v1/auth/whoami", role="agent").status == 200
    finally:
        daemon.run(give())


@pytest.mark.parametrize("address", ["127.0.0.1", "127.0.0.2", "127.255.255.254", "::1", "::ffff:127.0.0.9"])
def test_this_machine_is_one_address(address: str) -> None:
    assert neighbourhood(address) == "127.0.0.1"
