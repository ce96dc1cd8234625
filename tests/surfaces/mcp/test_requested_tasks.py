"""Tasks of revision 2025-11-25: a client requests one with a call, and asks for its state and its result."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from tests.support.conditions import wait_for
from tests.surfaces.api import identities
from tests.surfaces.api.daemon_server import Daemon
from tests.surfaces.mcp.conftest import about, text_of
from tests.surfaces.mcp.test_malformed_requests import ACCEPT, HANDSHAKE, request
from tests.surfaces.mcp.test_tasks import ENDLESS, SLOW

HEADERS = {**ACCEPT, "MCP-Protocol-Version": "2025-11-25", "Mcp-Session-Id": "one"}
RELATED = "io.modelcontextprotocol/related-task"
WRITE = 'return await tools.shop.things.createThing({name: "lamp"})'


def ask(daemon: Daemon, method: str, params: dict[str, Any], *, role: str = "agent", version: str = "") -> Any:
    headers = {**HEADERS, **({"MCP-Protocol-Version": version} if version else {})}
    return daemon.post("/mcp", request(method, params), role=role, headers=headers).json


def call(daemon: Daemon, name: str, arguments: Any = None, **options: Any) -> Any:
    params = {"name": name, "task": {"ttl": 60_000}, **({} if arguments is None else {"arguments": arguments})}
    return ask(daemon, "tools/call", params, **options)


def execute(daemon: Daemon, code: str) -> Any:
    return call(daemon, "execute", {"code": code})["result"]["task"]


def about_task(daemon: Daemon, method: str, task: Any, **options: Any) -> Any:
    return ask(daemon, method, {"taskId": task["taskId"]}, **options)


def look(daemon: Daemon, task: Any) -> Any:
    return about_task(daemon, "tasks/get", task)["result"]


def result_of(daemon: Daemon, task: Any) -> Any:
    return about_task(daemon, "tasks/result", task)["result"]


@pytest.mark.parametrize("version", ["2025-06-18", "2025-11-25"])
def test_only_the_revision_that_has_them_offers_tasks(daemon: Daemon, version: str) -> None:
    opened = ask(daemon, "initialize", {**HANDSHAKE, "protocolVersion": version}, version=version)["result"]
    listed = ask(daemon, "tools/list", {}, version=version)["result"]["tools"]
    has_tasks = version == "2025-11-25"
    offered = {"cancel": {}, "requests": {"tools": {"call": {}}}} if has_tasks else None
    assert opened["capabilities"].get("tasks") == offered
    expected = {"taskSupport": "optional"} if has_tasks else None
    assert [tool.get("execution") for tool in listed] == [expected, expected]


def test_a_requested_task_ends_with_the_result_of_the_call(daemon: Daemon) -> None:
    task = execute(daemon, SLOW)
    assert task["status"] == "working" and task["pollInterval"] > 0 and task["ttl"] > 0
    assert look(daemon, task).keys() == task.keys()
    result = result_of(daemon, task)  # waits for it
    assert json.loads(text_of(result)) == "done" and not result["isError"] and "resultType" not in result
    assert result["_meta"][RELATED] == {"taskId": task["taskId"]}
    assert look(daemon, task)["status"] == "completed"
    assert result_of(daemon, task) == result  # as often as the client asks


def test_code_that_fails_is_a_result_that_a_model_can_read(daemon: Daemon) -> None:
    task = execute(daemon, "throw new Error('no')")
    assert task["status"] == "working"  # every task begins so, whatever became of it meanwhile
    result = result_of(daemon, task)
    assert result["isError"] and "no" in text_of(result)
    assert look(daemon, task)["status"] == "completed"


def test_a_cancelled_task_has_cancelled_its_execution(daemon: Daemon) -> None:
    task = execute(daemon, ENDLESS)
    assert about_task(daemon, "tasks/cancel", task)["result"]["status"] == "cancelled"
    assert daemon.get(f"/v1/executions/{task['taskId']}").json["status"] == "cancelled"
    assert look(daemon, task)["status"] == "cancelled" and result_of(daemon, task)["isError"]
    assert about_task(daemon, "tasks/cancel", task)["error"]["code"] == -32602  # it has ended


def test_a_pause_ends_the_task_with_a_link_and_the_task_of_a_wait_goes_through_it(
    daemon: Daemon, shop: list[Any]
) -> None:
    paused = result_of(daemon, execute(daemon, WRITE))
    assert about(paused)["status"] == "paused" and "/approvals/int_" in text_of(paused)
    waiting = call(daemon, "resume", {"executionId": about(paused)["executionId"]})["result"]["task"]
    assert waiting["status"] == "working" and "human" in waiting["statusMessage"]
    daemon.post(f"/v1/interactions/{about(paused)['interactions'][0]['id']}/approve", {})
    wait_for(lambda: look(daemon, waiting)["status"] == "completed")
    assert json.loads(text_of(result_of(daemon, waiting)))["name"] == "lamp"


def test_a_list_of_unfinished_executions_is_a_task_too(daemon: Daemon) -> None:
    running = execute(daemon, ENDLESS)
    listing = call(daemon, "resume")["result"]["task"]
    assert listing["status"] == "working" and look(daemon, listing)["status"] == "completed"
    assert running["taskId"] in text_of(result_of(daemon, listing))
    assert about_task(daemon, "tasks/cancel", listing)["error"]["code"] == -32602
    about_task(daemon, "tasks/cancel", running)


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("execute", {"code": ""}, "empty_code"),
        ("execute", {}, "invalid_request"),
        ("resume", {"executionId": "exec_guessed"}, "not_found"),
        ("approve", {}, "unknown tool"),
    ],
)
def test_a_call_that_begins_nothing_is_an_error_and_no_task(
    daemon: Daemon, name: str, arguments: Any, said: str
) -> None:
    error = call(daemon, name, arguments)["error"]
    assert error["code"] == -32602 and said in error["message"]


@pytest.mark.parametrize("task_id", ["exec_unknown", "", None, 7, "../secrets", "x" * 10_000])
def test_unknown_tasks_are_refused(daemon: Daemon, task_id: Any) -> None:
    for method in ("tasks/get", "tasks/result", "tasks/cancel"):
        assert ask(daemon, method, {"taskId": task_id})["error"]["code"] == -32602


def test_a_task_of_another_agent_is_unknown(daemon: Daemon) -> None:
    other = str(identities.agent(daemon, "requested-onlooker").token)
    task = execute(daemon, ENDLESS)
    for method in ("tasks/get", "tasks/result", "tasks/cancel"):
        assert about_task(daemon, method, task, role=other)["error"]["code"] == -32602
    assert look(daemon, task)["status"] == "working"
    about_task(daemon, "tasks/cancel", task)


def test_other_revisions_have_no_such_tasks(daemon: Daemon) -> None:
    answered = call(daemon, "execute", {"code": "return 1"}, version="2025-06-18")["result"]
    assert json.loads(text_of(answered)) == 1
    refused = ask(daemon, "tasks/result", {"taskId": about(answered)["executionId"]}, version="2025-06-18")
    assert refused["error"]["code"] == -32601


def test_tasks_work_over_stdio_too(environment: dict[str, str]) -> None:
    command = [sys.executable, "-m", "executor", "mcp"]
    with subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as bridge:
        assert bridge.stdin is not None and bridge.stdout is not None

        def exchange(method: str, params: dict[str, Any]) -> Any:
            bridge.stdin.write(json.dumps(request(method, params)).encode() + b"\n")
            bridge.stdin.flush()
            return json.loads(bridge.stdout.readline())["result"]

        opened = exchange("initialize", {**HANDSHAKE, "protocolVersion": "2025-11-25"})
        assert opened["capabilities"]["tasks"]["requests"] == {"tools": {"call": {}}}
        assert exchange("tools/list", {})["tools"][0]["execution"] == {"taskSupport": "optional"}
        call = {"name": "execute", "arguments": {"code": "return 6 * 7"}, "task": {}}
        task = exchange("tools/call", call)["task"]
        assert text_of(exchange("tasks/result", {"taskId": task["taskId"]})) == "42"
        bridge.stdin.close()
