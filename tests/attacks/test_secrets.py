"""Attacks on credentials: whoever answers a call, reads the disk or controls a redirect gets nothing."""

from __future__ import annotations

import json
import logging
import sqlite3
import stat
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from executor.daemon import logs
from executor.daemon.wiring.executor import Executor
from executor.errors import ToolError
from executor.secrets.redaction import MARK
from executor.settings import Settings
from executor.storage.executions import calls, events
from tests.execution.conftest import shared_state
from tests.support.connection_harness import ConnectionHarness, value
from tests.support.protected_service import ProtectedService, running

CANARY = "cnry-8f3kQ/+z&=1"


@pytest.fixture
def service() -> Iterator[ProtectedService]:
    with running() as server:
        yield server


@pytest.fixture
def thief() -> Iterator[ProtectedService]:
    """Another origin, run by somebody else."""
    with running() as server:
        yield server


@pytest.fixture
def settings(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Settings:
    environ = {"EXECUTOR_DATA_DIR": str(tmp_path / "data"), "EXECUTOR_STATE_DIR": str(shared_state(tmp_path_factory))}
    return Settings.load({**environ, "EXECUTOR_WORKERS": "1", "EXECUTOR_SLOTS": "8"})


@pytest.fixture
async def harness(settings: Settings, service: ProtectedService) -> AsyncIterator[ConnectionHarness]:
    executor = await Executor.open(settings)
    harness = ConnectionHarness(executor, service)
    await harness.add_source()
    yield harness
    await executor.close()


async def everything(harness: ConnectionHarness) -> str:
    """All that the database can show of what happened."""
    workspace_id = harness.workspace_id
    found = await harness.executor.database.read(lambda c: events.after(c, workspace_id, limit=5_000))
    ids = {event.execution_id for event in found if event.execution_id}
    journals = [
        await harness.executor.database.read(lambda c, one=one: calls.of_execution(c, workspace_id, one)) for one in ids
    ]
    return f"{found} {journals}"


def writings(text: str) -> set[str]:
    """What of `text` a reader could turn back into the canary."""
    from executor.secrets.encodings import forms

    return {form for form in forms(CANARY) if form in text}


WAYS: list[tuple[str, str, dict[str, str]]] = [
    ("bearer", "token", {"token": CANARY}),
    ("header", "header_key", {"key": CANARY}),
    ("query", "query_key", {"key": CANARY}),
    ("cookie", "cookie_key", {"key": CANARY}),
    ("basic", "login", {"username": "ann", "password": CANARY}),
]


@pytest.mark.parametrize(("tool", "way", "values"), WAYS)
async def test_echoing_upstream(harness: ConnectionHarness, tool: str, way: str, values: dict[str, str]) -> None:
    """18, 22: a service that echoes the credential, plain or encoded. Defence: `CallCredential.clean`."""
    await harness.connect(way, values)
    done = await harness.run(f"return await tools.guarded.use.{tool}({{}})")
    assert MARK in json.dumps(value(done))
    assert not writings(str(done)) and not writings(await everything(harness))


async def test_echo_in_an_error(harness: ConnectionHarness) -> None:
    """19: the echo is in a failure. Defence: `CallCredential.handle_failure` in `CallSender.send`."""
    await harness.connect("token", {"token": CANARY})
    code = "try { await tools.guarded.use.fails({}) } catch (e) { return [e.message, e.hint, e.details] }"
    done = await harness.run(code)
    assert MARK in json.dumps(value(done))
    assert not writings(str(done)) and not writings(await everything(harness))


async def test_secret_in_a_traceback_or_log(harness: ConnectionHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    """19: something breaks inside with the value in its message. Defence: `in_use.redact_line` in
    `JsonLines.format`."""
    await harness.connect("token", {"token": CANARY})
    lines: list[str] = []

    class Keep(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append(self.format(record))

    handler = Keep()
    handler.setFormatter(logs.JsonLines())
    logging.getLogger().addHandler(handler)

    async def breaks(*args: Any, credential: Any = None, **options: Any) -> str:
        raise RuntimeError(f"sent {dict(credential.headers)}")

    monkeypatch.setattr(harness.executor.catalog, "invoke", breaks)
    try:
        done = await harness.run("return await tools.guarded.use.bearer({})")
    finally:
        logging.getLogger().removeHandler(handler)
    assert done.execution.failure is not None and "RuntimeError" in "".join(lines) and MARK in "".join(lines)
    assert not writings("".join(lines)) and not writings(f"{done} {await everything(harness)}")


@pytest.mark.parametrize(("tool", "way", "values"), [("leave", "token", {"token": CANARY})])
async def test_cross_host_redirect(
    harness: ConnectionHarness, thief: ProtectedService, tool: str, way: str, values: dict[str, str]
) -> None:
    """20: a redirect to another origin, granted or not, gets no credential. Defence: `redirected` drops all headers."""
    harness.service.elsewhere = f"{thief.url}/open"
    harness.executor.egress.allow_private = True  # else it would not even be reached
    await harness.connect(way, values)
    value(await harness.run(f"return await tools.guarded.use.{tool}({{}})"))
    [got] = thief.calls
    assert not writings(json.dumps(got)) and "authorization" not in got["headers"]


async def test_cross_host_redirect_keeping_custom_headers(harness: ConnectionHarness, thief: ProtectedService) -> None:
    """20: also headers of any other name, cookies and query parameters. Defence: `redirected` in egress."""
    harness.service.elsewhere = f"{thief.url}/open"
    harness.executor.egress.allow_private = True
    placements = tuple(
        {"in": where, "name": name, "template": "{key}"}
        for where, name in (("header", "X-Odd-Name"), ("cookie", "sid"), ("query", "k"))
    )
    await harness.connect("", {"key": CANARY}, placements=placements)
    value(await harness.run("return await tools.guarded.use.leave({})"))
    assert (
        harness.service.calls[-1]["headers"]["x-odd-name"] == CANARY
        and harness.service.calls[-1]["query"]["k"] == CANARY
    )
    assert not writings(json.dumps(thief.calls))


async def test_a_write_with_a_credential_is_not_redirected_elsewhere(
    harness: ConnectionHarness, thief: ProtectedService
) -> None:
    """20: neither is its body. Defence: `redirected` refuses it."""
    harness.service.elsewhere = f"{thief.url}/open"
    harness.executor.egress.allow_private = True
    await harness.connect("token", {"token": CANARY})
    await harness.executor.engine.run(harness.executor.tenancy.agent, "return 1", seconds=120)
    paused = await harness.run("return await tools.guarded.use.leaveWrite({body: {a: 1}})")
    await harness.executor.engine.settle(harness.executor.tenancy.operator, paused.interactions[0].id, "approve")
    done = await harness.wait(paused)
    assert done.execution.failure is not None and done.execution.failure.code == "egress_refused"
    assert thief.calls == []


async def test_https_to_http() -> None:
    """21: a redirect from https to http is not followed. Defence: `redirected` in egress."""
    from executor.errors import EgressRefused
    from executor.network.addresses import parse
    from executor.network.client import Outgoing, redirect

    sent = Outgoing("GET", "https://api.example/x", {"Authorization": f"Bearer {CANARY}"})
    with pytest.raises(EgressRefused, match="unencrypted"):
        redirect(sent, parse(sent.url), 302, "http://api.example/x")


async def test_secret_in_a_query_string(harness: ConnectionHarness, caplog: pytest.LogCaptureFixture) -> None:
    """23: an address with the key in it reaches no log, error, event or result. Defence: `shown`, before redaction."""
    caplog.set_level(logging.DEBUG)
    await harness.connect("query_key", {"key": CANARY})
    harness.service.elsewhere = harness.service.url + "/leaveQuery?api_key=" + "x"
    seen = ""
    for tool in ("query", "leaveQuery"):
        done = await harness.run(
            f"try {{ return await tools.guarded.use.{tool}({{}}) }} catch (e) {{ return e.message }}"
        )
        seen += str(done)
    harness.service.accepts = {"another"}
    tool = await harness.executor.catalog.tool(harness.workspace_id, "guarded.use.query")
    [made] = await harness.executor.connections.of_source((await harness.source()).id)
    credential = await harness.executor.connections.credential(made)
    assert tool is not None
    with pytest.raises(ToolError) as raw:  # what it says before anything is redacted
        await harness.executor.catalog.invoke(tool, {}, idempotency_key="", credential=credential)
    assert "api_key" in raw.value.message and not writings(raw.value.message)
    harness.service.shutdown()
    harness.service.server_close()
    gone = await harness.run("try { return await tools.guarded.use.query({}) } catch (e) { return e.message }")
    assert not writings(seen + str(gone) + caplog.text + await everything(harness))


async def test_plaintext_in_database_wal_or_backup(harness: ConnectionHarness, tmp_path: Path) -> None:
    """24: nothing that is stored holds a value in the clear. Defence: `Secrets.keep` seals; `SourceHeaders.seal`."""
    secrets, by = harness.executor.secrets, harness.executor.tenancy.operator
    await secrets.set(harness.workspace_id, "mail", CANARY, by=by)
    await harness.connect("token", {"token": CANARY})
    await harness.add_source(namespace="static", headers=(("Authorization", f"Bearer {CANARY}"),))
    value(await harness.run("return await tools.static.use.bearer({})"))
    assert harness.service.calls[-1]["headers"]["authorization"] == f"Bearer {CANARY}"
    with sqlite3.connect(tmp_path / "data" / "executor.db") as live, sqlite3.connect(tmp_path / "backup.db") as copy:
        live.backup(copy)
        dump = "\n".join(copy.iterdump())
    live.close()
    copy.close()
    files = [path for path in (tmp_path / "data").rglob("*") if path.is_file()]
    content = b"".join(path.read_bytes() for path in [*files, tmp_path / "backup.db"])
    assert CANARY not in dump and not writings(content.decode("latin-1"))


async def test_a_static_header_of_an_older_version_is_sealed_and_leaves_no_trace(
    settings: Settings, service: ProtectedService, tmp_path: Path
) -> None:
    """24: what was written in the clear once. Defence: `SourceHeaders.migrate`, and `Database.compact` after it."""
    executor = await Executor.open(settings)
    harness = ConnectionHarness(executor, service)
    source = await harness.add_source()
    config = {**source.config, "headers": [["Authorization", f"Bearer {CANARY}"]]}
    from executor.model.source import Source
    from executor.storage.catalog import sources

    old = Source(**{**{name: getattr(source, name) for name in source.__slots__}, "config": config})
    await executor.database.write(lambda c: sources.rewrite(c, old))
    await executor.close()
    executor = await Executor.open(settings)
    harness = ConnectionHarness(executor, service)
    value(await harness.run("return await tools.guarded.use.bearer({})"))
    assert service.calls[-1]["headers"]["authorization"] == f"Bearer {CANARY}"
    files = [path for path in (tmp_path / "data").rglob("*") if path.is_file()]
    assert not writings(b"".join(path.read_bytes() for path in files).decode("latin-1"))
    await executor.close()


async def test_world_readable_files(harness: ConnectionHarness, tmp_path: Path) -> None:
    """25: database, WAL and key are for their owner only. Defence: modes in `prepare_file` and `FileKeeper.write`."""
    await harness.connect("token", {"token": CANARY})
    names = {path.name for path in (tmp_path / "data").iterdir()}
    assert {"executor.db", "secret.key"} <= names
    for path in (tmp_path / "data").iterdir():
        if path.is_file():
            assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path


async def test_a_credential_rebound_to_another_host(harness: ConnectionHarness, thief: ProtectedService) -> None:
    """26: the document moves its server; the credential stays. Defence: `one.origin == origin` in `resolve`."""
    await harness.connect("token", {"token": CANARY})
    harness.service.extra = {"servers": [{"url": thief.url}]}
    harness.executor.egress.allow_private = True
    await harness.executor.catalog.lifecycle.refresh(harness.workspace_id, (await harness.source()).id)
    paused = await harness.run("return await tools.guarded.use.bearer({})")
    [asked] = paused.interactions
    assert asked.prompt["credential"]["origin"] == thief.url and thief.calls == []


async def test_an_operation_with_a_server_of_its_own_gets_no_credential_of_the_source(
    harness: ConnectionHarness, thief: ProtectedService
) -> None:
    """26: one path of the document names another server. Defence: the tool's own server in `origin_of`."""
    await harness.connect("token", {"token": CANARY})
    from tests.support.protected_service import document

    paths = document(harness.service.url)["paths"]
    paths["/bearer"]["servers"] = [{"url": thief.url}]
    harness.service.extra = {"paths": paths}
    harness.executor.egress.allow_private = True
    await harness.executor.catalog.lifecycle.refresh(harness.workspace_id, (await harness.source()).id)
    paused = await harness.run("return await tools.guarded.use.bearer({})")
    assert paused.execution.status == "paused" and thief.calls == []


async def test_oracle_of_redaction(harness: ConnectionHarness) -> None:
    """27: the mark tells neither length nor which value. Defence: one `MARK`; whole values only."""
    shown = set()
    for length in (8, 40, 400):
        await harness.connect("token", {"token": "q7" * (length // 2)}, replace=True)
        done = await harness.run("return (await tools.guarded.use.bearer({})).echoes['0'].plain")
        shown.add(value(done))
    assert shown == {MARK}
    part = ("q7" * 200)[:-1]
    done = await harness.run(f"return (await tools.guarded.use.bearer({{}})) && '{part}'.length")
    assert value(done) == len(part)


async def test_host_content_length_or_authorization_overridden_by_arguments(harness: ConnectionHarness) -> None:
    """33: arguments set what only the credential may set. Defence: `with_headers`, and OWN_HEADERS in request.py."""
    from tests.support.protected_service import document

    paths = document(harness.service.url)["paths"]
    names = ("Authorization", "Host", "Content-Length", "X-Api-Key", "Cookie")
    paths["/bearer"]["get"]["parameters"] = [
        {"in": "header", "name": name, "schema": {"type": "string"}} for name in names
    ] + [{"in": "query", "name": "api_key", "schema": {"type": "string"}}]
    paths["/query"]["get"]["parameters"] = [{"in": "query", "name": "api_key", "schema": {"type": "string"}}]
    paths["/header"]["get"]["parameters"] = [{"in": "header", "name": "X-Api-Key", "schema": {"type": "string"}}]
    harness.service.extra = {"paths": paths}
    await harness.executor.catalog.lifecycle.refresh(harness.workspace_id, (await harness.source()).id)
    for way in ("token", "query_key", "header_key"):
        await harness.connect(way, {"token" if way == "token" else "key": CANARY}, name=way)
    forged = "{Authorization: 'Bearer forged', Host: 'evil', 'Content-Length': '1', api_key: 'forged'}"
    for tool, argument in (("bearer", forged), ("query", "{api_key: 'forged'}"), ("header", "{'X-Api-Key': 'forged'}")):
        await harness.run(f"try {{ await tools.guarded.use.{tool}({argument}) }} catch (e) {{ return e.message }}")
    for tool in ("query", "header"):
        await harness.run(f"return await tools.guarded.use.{tool}({{}})")
    for sent in harness.service.calls:
        assert "evil" not in json.dumps(sent) and "forged" not in json.dumps(sent)
        assert sent["headers"].get("authorization", f"Bearer {CANARY}") == f"Bearer {CANARY}"
    by_path = {sent["path"]: sent for sent in harness.service.calls}
    assert by_path["/query"]["query"]["api_key"] == CANARY and by_path["/header"]["headers"]["x-api-key"] == CANARY


async def test_an_echo_in_the_sources_own_document(harness: ConnectionHarness) -> None:
    """18: the document itself echoes what it was fetched with. Defence: `redact` of the request, where it is read."""
    harness.service.extra = {"info": {"title": "t", "version": "1", "description": f"hi {CANARY}"}}
    extra_path = {"/x": {"get": {"operationId": "x", "description": f"key {CANARY}", "responses": {"200": {}}}}}
    harness.service.extra["paths"] = extra_path
    await harness.add_source(namespace="echo", headers=(("X-Api-Key", CANARY),))
    [head] = await harness.executor.catalog.page(harness.workspace_id, source="echo")
    described = await harness.executor.catalog.describe(harness.workspace_id, head.path)
    assert not writings(str(described)) and MARK in str(described)
