"""A server asks a person something during a call: over each transport, through the HTTP API of a real daemon."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.sources.mcp.conftest import SERVERS, everything, listening, server_of_npm
from tests.support.conditions import wait_for
from tests.support.daemon import Daemon, Refused
from tests.support.packages import node

ELICITING = str(SERVERS / "eliciting.py")
TRANSPORTS = ("http", "sse", "stdio")
ANSWER = {"name": "Ada", "seats": 3, "meal": "v", "days": ["sat"]}


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    running = Daemon(tmp_path_factory.mktemp("eliciting"), EXECUTOR_WORKERS="1", EXECUTOR_APPROVAL_LIMIT_EXECUTION="5",
                     EXECUTOR_MCP_CALL_SECONDS="8")  # fmt: skip
    running.start()
    with ExitStack() as servers:
        for transport in ("http", "sse"):
            url = servers.enter_context(listening([sys.executable, ELICITING, transport]))
            path = "mcp" if transport == "http" else "sse"
            running.post("/v1/sources", {"location": f"{url}/{path}", "namespace": transport})
        add_command(running, "stdio", sys.executable, ELICITING, "stdio")
        running.post("/v1/policies", {"pattern": "**", "action": "allow"})
        yield running
        running.stop()


def add_command(daemon: Daemon, namespace: str, *command: str) -> None:
    daemon.post("/v1/sources", {"command": list(command), "namespace": namespace, "consent": True})


def submit(daemon: Daemon, code: str, **more: Any) -> Any:
    body = {"code": code, "wait": 60, **more}
    return daemon.request("POST", "/v1/executions", body, token=daemon.token("agent"), timeout=90)


def ask(daemon: Daemon, call: str, **more: Any) -> Any:
    view = submit(daemon, f"return await tools.{call}", **more)
    assert view["status"] == "paused", view
    return view


def pending(daemon: Daemon, view: Any) -> list[Any]:
    found = daemon.get(f"/v1/interactions?status=pending&executionId={view['executionId']}")["items"]
    return sorted(found, key=lambda one: one["elicitation"]["message"] if one["elicitation"] else "")


def answer(daemon: Daemon, interaction: Any, action: str = "accept", content: Any = None) -> Any:
    body = {"action": action} | ({"content": content} if content is not None else {})
    return daemon.post(f"/v1/interactions/{interaction['id']}/answer", body)


def outcome(daemon: Daemon, view: Any) -> Any:
    path = f"/v1/executions/{view['executionId']}/resume"
    return daemon.request("POST", path, {"wait": 60}, timeout=90)


def events(daemon: Daemon, view: Any) -> list[str]:
    return [one["type"] for one in daemon.get(f"/v1/executions/{view['executionId']}/events")["items"]]


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_a_server_gets_the_answer_that_a_person_gives_to_its_form(daemon: Daemon, transport: str) -> None:
    view = ask(daemon, f"{transport}.book({{}})")
    [asked] = pending(daemon, view)
    assert (asked["kind"], asked["elicitation"]["mode"], asked["elicitation"]["message"]) == (
        "elicitation", "form", "Who travels?")  # fmt: skip
    assert asked["elicitation"]["schema"]["required"] == ["name", "seats"]
    assert [one["kind"] for one in asked["elicitation"]["fields"]] == [
        "text", "text", "integer", "number", "boolean", "choice", "choice", "choices"]  # fmt: skip
    assert answer(daemon, asked, content=ANSWER)["status"] == "approved"
    done = outcome(daemon, view)
    assert (done["status"], done["result"]) == ("completed", f"accept: {ANSWER}")
    assert events(daemon, view)[-7:] == [
        "call.started", "interaction.requested", "execution.paused", "interaction.approved", "execution.resumed",
        "call.succeeded", "execution.completed"]  # fmt: skip


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_a_daemon_that_is_killed_while_a_server_asks_leaves_an_unknown_outcome_that_says_so(
    daemon: Daemon, transport: str, tmp_path: Path
) -> None:
    record = tmp_path / "record"
    view = ask(daemon, f"{transport}.book({{record: {json.dumps(str(record))}}})")
    [asked] = pending(daemon, view)
    daemon.kill()
    daemon.start()
    wait_for(lambda: any(one["kind"] == "unknown_outcome" for one in pending(daemon, view)))
    closed = daemon.get(f"/v1/interactions/{asked['id']}")
    assert closed["status"] == "cancelled" and "restarted" in closed["decisionReason"]
    [lost] = pending(daemon, view)
    assert "stopped while the server waited for input" in lost["reason"]
    with pytest.raises(Refused) as late:
        answer(daemon, asked, content=ANSWER)
    assert late.value.problem["code"] == "already_settled" and not record.exists()
    daemon.post(f"/v1/interactions/{lost['id']}/approve")  # to send the call once more: the server asks once more
    wait_for(lambda: [one["kind"] for one in pending(daemon, view)] == ["elicitation"])
    answer(daemon, pending(daemon, view)[0], content=ANSWER)
    assert outcome(daemon, view)["result"] == f"accept: {ANSWER}" and record.read_text() == f"accept: {ANSWER}"


def test_a_daemon_that_is_stopped_in_order_says_that_no_one_answered(daemon: Daemon) -> None:
    view = ask(daemon, "http.book({})")
    daemon.stop()
    daemon.start()
    assert outcome(daemon, view)["result"] == "cancel"
    [asked] = daemon.get(f"/v1/interactions?executionId={view['executionId']}")["items"]
    assert asked["status"] == "cancelled" and "stopped" in asked["decisionReason"]


@pytest.mark.parametrize(("action", "status"), [("decline", "denied"), ("cancel", "cancelled")])
def test_declining_and_dismissing_reach_the_server_as_what_they_are(daemon: Daemon, action: str, status: str) -> None:
    view = ask(daemon, "stdio.book({})")
    assert answer(daemon, pending(daemon, view)[0], action)["status"] == status
    assert outcome(daemon, view)["result"] == action


def test_an_answer_that_does_not_fit_the_form_settles_nothing(daemon: Daemon) -> None:
    view = ask(daemon, "http.book({})")
    [asked] = pending(daemon, view)
    changes = [{"name": "A"}, {"seats": "3"}, {"more": 1}, {"meal": "x"}, {"email": "nowhere"}, {"days": ["mon"]}]
    wrong: list[Any] = [None, {}, *({**ANSWER, **change} for change in changes)]
    for content in wrong:
        with pytest.raises(Refused) as refused:
            answer(daemon, asked, content=content)
        assert refused.value.status == 400 and refused.value.problem["problems"]
    with pytest.raises(Refused, match="only an accepted form"):
        answer(daemon, asked, "decline", ANSWER)
    with pytest.raises(Refused, match="asks for input"):
        daemon.post(f"/v1/interactions/{asked['id']}/approve")
    assert pending(daemon, view)
    answer(daemon, asked, content=ANSWER)
    with pytest.raises(Refused) as twice:
        answer(daemon, asked, content=ANSWER)
    assert twice.value.problem["code"] == "already_settled"
    assert outcome(daemon, view)["status"] == "completed"


def test_no_credential_of_an_agent_answers(daemon: Daemon) -> None:
    view = ask(daemon, "http.book({})")
    [asked] = view["interactions"]
    for action in ("accept", "decline", "cancel"):
        with pytest.raises(Refused) as refused:
            path = f"/v1/interactions/{asked['id']}/answer"
            daemon.request("POST", path, {"action": action}, token=daemon.token("agent"))
        assert refused.value.status == 403
    answer(daemon, asked, "cancel")
    outcome(daemon, view)


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_what_a_server_asks_at_once_is_answered_one_by_one_in_any_order(daemon: Daemon, transport: str) -> None:
    view = ask(daemon, f"{transport}.together({{count: 3}})")
    wait_for(lambda: len(pending(daemon, view)) == 3)
    for number in (2, 0, 1):
        [asked] = [one for one in pending(daemon, view) if one["elicitation"]["message"] == f"part {number}"]
        answer(daemon, asked, content={"word": str(number)})
    texts = [block["text"] for block in outcome(daemon, view)["result"]["content"]]
    assert texts == [f"accept: {{'word': '{number}'}}" for number in range(3)]


def test_the_time_that_people_take_counts_against_no_limit(daemon: Daemon) -> None:
    """Neither against that of a call nor against that of the execution, which are both shorter."""
    view = ask(daemon, "http.steps({count: 2})", timeoutMs=10_000)
    path = f"/v1/executions/{view['executionId']}/resume"
    assert daemon.request("POST", path, {"wait": 11}, timeout=90)["status"] == "paused"
    for number in (1, 2):
        wait_for(lambda: bool(pending(daemon, view)))
        [asked] = pending(daemon, view)
        assert asked["elicitation"]["message"] == f"step {number}"
        answer(daemon, asked, content={"word": "on"})
    assert outcome(daemon, view)["status"] == "completed"


def test_a_server_that_asks_without_end_is_refused_after_some_time(daemon: Daemon) -> None:
    view = ask(daemon, "http.steps({count: 40})")
    for _ in range(25):
        wait_for(lambda: bool(pending(daemon, view)))
        answer(daemon, pending(daemon, view)[0], "decline")
    texts = [block["text"] for block in outcome(daemon, view)["result"]["content"]]
    assert texts[:25] == ["decline"] * 25 and all("25 times" in text for text in texts[25:])


def test_what_would_be_more_than_an_execution_may_ask_is_refused(daemon: Daemon) -> None:
    view = ask(daemon, "http.together({count: 8})")
    wait_for(lambda: len(pending(daemon, view)) == 5)
    for one in pending(daemon, view):
        answer(daemon, one, "decline")
    texts = [block["text"] for block in outcome(daemon, view)["result"]["content"]]
    assert texts.count("decline") == 5 and sum("too many pending approvals" in text for text in texts) == 3


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "array"},
        {"type": "object", "properties": {"a": {"type": "object", "properties": {}}}},
        {"type": "object", "properties": {"a": {"type": "array", "items": {"type": "string"}}}},
        {"type": "object", "properties": {"a": {"type": "string", "pattern": "(a+)+$"}}},
        {"type": "object", "properties": {"a": {"$ref": "#/a"}}},
        {"type": "object", "properties": {"a": {"type": "string", "enum": ["x"], "enumNames": []}}},
        {"type": "object", "properties": {"a": {"type": "string", "format": "password"}}},
        {"type": "object", "properties": {f"a{number}": {"type": "string"} for number in range(51)}},
        {"type": "object", "properties": {"a": {"type": "string", "title": "x" * 70_000}}},
        {"type": "object", "properties": {}, "required": ["a"]},
        {"type": "object", "properties": {}, "allOf": []},
    ],
)
def test_a_schema_that_the_protocol_forbids_is_refused_with_a_reason(daemon: Daemon, schema: Any) -> None:
    done = submit(daemon, f"return await tools.http.raw({{schema: {json.dumps(schema)}}})")
    assert done["status"] == "completed" and "not allowed in an elicitation: " in done["result"]
    assert "asked for input, which was refused" in done["logs"][0]["text"]


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_a_page_is_offered_and_other_addresses_are_refused(daemon: Daemon, transport: str) -> None:
    view = ask(daemon, f'{transport}.visit({{url: "https://login.example/x?y=1"}})')
    [asked] = pending(daemon, view)
    assert (asked["elicitation"]["url"], asked["elicitation"]["host"]) == (
        "https://login.example/x?y=1", "login.example")  # fmt: skip
    answer(daemon, asked)
    assert outcome(daemon, view)["result"] == "accept"
    for url in ("javascript:alert(1)", "file:///etc/passwd", "https://user:pw@a.example/", "https://a\\nb.example/"):
        done = submit(daemon, f'return await tools.{transport}.visit({{url: "{url}"}})')
        assert done["result"].startswith("refused: "), done


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_a_call_that_wants_a_page_to_be_visited_first_is_sent_again_after_that(daemon: Daemon, transport: str) -> None:
    view = ask(daemon, f"{transport}.gated({{number: 1}})")
    answer(daemon, pending(daemon, view)[0])
    assert outcome(daemon, view)["result"] == "done"
    view = ask(daemon, f"{transport}.gated({{number: 2}})")
    answer(daemon, pending(daemon, view)[0], "decline")
    assert outcome(daemon, view)["error"]["code"] == "upstream_error"


def test_a_cancelled_execution_takes_what_its_server_asks_with_it(daemon: Daemon) -> None:
    view = ask(daemon, "stdio.book({})")
    [asked] = pending(daemon, view)
    assert daemon.post(f"/v1/executions/{view['executionId']}/cancel")["status"] == "cancelled"
    with pytest.raises(Refused) as late:
        answer(daemon, asked, content=ANSWER)
    assert late.value.problem["code"] == "already_settled"
    assert submit(daemon, "return await tools.stdio.chat({})")["status"] == "completed"  # the session is still good


def test_a_server_that_ends_while_it_asks_leaves_an_unknown_outcome(daemon: Daemon, tmp_path: Path) -> None:
    when = tmp_path / "now"
    view = ask(daemon, f"stdio.die({{when: {json.dumps(str(when))}}})")
    [asked] = pending(daemon, view)
    when.touch()
    wait_for(lambda: [one["kind"] for one in pending(daemon, view)] == ["unknown_outcome"])
    assert daemon.get(f"/v1/interactions/{asked['id']}")["status"] == "cancelled"
    daemon.post(f"/v1/interactions/{pending(daemon, view)[0]['id']}/deny", {"reason": "it is gone"})
    assert outcome(daemon, view)["error"]["code"] == "unknown_outcome"


def test_what_no_one_answers_in_time_expires_and_the_server_learns_that_no_one_did(tmp_path: Path) -> None:
    daemon = Daemon(tmp_path, EXECUTOR_WORKERS="1", EXECUTOR_APPROVAL_TTL_SECONDS="1")
    daemon.start()
    try:
        add_command(daemon, "stdio", sys.executable, ELICITING, "stdio")
        daemon.post("/v1/policies", {"pattern": "**", "action": "allow"})
        view = submit(daemon, "return await tools.stdio.book({})")
        assert outcome(daemon, view)["result"] == "cancel"
        [asked] = daemon.get(f"/v1/interactions?executionId={view['executionId']}")["items"]
        assert asked["status"] == "expired"
        with pytest.raises(Refused) as late:
            answer(daemon, asked, content=ANSWER)
        assert late.value.problem["code"] == "interaction_expired"
    finally:
        daemon.stop()


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_logs_and_progress_of_a_server_are_among_the_logs_and_sampling_is_refused(
    daemon: Daemon, transport: str
) -> None:
    done = submit(daemon, f"return await tools.{transport}.chat({{lines: 200}})")
    lines = [(one["level"], one["text"]) for one in done["logs"]]
    assert lines[0] == ("info", f"from {transport}.chat: progress 3 of 10: a third")
    assert lines[1] == ("warn", f"from {transport}.chat: [engine] line 0\x1b[31m")
    assert len(lines) == 100 and "left out" in lines[-1][1]
    done = submit(daemon, f"return await tools.{transport}.sample({{}})")
    assert "does not offer sampling" in done["result"] and "sampling" in done["logs"][0]["text"]


def test_an_approval_and_an_elicitation_of_one_execution_are_settled_in_any_order(daemon: Daemon) -> None:
    made = daemon.post("/v1/policies", {"pattern": "sse.chat", "action": "require_approval", "position": 0})
    try:
        code = "return await Promise.all([tools.sse.steps({count: 1}), tools.sse.chat({})])"
        view = submit(daemon, code)
        assert view["status"] == "paused" and len(view["interactions"]) == 2
        by_kind = {one["kind"]: one for one in pending(daemon, view)}
        daemon.post(f"/v1/interactions/{by_kind['approval']['id']}/approve")
        wait_for(lambda: [one["kind"] for one in pending(daemon, view)] == ["elicitation"])
        answer(daemon, by_kind["elicitation"], content={"word": "both"})
        assert outcome(daemon, view)["result"][1] == "said"
    finally:
        daemon.request("DELETE", f"/v1/policies/{made['id']}")


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_the_reference_server_of_npm_asks_and_gets_its_answer(daemon: Daemon, transport: str) -> None:
    with ExitStack() as servers:
        if transport == "stdio":
            add_command(daemon, "everything", node(), server_of_npm("server-everything"), "stdio")
        else:
            location = servers.enter_context(everything(transport))
            daemon.post("/v1/sources", {"location": location, "namespace": "everything"})
        policy = daemon.post("/v1/policies", {"pattern": "everything.**", "action": "allow"})
        view = ask(daemon, "everything.trigger_elicitation_request({})")
        [asked] = pending(daemon, view)
        required = [one["name"] for one in asked["elicitation"]["fields"] if one["required"]]
        answer(daemon, asked, content=dict.fromkeys(required, "Ada"))
        done = outcome(daemon, view)
        assert done["status"] == "completed" and "Ada" in json.dumps(done["result"])
        daemon.request("DELETE", "/v1/sources/everything")
        daemon.request("DELETE", f"/v1/policies/{policy['id']}")
