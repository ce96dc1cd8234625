"""The human of an anonymous workspace is the browser that opened it: who else would be, and what it reaches."""

from __future__ import annotations

import http.client
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
import sqlalchemy as sa

from executor.identity import anonymous as sessions
from executor.network.strangers import CALL_BYTES
from executor.storage.tables.access import anonymous_sessions
from executor.storage.tables.core import metadata
from tests.support.public_network import PUBLIC_HOST, public_address
from tests.support.rate_limits import stop_rate_limit_clocks
from tests.surfaces.api.daemon_server import DOCUMENT, Daemon, running_daemon, running_upstream
from tests.surfaces.api.identities import (
    Caller,
    agent_of,
    anonymous,
    expect_created,
    nobody,
    operator,
    signed_in,
    visitor,
)

ENTER = "/v1/auth/anonymous/browser"
PAGE = "same-origin"


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """Private networks are open for everyone else."""
    with (
        public_address(),
        running_daemon(tmp_path_factory.mktemp("visitors"), anonymous_sources=2, allow_private_hosts=True) as daemon,
    ):
        yield daemon


@pytest.fixture(scope="module")
def shop(daemon: Daemon) -> Iterator[str]:
    with running_upstream(PUBLIC_HOST) as (address, _):
        yield address


@pytest.fixture(scope="module")
def inside(daemon: Daemon) -> Iterator[tuple[str, list[Any]]]:
    """A service that no stranger may reach, with what it was sent."""
    with running_upstream() as found:
        yield found


def add(url: str, namespace: str = "shop", more: str = "") -> str:
    return f'return await tools.executor.sources.add({{url: "{url}", namespace: "{namespace}"{more}}})'


def ask(agent: Caller, code: str) -> Any:
    view = expect_created(agent.post("/v1/executions", {"code": code}))
    assert view["status"] == "paused", view
    return view


def pending_of(human: Caller, execution: Any) -> str:
    [found] = human.get(f"/v1/interactions?status=pending&executionId={execution['executionId']}").json["items"]
    return str(found["id"])


def approve(human: Caller, agent: Caller, code: str) -> Any:
    """What became of code that asks once."""
    execution = ask(agent, code)
    answer = human.post(f"/v1/interactions/{pending_of(human, execution)}/approve")
    assert answer.status == 200, answer.body
    return agent.get(f"/v1/executions/{execution['executionId']}?wait=60").json


def test_150_no_key_of_an_agent_decides_or_becomes_the_browser(daemon: Daemon, shop: str) -> None:
    human = visitor(daemon)
    agent = agent_of(human)
    asked = pending_of(human, ask(agent, add(f"{shop}/openapi.json")))
    for path in (f"/v1/interactions/{asked}/approve", f"/v1/interactions/{asked}/deny"):
        assert agent.post(path).status == 403
    page = {"Origin": daemon.url, "Sec-Fetch-Site": PAGE}
    assert agent.post("/v1/auth/anonymous/key").status == 403
    assert agent.get("/v1/auth/anonymous/workspace").status == 403
    assert agent.post(ENTER, **page).status == 403
    assert nobody(daemon).post(ENTER, **{**page, "X-Api-Key": str(agent.token)}).status == 403
    posing = Caller(daemon, "posing", cookie=f"executor_session={agent.token}")
    assert posing.post(f"/v1/interactions/{asked}/approve").status == 401
    cookie = human.cookie.partition("=")[2]
    assert Caller(daemon, "posing", cookie).get("/v1/auth/whoami").status == 401
    for body in ({"sessionId": agent.token}, {"sessionId": cookie}):
        assert nobody(daemon).post("/v1/auth/anonymous/token", body).status == 401
        assert nobody(daemon).post("/v1/auth/anonymous/bootstrap", body).status == 401
    daemon.executor.anonymous.failures.clear()
    daemon.executor.authenticator.attempts.clear()
    assert human.get(f"/v1/interactions/{asked}").json["status"] == "pending"


def test_150_a_new_key_ends_the_one_before(daemon: Daemon) -> None:
    human = visitor(daemon)
    first, second = agent_of(human), agent_of(human)
    assert (first.get("/v1/auth/whoami").status, second.get("/v1/auth/whoami").status) == (401, 200)
    shown = human.get("/v1/auth/anonymous/workspace").json["agentKey"]
    assert str(second.token).startswith(shown["prefix"])
    assert len(shown["prefix"]) < 10


