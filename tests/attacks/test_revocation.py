"""Whatever is held open ends with the credential it was opened with: streams, waits, half-sent requests."""

from __future__ import annotations

import http.client
import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from executor.identity.presented import Shown
from executor.model.ids import now_ms
from executor.storage.tables.access import api_keys, browser_sessions
from executor.surfaces.http import open_requests
from tests.support.conditions import wait_for
from tests.surfaces.api.daemon_server import Answer, Daemon, running_daemon
from tests.surfaces.api.identities import (
    Caller,
    agent,
    anonymous,
    create_key,
    expect_created,
    invite,
    nobody,
    operator,
    signed_in,
)

LIMIT = 60.0
SLOW = "await new Promise(done => setTimeout(done, 250000)); return 1"


@contextmanager
def patient(directory: Path, seconds: float) -> Iterator[Daemon]:
    """A daemon that looks credentials up again every so many seconds by itself."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(open_requests, "CONFIRM_SECONDS", seconds)
        with running_daemon(directory) as daemon:
            yield daemon


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """Never by itself: what ends here ends because of the revocation."""
    with patient(tmp_path_factory.mktemp("daemon"), 100_000.0) as daemon:
        yield daemon


def sent_by(caller: Caller, **more: str) -> dict[str, str]:
    credential = {"Authorization": f"Bearer {caller.token}"} if caller.token else {"Cookie": caller.cookie}
    return {**credential, "Origin": caller.daemon.url, **more}


class Stream:
    """Read to its end by a thread, as text."""

    def __init__(self, caller: Caller, path: str) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", caller.daemon.port, timeout=LIMIT)
        self._connection.request("GET", path, headers=sent_by(caller, Accept="text/event-stream"))
        self.response = self._connection.getresponse()
        self.status = self.response.status
        self.text = ""
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

        STREAMS.append(self)

    def _read(self) -> None:
        with suppress(OSError, ValueError):
            while line := self.response.readline():
                self.text += line.decode()

    def read_to_end(self) -> str:
        self._thread.join(LIMIT)
        assert not self._thread.is_alive(), "the stream goes on"
        return self.text

    def close(self) -> None:
        if (sock := self._connection.sock) is not None:
            with suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
        self._thread.join(LIMIT)
        self.response.close()
        self._connection.close()


STREAMS: list[Stream] = []


@pytest.fixture(autouse=True)
def close_streams() -> Iterator[None]:
    yield
    while STREAMS:
        STREAMS.pop().close()


@dataclass
class Waiting:
    """A request that is answered late."""

    ask: Callable[[], Answer]
    answers: list[Answer] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._thread = threading.Thread(target=lambda: self.answers.append(self.ask()), daemon=True)
        self._thread.start()

    @property
    def answer(self) -> Answer:
        self._thread.join(LIMIT)
        assert self.answers, "the wait goes on"
        return self.answers[0]


def revoke_key(caller: Caller) -> None:
    newest = operator(caller.daemon).get("/v1/keys").json["items"][-1]
    assert operator(caller.daemon).delete(f"/v1/keys/{newest['id']}").status == 204


def remove_member(caller: Caller) -> None:
    assert operator(caller.daemon).delete(f"/v1/members/{caller.account}").status == 204


def close_session(caller: Caller) -> None:
    current = next(one for one in caller.get("/v1/auth/sessions").json["items"] if one["current"])
    assert signed_in_again(caller).delete(f"/v1/auth/sessions/{current['id']}").status == 204


def signed_in_again(caller: Caller) -> Caller:
    """Another browser of the same account."""
    link = expect_created(operator(caller.daemon).post("/v1/auth/links", {"accountId": caller.account}))
    answer = nobody(caller.daemon).post("/v1/auth/sign-in", {"token": link["url"].partition("#")[2]})
    return Caller(caller.daemon, "other", cookie=answer.headers["set-cookie"].partition(";")[0])


def sign_out(caller: Caller) -> None:
    assert caller.post("/v1/auth/sign-out").status == 204


def revoke_agent(caller: Caller) -> None:
    mine = caller.get("/v1/auth/whoami").json["actorId"]
    assert operator(caller.daemon).delete(f"/v1/agents/{mine}").status == 204


READERS: dict[str, tuple[Callable[[Daemon], Caller], Callable[[Caller], None]]] = {
    "a key that is revoked": (lambda daemon: create_key(daemon, "read"), revoke_key),
    "a member who is removed": (lambda daemon: invite(daemon, "member"), remove_member),
    "a viewer who is removed": (lambda daemon: invite(daemon, "viewer"), remove_member),
    "a browser that another one closes": (lambda daemon: invite(daemon, "admin"), close_session),
    "a browser that signs out": (signed_in, sign_out),
}


@pytest.mark.parametrize("reader", READERS)
def test_a_stream_ends_with_its_credential_and_shows_nothing_of_afterwards(daemon: Daemon, reader: str) -> None:
    make, revoke = READERS[reader]
    caller = make(daemon)
    stream = Stream(caller, "/v1/events?live=true")
    assert stream.status == 200
    daemon.execute("console.log('BEFORE-IT'); return 1")
    wait_for(lambda: "BEFORE-IT" in stream.text, LIMIT)
    revoke(caller)
    daemon.execute("console.log('AFTER-IT'); return 1")
    assert "AFTER-IT" not in stream.read_to_end()
    assert caller.get("/v1/events").status == 401


def test_only_the_streams_of_the_revoked_credential_end(daemon: Daemon) -> None:
    one, other = create_key(daemon, "read"), create_key(daemon, "read")
    revoked = Stream(other, "/v1/events?live=true")
    kept = Stream(one, "/v1/events?live=true")
    revoke_key(other)
    revoked.read_to_end()
    daemon.execute("console.log('STILL-SEEN'); return 1")
    wait_for(lambda: "STILL-SEEN" in kept.text, LIMIT)


def test_a_change_of_role_that_takes_nothing_from_a_stream_leaves_it_open(daemon: Daemon) -> None:
    member = invite(daemon, "member")
    stream = Stream(member, "/v1/events?live=true")
    assert operator(daemon).patch(f"/v1/members/{member.account}", {"role": "admin"}).status == 200
    daemon.execute("console.log('STILL-SEEN'); return 1")
    wait_for(lambda: "STILL-SEEN" in stream.text, LIMIT)


def test_the_stream_of_an_anonymous_agents_execution_ends_when_its_token_is_renewed(daemon: Daemon) -> None:
    daemon.executor.anonymous.starts.clear()
    session = {"sessionId": expect_created(nobody(daemon).post("/v1/auth/anonymous/bootstrap"))["sessionId"]}
    token = nobody(daemon).post("/v1/auth/anonymous/token", session).json["accessToken"]
    caller = Caller(daemon, "anonymous", token)
    begun = expect_created(caller.post("/v1/executions", {"code": SLOW, "wait": 0}))
    stream = Stream(caller, f"/v1/executions/{begun['executionId']}/events")
    wait_for(lambda: "execution.created" in stream.text, LIMIT)
    renewed = nobody(daemon).post("/v1/auth/anonymous/token", session).json["accessToken"]
    stream.read_to_end()
    Caller(daemon, "anonymous", renewed).post(f"/v1/executions/{begun['executionId']}/cancel")


def call_over_mcp(caller: Caller, name: str, arguments: Any, *, version: str = "2025-11-25") -> Answer:
    """Without a version the SDK answers, with one the daemon itself."""
    headers = {"Accept": "application/json, text/event-stream"}
    if version:
        headers["MCP-Protocol-Version"] = version
    params = {"name": name, "arguments": arguments}
    return caller.post("/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}, **headers)


WAITS: dict[str, Callable[[Caller, str], Answer]] = {
    "execute": lambda caller, _: caller.post("/v1/executions", {"code": SLOW, "wait": 600}),
    "wait": lambda caller, begun: caller.get(f"/v1/executions/{begun}?wait=600"),
    "resume": lambda caller, begun: caller.post(f"/v1/executions/{begun}/resume", {"wait": 600}),
    "execute over MCP": lambda caller, _: call_over_mcp(caller, "execute", {"code": SLOW}),
    "resume over MCP": lambda caller, begun: call_over_mcp(caller, "resume", {"executionId": begun}),
    "execute over MCP's SDK": lambda caller, _: call_over_mcp(caller, "execute", {"code": SLOW}, version=""),
}


def count_waits(daemon: Daemon) -> int:
    return int(daemon.app.state.streams.waits.count)


@pytest.mark.parametrize("wait", WAITS)
def test_a_wait_is_answered_401_at_once_when_its_credential_ends(daemon: Daemon, wait: str) -> None:
    caller = agent(daemon, wait)
    begun = expect_created(caller.post("/v1/executions", {"code": SLOW, "wait": 0}))["executionId"]
    waiting = Waiting(lambda: WAITS[wait](caller, begun))
    wait_for(lambda: count_waits(daemon) == 1, LIMIT)
    revoke_agent(caller)
    assert (waiting.answer.status, waiting.answer.json["code"]) == (401, "unauthorized")
    assert count_waits(daemon) == 0
    cancel_all(daemon)


def test_a_wait_for_an_approval_ends_with_its_credential(daemon: Daemon) -> None:
    caller = agent(daemon, "asks")
    code = 'return await tools.executor.sources.add({url: "http://127.0.0.1:9/none.json", namespace: "none"})'
    asked = expect_created(caller.post("/v1/executions", {"code": code}))
    assert asked["status"] == "paused", asked
    waiting = Waiting(lambda: caller.post(f"/v1/executions/{asked['executionId']}/resume", {"wait": 600}))
    wait_for(lambda: count_waits(daemon) == 1, LIMIT)
    revoke_agent(caller)
    assert waiting.answer.status == 401
    cancel_all(daemon)


def test_a_wait_ends_when_its_member_may_not_run_code_any_more(daemon: Daemon) -> None:
    member = invite(daemon, "member")
    waiting = Waiting(lambda: member.post("/v1/executions", {"code": SLOW, "wait": 600}))
    wait_for(lambda: count_waits(daemon) == 1, LIMIT)
    assert operator(daemon).patch(f"/v1/members/{member.account}", {"role": "viewer"}).status == 200
    assert (waiting.answer.status, waiting.answer.json["code"]) == (403, "forbidden")
    cancel_all(daemon)


def cancel_all(daemon: Daemon) -> None:
    for one in operator(daemon).get("/v1/executions?status=running").json["items"]:
        operator(daemon).post(f"/v1/executions/{one['executionId']}/cancel")


BODIES = {"/v1/executions": {"code": "return 'RAN'"}, "/v1/catalog/check": {"code": "return 1"}}


@pytest.mark.parametrize("path", BODIES)
def test_a_request_whose_body_comes_after_the_revocation_does_nothing(daemon: Daemon, path: str) -> None:
    caller = agent(daemon, f"half{path}")
    body = json.dumps(BODIES[path]).encode()
    before = len(operator(daemon).get("/v1/executions?limit=500").json["items"])
    with socket.create_connection(("127.0.0.1", daemon.port), timeout=LIMIT) as sender:
        sender.sendall(
            f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{daemon.port}\r\nAuthorization: Bearer {caller.token}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\nExpect: 100-continue\r\n\r\n".encode()
        )
        assert b"100 Continue" in sender.recv(1000)  # it was let in, and its body is asked for
        revoke_agent(caller)
        sender.sendall(body)
        answer = sender.recv(10_000)
    assert answer.startswith(b"HTTP/1.1 401 ")
    assert len(operator(daemon).get("/v1/executions?limit=500").json["items"]) == before


def test_signing_out_is_answered_as_having_worked(daemon: Daemon) -> None:
    browser = signed_in(daemon)
    assert browser.post("/v1/auth/sign-out").status == 204
    assert browser.get("/v1/auth/whoami").status == 401


def expire(daemon: Daemon, table: sa.Table, at: int) -> None:
    """The newest of them."""
    newest = sa.select(sa.func.max(table.c.id)).scalar_subquery()

    def write(c: Any) -> None:
        c.execute(sa.update(table).where(table.c.id == newest).values(expires_at=at))

    daemon.run(daemon.executor.database.write(write))


@pytest.mark.parametrize("kind", ["key", "browser"])
def test_a_stream_ends_when_its_credential_expires(daemon: Daemon, kind: str) -> None:
    table = api_keys if kind == "key" else browser_sessions
    stream, lifetime = None, 2_000
    while stream is None:
        caller = create_key(daemon, "read") if kind == "key" else invite(daemon, "viewer")
        expire(daemon, table, now_ms() + lifetime)
        opened = Stream(caller, "/v1/events?live=true")
        stream = opened if opened.status == 200 else None
        lifetime *= 2
    stream.read_to_end()


@pytest.fixture(scope="module")
def watchful(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    with patient(tmp_path_factory.mktemp("watchful"), 0.1) as daemon:
        yield daemon


def test_what_no_event_tells_of_is_found_by_looking(watchful: Daemon) -> None:
    """As when another process, or a hand in the database, revoked it."""
    key, guest = create_key(watchful, "read"), anonymous(watchful)
    stream = Stream(key, "/v1/events?live=true")
    begun = expect_created(guest.post("/v1/executions", {"code": SLOW, "wait": 0}))["executionId"]
    waiting = Waiting(lambda: guest.get(f"/v1/executions/{begun}?wait=600"))
    wait_for(lambda: count_waits(watchful) == 1, LIMIT)
    watchful.run(watchful.executor.database.write(lambda c: c.execute(sa.update(api_keys).values(revoked_at=1))))
    stream.read_to_end()
    assert waiting.answer.status == 401


def test_a_credential_that_is_looked_up_again_may_do_what_it_might_before(daemon: Daemon) -> None:
    """Else a long request of the operator would end as if the right to operate the machine had been taken away."""
    cookie = signed_in(daemon).cookie
    callers, shown = daemon.executor.authenticator, Shown(session=cookie.partition("=")[2])
    assert daemon.run(callers.identify(shown)).may("operate")
    assert daemon.run(callers.confirm(shown)) == daemon.run(callers.identify(shown))
