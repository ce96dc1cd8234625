"""Declared configuration that runs code or points outside: commands, Python modules, and values in vaults."""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Iterator
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.secrets.test_providers import StandInVault
from tests.sources.mcp.conftest import REAL
from tests.sources.upstream import Upstream, serving
from tests.support.conditions import wait_for
from tests.support.notes import DONE, Notes
from tests.surfaces.api import identities
from tests.surfaces.api.daemon_server import Daemon, running_daemon

LOOK = {"/look": {"get": {"tags": ["n"], "operationId": "look", "responses": DONE}}}
OP = """#!/bin/sh
[ "$1 $2 $3" = "read --no-newline op://team/mail/token" ] && printf from-1password
"""
MODULE = '''"""Letters."""
def count(text: str) -> int:
    """Count the letters of a text."""
    return len(text)
'''


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    with serving() as server:
        notes = Notes(server.url)
        notes.more = dict(LOOK)
        server.otherwise = notes
        yield server


@pytest.fixture
def vault() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), StandInVault)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """With a module that can be imported, a server beside the file, and a stand-in for the CLI of 1Password."""
    (tmp_path / "declared_letters.py").write_text(MODULE)
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "server.py").write_text(Path(REAL).read_text())
    program = tmp_path / "bin" / "op"
    program.parent.mkdir()
    program.write_text(OP)
    program.chmod(0o700)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    (tmp_path / "token").write_text("root-token\n")
    return tmp_path


def write(folder: Path, **content: Any) -> Path:
    file = folder / "executor.yaml"
    file.write_text(json.dumps(content))  # JSON is YAML too
    file.chmod(0o600)
    return file


def namespaces(daemon: Daemon) -> list[str]:
    return sorted(one["namespace"] for one in daemon.get("/v1/sources").json["items"])


def test_a_command_and_a_module_of_the_file_run_when_the_daemon_starts(folder: Path) -> None:
    """The command runs in the folder of the file, so that it may name files beside it."""
    command = [sys.executable, "server.py", "stdio"]
    write(
        folder,
        sources=[
            {"type": "mcp", "name": "run", "command": command, "defaultApproval": "auto"},
            {"type": "python", "name": "letters", "module": "declared_letters", "defaultApproval": "auto"},
        ],
    )
    for _ in range(2):
        with running_daemon(folder, typecheck="off") as started:
            wait_for(lambda: namespaces(started) == ["letters", "run"])
            code = "return [await tools.run.greet({name: 'a'}), await tools.letters.count({text: 'abc'})]"
            view = started.execute(code, wait=60)
            assert view.get("result") == ["hello a", 3], view
            told = started.post("/v1/configuration/plan", {}).json
            assert [one["action"] for one in told["changes"]] == ["none", "none"] and told["problems"] == []
            assert started.get("/v1/sources/run").json["directory"] == str(folder)


def test_over_the_api_a_command_and_a_module_need_consent_to_exactly_them(folder: Path) -> None:
    ran = folder / "ran"
    sources = [
        {"type": "mcp", "name": "run", "command": ["touch", str(ran)]},
        {"type": "python", "name": "letters", "module": "declared_letters"},
    ]
    body = {"text": json.dumps({"sources": sources}), "name": "x.json", "folder": str(folder)}
    with running_daemon(folder, typecheck="off") as started:
        plan = started.post("/v1/configuration/plan", body).json
        assert f"runs on this machine: touch {ran}" in plan["changes"][0]["details"][0]
        told = started.post("/v1/configuration/apply", body).json
        assert all("consent" in one["error"] or "imports" in one["error"] for one in told["changes"]), told
        assert not ran.exists() and namespaces(started) == []
        told = started.post("/v1/configuration/apply", {**body, "consent": True}).json
        errors = {one["name"]: one["error"] for one in told["changes"]}
        assert errors["letters"] is None and errors["run"]  # it ran, and is no server
        assert ran.exists() and namespaces(started) == ["letters"]
        admin = identities.invite(started, "admin")
        refused = admin.post("/v1/configuration/apply", {**body, "consent": True, "prune": True}).json
        assert "permission denied" in {one["name"]: one["error"] for one in refused["changes"]}["run"]