def test_151_other_strangers_neither_see_nor_decide(daemon: Daemon, shop: str) -> None:
    human = visitor(daemon)
    execution = ask(agent_of(human), add(f"{shop}/openapi.json"))
    asked = pending_of(human, execution)
    workspace = human.get("/v1/auth/whoami").json["workspace"]["id"]
    other = visitor(daemon)
    there = Caller(daemon, "other", cookie=other.cookie, workspace=workspace)
    for caller in (other, there, anonymous(daemon), operator(daemon)):
        assert caller.get(f"/v1/interactions/{asked}").status in (403, 404)
        assert caller.post(f"/v1/interactions/{asked}/approve").status in (403, 404)
        assert caller.get(f"/v1/executions/{execution['executionId']}").status == 404
    assert operator(daemon, workspace).get("/v1/auth/whoami").status == 404
    ours = daemon.executor.tenancy.workspace.id
    assert Caller(daemon, "out", cookie=human.cookie, workspace=ours).get("/v1/sources").status == 404


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        ({}, 403),
        ({"Origin": "ours"}, 403),
        ({"Sec-Fetch-Site": "same-origin"}, 403),
        ({"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"}, 403),
        ({"Origin": "https://evil.example", "Sec-Fetch-Site": "same-origin"}, 403),
        ({"Origin": "null", "Sec-Fetch-Site": "same-origin"}, 403),
        ({"Origin": "ours", "Sec-Fetch-Site": "same-site"}, 403),
        ({"Origin": "ours", "Sec-Fetch-Site": "none"}, 403),
        ({"Origin": "ours", "Sec-Fetch-Site": "same-origin"}, 200),
    ],
)
def test_152_only_our_own_page_opens_a_workspace(daemon: Daemon, sent: dict[str, str], status: int) -> None:
    daemon.executor.anonymous.starts.clear()
    headers = {name: value.replace("ours", daemon.url) for name, value in sent.items()}
    answer = nobody(daemon).post(ENTER, **headers)
    assert answer.status == status
    assert ("set-cookie" in answer.headers) is (status == 200)


def test_152_its_cookie_is_as_well_kept_as_that_of_a_person(daemon: Daemon) -> None:
    daemon.executor.anonymous.starts.clear()
    answer = nobody(daemon).post(ENTER, **{"Origin": daemon.url, "Sec-Fetch-Site": PAGE})
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "samesite=strict" in cookie.lower()
    shown = {"Cookie": cookie.partition(";")[0]}
    for more in ({}, {"Origin": "https://evil.example"}, {"Origin": daemon.url, "Sec-Fetch-Site": "cross-site"}):
        assert nobody(daemon).post("/v1/auth/anonymous/key", **{**shown, **more}).status == 403


def test_152_a_browser_that_is_signed_in_stays_who_it_is(daemon: Daemon) -> None:
    answer = signed_in(daemon).post(ENTER, **{"Sec-Fetch-Site": PAGE})
    assert (answer.status, answer.json["code"]) == (409, "conflict")
    assert "set-cookie" not in answer.headers


