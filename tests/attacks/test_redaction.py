"""Attack 94: a service hands a credential back in a writing that only a reader would recognize."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import parse_qsl

import pytest

from executor.secrets.redaction import MARK
from tests.secrets.test_redaction import MORE, TOKEN
from tests.sources.upstream import Got, Handler, Reply, as_json, serving
from tests.surfaces.api.daemon_server import Daemon

DOCUMENT = {
    "openapi": "3.1.0",
    "info": {"title": "Echo", "version": "1"},
    "paths": {
        "/echo": {
            "get": {
                "operationId": "echo",
                "tags": ["use"],
                "parameters": [{"in": "query", "name": "how", "schema": {"type": "string"}}],
                "responses": {"200": {}},
            }
        }
    },
}


def echoing(got: Got, handler: Handler) -> Reply:
    assert got.headers["x-key"] == TOKEN
    how = dict(parse_qsl(got.target.partition("?")[2]))["how"]
    return as_json({"ok": 1, "echo": f"<{MORE[how]}>"}, 400 if how == "base32" else 200)


@pytest.mark.parametrize("python", [False, True])
def test_94_a_credential_comes_back_in_another_writing(daemon: Daemon, python: bool) -> None:
    """Defence: `secrets/encodings.py`: looked for by its letters, in every usual encoding."""
    with serving() as upstream:
        upstream.routes |= {"/echo": echoing}
        upstream.routes["/openapi.json"] = as_json({**DOCUMENT, "servers": [{"url": upstream.url}]})
        added = daemon.post(
            "/v1/sources",
            {"location": f"{upstream.url}/openapi.json", "namespace": "echo94", "headers": {"X-Key": TOKEN}},
        )
        assert added.status == 201, added.body
        try:
            found = call_echo(daemon, list(MORE), python=python)
        finally:
            daemon.request("DELETE", "/v1/sources/echo94")
    assert {name: MARK in found[name] and "<" in found[name] for name in MORE} == dict.fromkeys(MORE, True)


def call_echo(daemon: Daemon, names: list[str], *, python: bool) -> dict[str, str]:
    if python:
        code = (
            f"found = {{}}\nfor how in {names!r}:\n    try:\n"
            "        found[how] = str(await tools.echo94.use.echo(how=how))\n"
            "    except ToolError as error:\n        found[how] = str(error.details)\nreturn found"
        )
        view: Any = daemon.execute(code, language="python", typecheck="off")
    else:
        each = "tools.echo94.use.echo({how}).then(JSON.stringify, e => JSON.stringify(e.details))"
        code = f"const found = {{}}; for (const how of {json.dumps(names)}) found[how] = await {each}; return found"
        view = daemon.execute(code, typecheck="off")
    assert view["status"] == "completed", view
    return dict(view["result"])