def test_a_command_that_changed_in_the_file_replaces_the_source_only_if_it_runs(folder: Path) -> None:
    entry = {"type": "mcp", "name": "run", "command": [sys.executable, "server.py", "stdio"]}
    body = {"name": "x.json", "folder": str(folder), "consent": True}
    with running_daemon(folder, typecheck="off") as started:
        assert started.post("/v1/configuration/apply", {**body, "text": json.dumps({"sources": [entry]})}).status == 200
        first = started.get("/v1/sources/run").json["id"]
        broken = json.dumps({"sources": [{**entry, "command": ["executor-no-such-program"]}]})
        told = started.post("/v1/configuration/apply", {**body, "text": broken}).json
        assert told["changes"][0]["action"] == "replace" and told["changes"][0]["error"]
        assert started.get("/v1/sources/run").json["id"] == first
        edited = started.request("PATCH", "/v1/sources/run", {"environment": {"A": "1"}, "consent": True})
        assert edited.status == 409 and edited.json["declared"] == "file"


def test_values_in_a_vault_and_in_1password_are_used_and_stored_nowhere(
    folder: Path, upstream: Upstream, vault: str
) -> None:
    def entry(name: str, secret: str) -> dict[str, Any]:
        auth = {"mode": "workspace", "type": "bearer", "secret": secret}
        return {"type": "openapi", "name": name, "spec": f"{upstream.url}/openapi.json", "auth": auth}

    write(
        folder,
        secrets=[
            {"name": "vaulted", "provider": "vault", "reference": "secret/apps/mail#token"},
            {"name": "boxed", "provider": "onepassword", "reference": "op://team/mail/token"},
            {"name": "nowhere", "provider": "vault", "reference": "secret/apps/none#token"},
            {"name": "odd", "provider": "vault", "reference": "../../sys/seal"},
        ],
        sources=[entry("one", "vaulted"), entry("two", "boxed"), entry("three", "nowhere")],
    )
    settings = {"vault_url": vault, "vault_token_file": folder / "token", "typecheck": "off"}
    with running_daemon(folder, **settings) as started:
        wait_for(lambda: len(started.get("/v1/connections").json["items"]) == 3)
        for name, value in (("one", "from-the-vault"), ("two", "from-1password")):
            assert started.execute(f"return await tools.{name}.n.look({{}})", wait=60)["status"] == "completed"
            assert upstream.requests[-1].headers["authorization"] == f"Bearer {value}"
        failed = started.execute("return await tools.three.n.look({})", wait=60)
        assert failed["status"] != "completed" and upstream.requests[-1].headers.get("authorization") != "Bearer "
        shown = [started.get(path).body for path in ("/v1/secrets", "/v1/connections", "/v1/events?limit=1000")]
        assert not any(b"from-the-vault" in one or b"from-1password" in one for one in shown)
        plan = started.post("/v1/configuration/plan", {}).json
        odd = {one["name"]: one for one in started.post("/v1/configuration/apply", {"consent": True}).json["changes"]}
        assert odd["odd"]["error"] and "from-the-vault" not in json.dumps(plan)
    stored = b"".join(file.read_bytes() for file in folder.glob("executor.db*"))
    assert b"from-the-vault" not in stored and b"from-1password" not in stored


def test_a_vault_that_is_down_stops_neither_the_start_nor_the_others(folder: Path, upstream: Upstream) -> None:
    auth = {"mode": "workspace", "type": "bearer", "secret": "vaulted"}
    source = {"type": "openapi", "name": "one", "spec": f"{upstream.url}/openapi.json"}
    write(
        folder,
        secrets=[{"name": "vaulted", "provider": "vault", "reference": "secret/apps/mail#token"}],
        sources=[{**source, "auth": auth}, {**source, "name": "two"}],
    )
    with running_daemon(folder, vault_url="http://127.0.0.1:9", typecheck="off") as started:
        wait_for(lambda: namespaces(started) == ["one", "two"])
        assert started.execute("return await tools.two.n.look({})", wait=60)["status"] == "completed"
        view = started.execute("return await tools.one.n.look({})", wait=60)
        assert view["status"] != "completed" and "vault" in json.dumps(view)