def test_152_one_browser_opens_one_workspace_and_an_address_only_so_many(
    daemon: Daemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop_rate_limit_clocks(daemon, monkeypatch)
    human = visitor(daemon)
    before = len(operator(daemon).get("/v1/anonymous").json["items"])
    page = {"Sec-Fetch-Site": PAGE}
    assert {human.post(ENTER, **page).status for _ in range(3 * sessions.STARTS)} == {200}
    assert len(operator(daemon).get("/v1/anonymous").json["items"]) == before
    statuses = [nobody(daemon).post(ENTER, Origin=daemon.url, **page).status for _ in range(sessions.STARTS)]
    assert statuses[-1] == 429
    assert statuses.count(200) == sessions.STARTS - 1
    assert nobody(daemon).post("/v1/auth/anonymous/bootstrap").status == 429
    daemon.executor.anonymous.starts.clear()
    assert operator(daemon).delete("/v1/anonymous").status == 204


def test_153_when_it_lapses_everything_ends(daemon: Daemon, shop: str) -> None:
    human, other = visitor(daemon), visitor(daemon)
    agent = agent_of(human)
    approve(human, agent, add(f"{shop}/openapi.json"))
    asked = pending_of(human, ask(agent, 'return await tools.shop.things.createThing({name: "x"})'))
    workspace = human.get("/v1/auth/whoami").json["workspace"]["id"]
    client = http.client.HTTPConnection("127.0.0.1", daemon.port, timeout=60)
    with closing(client):
        client.request("GET", "/v1/events", headers={"Cookie": human.cookie, "Accept": "text/event-stream"})
        stream = client.getresponse()
        assert stream.status == 200

        def age(c: Any) -> None:
            mine = anonymous_sessions.c.workspace_id == workspace
            c.execute(sa.update(anonymous_sessions).where(mine).values(expires_at=1))

        daemon.run(daemon.executor.database.write(age))
        assert human.get("/v1/auth/whoami").status == 401
        daemon.run(daemon.executor.anonymous.lapse())
        with pytest.raises((http.client.IncompleteRead, ConnectionError)):
            while stream.read1(65536):
                pass
            raise ConnectionError("it ended")
    for caller in (human, agent):
        assert caller.get("/v1/auth/whoami").status == 401
        assert caller.post(f"/v1/interactions/{asked}/approve").status == 401
    assert other.get("/v1/auth/whoami").status == 200
    assert daemon.run(daemon.executor.database.read(lambda c: count_left(c, workspace))) == {}
    assert visitor(daemon, human.cookie).cookie != human.cookie


def count_left(c: Any, workspace_id: str) -> dict[str, int]:
    counts = {}
    for table in metadata.sorted_tables:
        if "workspace_id" in table.c:
            query = sa.select(sa.func.count()).select_from(table).where(table.c.workspace_id == workspace_id)
            counts[table.name] = c.execute(query).scalar_one()
    return {name: count for name, count in counts.items() if count}


def test_153_leaving_removes_everything(daemon: Daemon, shop: str) -> None:
    human = visitor(daemon)
    agent = agent_of(human)
    approve(human, agent, add(f"{shop}/openapi.json"))
    workspace = human.get("/v1/auth/whoami").json["workspace"]["id"]
    answer = human.post("/v1/auth/sign-out")
    assert answer.status == 204
    assert (human.get("/v1/auth/whoami").status, agent.get("/v1/auth/whoami").status) == (401, 401)
    assert daemon.run(daemon.executor.database.read(lambda c: count_left(c, workspace))) == {}


@contextmanager
def serve_redirects(to: str) -> Iterator[str]:
    """A public service whose every address leads elsewhere."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(302)
            self.send_header("Location", f"{to}{self.path}")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def do_POST(self) -> None:
            self.do_GET()

        def log_message(self, format: str, *args: Any) -> None:
            pass

    with serve(Handler) as address:
        yield address


@contextmanager
def serve_document(document: dict[str, Any] | bytes) -> Iterator[str]:
    content = document if isinstance(document, bytes) else json.dumps(document).encode()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    with serve(Handler) as address:
        yield address


@contextmanager
def serve(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    server = ThreadingHTTPServer((PUBLIC_HOST, 0), handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://{PUBLIC_HOST}:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join(120)


def refusal_of(view: Any) -> str:
    assert view["status"] == "failed", view
    return str(view["error"])


def test_154_no_private_address_is_reached_by_any_road(
    daemon: Daemon, inside: tuple[str, list[Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    private, _ = inside
    port = private.rpartition(":")[2]
    look_up = daemon.loop.getaddrinfo

    async def look_up_name(host: str, *rest: Any, **more: Any) -> Any:
        if host == "rebound.example":
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", int(port)))]
        return await look_up(host, *rest, **more)

    monkeypatch.setattr(daemon.loop, "getaddrinfo", look_up_name)
    human = visitor(daemon)
    agent = agent_of(human)
    addresses = [private, f"http://localhost:{port}", f"http://[::1]:{port}", f"http://rebound.example:{port}"]
    with serve_redirects(private) as elsewhere:
        for address in (*addresses, elsewhere, "http://169.254.169.254"):
            for more in ("", ', kind: "openapi"', ', kind: "graphql"'):
                said = refusal_of(approve(human, agent, add(f"{address}/openapi.json", more=more)))
                assert "egress_refused" in said, (address, said)
    assert human.get("/v1/sources").json["items"] == []


def test_154_calls_of_a_public_document_reach_no_private_server(
    daemon: Daemon, inside: tuple[str, list[Any]], shop: str
) -> None:
    private, made = inside
    human = visitor(daemon)
    agent = agent_of(human)
    with serve_document({**DOCUMENT, "servers": [{"url": private}]}) as address:
        refused = approve(human, agent, add(f"{address}/openapi.json", "one"))
        named = approve(human, agent, add(f"{shop}/openapi.json", "two", f', baseUrl: "{private}"'))
    for view, tool in ((refused, "one"), (named, "two")):
        if view["status"] == "failed":
            assert "private" in str(view["error"])
            continue
        said = refusal_of(approve(human, agent, f'return await tools.{tool}.things.createThing({{name: "x"}})'))
        assert "private" in said
    assert made == []


@pytest.mark.parametrize(
    "arguments",
    [
        '{command: ["touch", "/tmp/x"], namespace: "x"}',
        '{url: "python:os", namespace: "x"}',
        '{url: "/etc/passwd", namespace: "x"}',
        '{url: "SHOP/openapi.json", namespace: "x", headers: {Authorization: "token"}}',
        '{url: "SHOP/openapi.json", namespace: "x", auth: {type: "bearer", secret: "token"}}',
    ],
)
def test_154_commands_modules_files_and_secrets_need_more_than_a_stranger_has(
    daemon: Daemon, shop: str, arguments: str
) -> None:
    human = visitor(daemon)
    code = f"return await tools.executor.sources.add({arguments.replace('SHOP', shop)})"
    asked = pending_of(human, ask(agent_of(human), code))
    refused = human.post(f"/v1/interactions/{asked}/approve")
    assert refused.status == 403
    assert "only OpenAPI documents and GraphQL endpoints" in refused.json["detail"]
    assert human.post(f"/v1/interactions/{asked}/deny").status == 200
    assert human.post("/v1/sources", {"location": f"{shop}/openapi.json"}).status == 403


def test_154_an_mcp_server_is_not_connected(daemon: Daemon, shop: str) -> None:
    human = visitor(daemon)
    said = refusal_of(approve(human, agent_of(human), add(f"{shop}/mcp", more=', kind: "mcp"')))
    assert "only OpenAPI documents and GraphQL endpoints" in said


def test_155_sources_are_few_and_small(daemon: Daemon, shop: str) -> None:
    human = visitor(daemon)
    agent = agent_of(human)
    for namespace in ("one", "two"):
        assert approve(human, agent, add(f"{shop}/openapi.json", namespace))["status"] == "completed"
    assert "at most 2 sources" in refusal_of(approve(human, agent, add(f"{shop}/openapi.json", "three")))
    assert len(human.get("/v1/sources").json["items"]) == 2
    other = visitor(daemon)
    with serve_document(b" " * (CALL_BYTES + 1)) as address:
        said = refusal_of(approve(other, agent_of(other), add(f"{address}/openapi.json")))
    assert f"{CALL_BYTES}" in said.replace(",", "").replace("_", "")


def test_155_what_sources_store_counts(tmp_path: Any) -> None:
    with (
        public_address() as host,
        running_upstream(host) as (address, _),
        running_daemon(tmp_path, anonymous_sources=5, anonymous_bytes=20_000) as daemon,
    ):
        human = visitor(daemon)
        agent = agent_of(human)
        assert approve(human, agent, add(f"{address}/openapi.json"))["status"] == "completed"
        [used] = operator(daemon).get("/v1/anonymous").json["items"]
        assert used["browser"] is True
        big = {**DOCUMENT, "info": {"title": "T", "version": "1", "description": "".join(map(str, range(9000)))}}
        with serve_document(big) as large:
            said = refusal_of(approve(human, agent, add(f"{large}/openapi.json", "large")))
        assert "would store more than 20,000 bytes" in said
        assert [one["namespace"] for one in human.get("/v1/sources").json["items"]] == ["shop"]


def test_156_without_the_setting_nothing_is_connected(tmp_path: Any) -> None:
    with running_daemon(tmp_path) as daemon:
        human = visitor(daemon)
        agent = agent_of(human)
        execution = ask(agent, add("https://api.example.com/openapi.json"))
        asked = pending_of(human, execution)
        refused = human.post(f"/v1/interactions/{asked}/approve")
        assert (refused.status, "anonymous_sources" in refused.json["hint"]) == (403, True)
        assert "extend" not in human.get("/v1/auth/whoami").json["permissions"]
        assert human.post(f"/v1/interactions/{asked}/deny", {"reason": "not here"}).status == 200
        assert "not here" in refusal_of(agent.get(f"/v1/executions/{execution['executionId']}?wait=60").json)


def test_156_switched_off_the_browser_is_out(tmp_path: Any) -> None:
    with running_daemon(tmp_path) as daemon:
        human = visitor(daemon)
        assert nobody(daemon).get("/v1/auth/anonymous/offered").json == {"offered": True}
    with running_daemon(tmp_path, anonymous="off") as daemon:
        assert nobody(daemon).get("/v1/auth/anonymous/offered").json == {"offered": False}
        assert Caller(daemon, "out", cookie=human.cookie).get("/v1/auth/whoami").status == 401
        page = {"Origin": daemon.url, "Sec-Fetch-Site": PAGE}
        assert nobody(daemon).post(ENTER, **page).status == 403


def test_157_a_browser_has_the_quotas_of_its_workspace(tmp_path: Any) -> None:
    with running_daemon(tmp_path, anonymous_executions=3) as daemon:
        human = visitor(daemon)
        agent = agent_of(human)
        for caller in (human, agent, human):
            expect_created(caller.post("/v1/executions", {"code": "return 1"}))
        for caller in (human, agent):
            assert caller.post("/v1/executions", {"code": "return 1"}).json["code"] == "quota_exceeded"
