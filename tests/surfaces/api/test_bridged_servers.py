"""Resources and prompts of an MCP server, as code uses them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.conditions import wait_for
from tests.surfaces.api.daemon_server import Daemon

SERVER = Path(__file__).parents[2] / "sources" / "mcp" / "servers" / "offering.py"


def add(daemon: Daemon, *arguments: str) -> None:
    body = {"command": [sys.executable, str(SERVER), *arguments], "namespace": "srv", "consent": True}
    added = daemon.post("/v1/sources", body)
    assert added.status == 201, added.body


@pytest.fixture
def source(daemon: Daemon) -> Iterator[None]:
    add(daemon, "plain")
    yield
    daemon.request("DELETE", "/v1/sources/srv")


def run(daemon: Daemon, code: str, **options: Any) -> Any:
    view = daemon.execute(code, **options)
    assert view["status"] == "completed", view
    return view


@pytest.mark.usefixtures("source")
def test_code_reads_resources_and_prompts_without_approval_and_is_checked_for_types(daemon: Daemon) -> None:
    code = """
    const {contents} = await tools.srv.resources.read({uri: "demo://a"});
    const prompt = await tools.srv.prompts.ask({who: "you"});
    return [contents[0].text, prompt.messages[0].content.text]
    """
    assert run(daemon, code)["result"] == ["this is demo://a", "hello you"]
    in_python = 'r = await tools.srv.resources.read(uri="demo://a")\nr["contents"][0]["text"]'
    assert run(daemon, in_python, language="python")["result"] == "this is demo://a"
    wrong = daemon.execute("return await tools.srv.prompts.ask({whom: 1})")
    assert wrong["status"] == "failed" and wrong["error"]["code"] in ("type_error", "invalid_arguments")
    assert daemon.execute("return await tools.srv.resources({})", typecheck="off")["status"] == "paused"
    found = run(daemon, 'return await tools.discover({query: "srv read picture", namespace: "srv"})')["result"]
    assert found["bestPath"] == "srv.resources.picture"


@pytest.mark.usefixtures("source")
def test_large_resources_and_bytes_become_artifacts(daemon: Daemon) -> None:
    large = run(daemon, "return await tools.srv.resources.large({})")
    assert large["artifact"]["size"] > 300_000
    picture = run(daemon, "return await tools.srv.resources.picture({})")
    kept = daemon.get(f"/v1/artifacts?execution={picture['executionId']}").json["items"]
    assert any(one["mediaType"] == "image/png" and one["size"] == 12_000 for one in kept), kept


def test_a_list_that_changed_is_read_again_without_anyone_asking(daemon: Daemon, tmp_path: Path) -> None:
    file = tmp_path / "resources"
    file.write_text("one")
    add(daemon, "listed", str(file))
    try:
        run(daemon, "return await tools.srv.resources.one({})")
        file.write_text("one two")
        run(daemon, 'return await tools.srv.resources.read({uri: "demo://announce"})')
        wait_for(lambda: daemon.get("/v1/tools/srv.resources.two").status == 200)
    finally:
        daemon.request("DELETE", "/v1/sources/srv")
