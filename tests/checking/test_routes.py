"""/v1/catalog and the commands on top of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.shop import daemon, shop
from tests.surfaces.api.daemon_server import Daemon
from tests.surfaces.cli.conftest import Cli, shared

__all__ = ["daemon", "shared", "shop"]
WRONG = "return await tools.shop.things.createThing({nam: 1})"


def test_an_agent_may_check_code(daemon: Daemon, shop: list[Any]) -> None:
    answer = daemon.post("/v1/catalog/check", {"code": WRONG}, role="agent")
    assert answer.status == 200 and answer.json["ok"] is False
    (found,) = answer.json["diagnostics"]
    assert found.keys() >= {
        "severity",
        "line",
        "column",
        "endLine",
        "endColumn",
        "message",
        "code",
        "tool",
        "signature",
    }
    assert found["tool"] == "shop.things.createThing"
    fine = daemon.post("/v1/catalog/check", {"code": "await tools.shop.things.listThings()", "language": "python"})
    assert fine.json == {"ok": True, "diagnostics": [], "unavailable": None}
    assert {"nam": 1} not in shop


def test_an_agent_may_complete_code(daemon: Daemon, shop: list[Any]) -> None:
    at_line = {"code": "const x = 1;\nawait tools.shop.things.", "line": 2, "column": 25}
    items = daemon.post("/v1/catalog/complete", at_line, role="agent").json["items"]
    assert [item["label"] for item in items] == ["createThing", "listThings"]
    at_offset = {"code": "tools.sh", "offset": 8, "language": "python"}
    assert [item["label"] for item in daemon.post("/v1/catalog/complete", at_offset).json["items"]] == ["shop"]


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("check", {"code": "x", "language": "cobol"}),
        ("complete", {"code": "tools."}),
        ("complete", {"code": "tools.", "line": 1}),
        ("complete", {"code": "tools.", "line": 1, "column": 1, "offset": 1}),
        ("complete", {"code": "tools.", "offset": -1}),
    ],
)
def test_what_makes_no_sense_is_refused(daemon: Daemon, path: str, body: dict[str, Any]) -> None:
    assert daemon.post(f"/v1/catalog/{path}", body).status in (400, 422)


def test_an_execution_takes_its_own_way_of_checking(daemon: Daemon, shop: list[Any]) -> None:
    assert daemon.execute(WRONG)["error"]["code"] == "type_error"
    warned = daemon.execute(WRONG, typecheck="warn")
    assert warned["error"]["code"] == "invalid_arguments" and warned["diagnostics"]
    assert daemon.execute(WRONG, typecheck="off")["diagnostics"] == []
    assert daemon.post("/v1/executions", {"code": "1", "typecheck": "maybe"}).status in (400, 422)


def test_the_command_checks_a_file(shared: Cli, tmp_path: Path) -> None:
    file = tmp_path / "program.py"
    file.write_text("await tools.discover(query=5)\n")
    done = shared("check", "--file", str(file))
    assert done.code == 1
    assert f"{file}:1:22: error: query: 5 is not of type" in done.out
    assert shared("check", "return await tools.discover({query: 'x'})").code == 0
    assert shared("check", "found = await tools.discover(query='x')\nlen(found['items'])").code == 0


def test_call_says_what_is_wrong_and_where(shared: Cli) -> None:
    done = shared("call", "return await tools.discovr({query: 'x'})")
    assert done.code == 1
    assert "type_error" in done.err and "(line 1, column 20)" in done.err
    assert shared("call", "--typecheck", "off", "return await tools.discover({query: 'x'})").code == 0
