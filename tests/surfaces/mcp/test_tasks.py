"""A call that takes longer is a task, for clients that know these."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest

from tests.support.conditions import wait_for
from tests.surfaces.api import identities
from tests.surfaces.api.daemon_server import Daemon
from tests.surfaces.mcp.conftest import about, text_of
from tests.surfaces.mcp.test_malformed_requests import modern_request

EXTENSION = "io.modelcontextprotocol/tasks"
KNOWS: dict[str, Any] = {"extensions": {EXTENSION: {}}}
SLOW = "await new Promise(done => setTimeout(done, 1500)); return 'done'"
ENDLESS = "await new Promise(done => setTimeout(done, 240000)); return 'done'"


def ask(daemon: Daemon, method: str, params: dict[str, Any], *, role: str = "agent", knows: Any = KNOWS) -> Any:
    message, headers = modern_request(method, params)
    message["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] = knows
    if "taskId" in params:
        headers = {**headers, "Mcp-Name": params["taskId"]}
    return daemon.post("/mcp", message, role=role, headers=headers).json


def execute(daemon: Daemon, code: str, **options: Any) -> Any:
    return ask(daemon, "tools/call", {"name": "execute", "arguments": {"code": code}}, **options)["result"]


def look(daemon: Daemon, task: Any) -> Any:
    return ask(daemon, "tasks/get", {"taskId": task["taskId"]})["result"]


def follow(daemon: Daemon, task: Any) -> Any:
    return wait_for(lambda: found if (found := look(daemon, task))["status"] != "working" else None)


def settle(daemon: Daemon, answer: Any) -> Any:
    """On a busy machine, what takes no time takes a while, and is a task."""
    return follow(daemon, answer)["result"] if answer["resultType"] == "task" else answer


def test_a_long_execution_is_a_task_that_ends_with_the_result_of_the_call(daemon: Daemon) -> None:
    task = execute(daemon, SLOW)
    assert task["resultType"] == "task" and task["status"] == "working" and "content" not in task
    assert "result" not in look(daemon, task)
    ended = follow(daemon, task)
    assert ended["status"] == "completed" and json.loads(text_of(ended["result"])) == "done"
    assert about(ended["result"])["executionId"] == task["taskId"]
    assert json.loads(text_of(settle(daemon, execute(daemon, "return 1")))) == 1
    failed = follow(daemon, execute(daemon, SLOW.replace("return 'done'", "throw new Error('no')")))
    assert failed["status"] == "completed" and failed["result"]["isError"]


def test_a_task_is_cancelled_with_its_execution(daemon: Daemon) -> None:
    task = execute(daemon, ENDLESS)
    params = {"taskId": task["taskId"]}
    assert ask(daemon, "tasks/cancel", params)["result"]["resultType"] == "complete"
    assert follow(daemon, task)["status"] == "cancelled"
    assert daemon.get(f"/v1/executions/{task['taskId']}").json["status"] == "cancelled"
    assert ask(daemon, "tasks/cancel", params)["result"]["resultType"] == "complete"  # once more changes nothing


def test_a_wait_for_a_human_is_a_task_and_the_pause_itself_is_an_answer(daemon: Daemon, shop: list[Any]) -> None:
    paused = settle(daemon, execute(daemon, 'return await tools.shop.things.createThing({name: "lamp"})'))
    assert about(paused)["status"] == "paused"
    execution = about(paused)["executionId"]
    params = {"name": "resume", "arguments": {"executionId": execution}}
    waiting = ask(daemon, "tools/call", params)["result"]
    assert waiting["resultType"] == "task" and "human" in waiting["statusMessage"]
    assert ask(daemon, "tasks/cancel", {"taskId": waiting["taskId"]})["result"]["resultType"] == "complete"
    assert look(daemon, waiting)["status"] == "working"  # to give up waiting ends nothing
    [interaction] = about(paused)["interactions"]
    daemon.post(f"/v1/interactions/{interaction['id']}/approve", {})
    ended = follow(daemon, waiting)
    assert json.loads(text_of(ended["result"]))["name"] == "lamp"


def test_clients_that_do_not_say_that_they_know_tasks_get_none(daemon: Daemon) -> None:
    result = execute(daemon, SLOW, knows={})
    assert result["resultType"] == "complete" and json.loads(text_of(result)) == "done"
    task = execute(daemon, SLOW)
    for method in ("tasks/get", "tasks/update", "tasks/cancel"):
        error = ask(daemon, method, {"taskId": task["taskId"]}, knows={})["error"]
        assert error["code"] == -32021 and EXTENSION in error["data"]["requiredCapabilities"]["extensions"]
    follow(daemon, task)


@pytest.mark.parametrize("task_id", ["exec_unknown", "", "exec_1-resume", "../secrets", "x" * 10_000])
def test_unknown_tasks_are_refused(daemon: Daemon, task_id: str) -> None:
    for method in ("tasks/get", "tasks/cancel"):
        assert ask(daemon, method, {"taskId": task_id})["error"]["code"] == -32602


def test_a_task_of_another_agent_is_unknown(daemon: Daemon) -> None:
    other = identities.agent(daemon, "task-onlooker")
    task = execute(daemon, ENDLESS)
    for method in ("tasks/get", "tasks/cancel"):
        refused = ask(daemon, method, {"taskId": task["taskId"]}, role=str(other.token))
        assert refused["error"]["code"] == -32602
    assert look(daemon, task)["status"] == "working"
    ask(daemon, "tasks/cancel", {"taskId": task["taskId"]})


def test_many_clients_follow_tasks_at_once(daemon: Daemon) -> None:
    found: list[Any] = []
    threads = [threading.Thread(target=lambda: found.append(follow(daemon, execute(daemon, SLOW)))) for _ in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join(120)
    assert [json.loads(text_of(one["result"])) for one in found] == ["done"] * 8
