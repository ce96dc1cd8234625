"""Against a daemon: found on this machine or by its address, killed and back again, and everything that is refused."""

from __future__ import annotations

import asyncio
import json
import logging
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from executor import Approve, AsyncExecutor, ExecutionPending, Executor, ExecutorError, Interaction
from executor.errors import DaemonUnreachable, Forbidden, InvalidRequest, NotFound, ReplyLost, Unauthorized
from executor.sdk.exchange import EventReader
from executor.sdk.flow import Pause, Reply
from tests.support.conditions import wait_for
from tests.support.daemon import Daemon

CREATE = "return await tools.demo.invoices.createInvoice({customer: 'Ada', amount: 5})"


@pytest.fixture(autouse=True)
def here(daemon: Daemon, monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs see the same environment as the daemon."""
    for name in ("EXECUTOR_DATA_DIR", "EXECUTOR_STATE_DIR", "EXECUTOR_CONFIG", "EXECUTOR_PORT"):
        monkeypatch.setenv(name, daemon.environ[name])
    monkeypatch.delenv("EXECUTOR_TOKEN", raising=False)


@pytest.fixture
def executor() -> Iterator[Executor]:
    with Executor() as executor:
        yield executor


def test_the_daemon_of_this_machine_is_found(executor: Executor) -> None:
    assert executor.run("return 1 + 1").result == 2
    assert executor.status()["version"]


def test_an_address_and_a_token_are_enough(daemon: Daemon, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with Executor(daemon.url) as own:
        assert own.run("return 2").result == 2
    monkeypatch.setenv("EXECUTOR_DATA_DIR", str(tmp_path))
    with pytest.raises(InvalidRequest, match="a token is missing"):
        Executor(daemon.url)
    with Executor(f"{daemon.url}/", daemon.token("agent")) as agent:
        assert agent.run("return 3").result == 3
    monkeypatch.setenv("EXECUTOR_TOKEN", daemon.token("agent"))
    with Executor(daemon.url) as agent:
        assert agent.run("return 4").result == 4


async def test_the_same_is_awaited(daemon: Daemon) -> None:
    async with AsyncExecutor() as executor:
        results = await asyncio.gather(*[executor.run(f"return {n}") for n in range(16)])
        assert [one.result for one in results] == list(range(16))
        execution = await executor.submit("return await tools.demo.invoices.listInvoices({})")
        assert [event["type"] async for event in executor.stream(execution)][-1] == "execution.completed"
        with pytest.raises(NotFound):
            await executor.executions.get("exec_none")
        done = await executor.run(CREATE, on_interaction=lambda interaction: Approve())
        assert done.status == "completed"
    await executor.close()


def test_sixteen_threads_share_one_client(executor: Executor) -> None:
    with ThreadPoolExecutor(16) as threads:
        found = list(threads.map(lambda n: executor.run(f"return {n}").result, range(64)))
    assert found == list(range(64))


def test_a_call_that_needs_approval_says_where_to_decide(executor: Executor, daemon: Daemon) -> None:
    with pytest.raises(ExecutionPending) as raised:
        executor.tools.demo.invoices.createInvoice(customer="Ada", amount=5)
    asked = executor.executions.get(raised.value.execution_id).interactions[0]
    assert asked.url == f"{daemon.url}/approvals/{asked.id}" and asked.url in raised.value.hint
    executor.interactions.deny(asked.id, "not this one")
    ended = executor.wait(raised.value.execution_id)
    assert ended.error is not None and "not this one" in ended.error["message"]


def test_an_agent_can_not_decide(executor: Executor, daemon: Daemon) -> None:
    with Executor(daemon.url, daemon.token("agent")) as agent:
        with pytest.raises(Forbidden):
            agent.run(CREATE, on_interaction=lambda interaction: Approve())
        with pytest.raises(Forbidden):
            agent.policies.add("**", "allow")


def test_a_wrong_token_is_refused_and_never_shown(daemon: Daemon, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    token = "exa_" + "x" * 43
    with Executor(daemon.url, token) as executor, pytest.raises(Unauthorized) as raised:
        executor.run("return 1")
    shown = [repr(executor), repr(vars(executor)), repr(executor.tools.a), repr(raised.value), str(raised.value)]
    shown += [raised.value.hint, repr(raised.value.details), caplog.text]
    assert not [text for text in shown if token in text]


@pytest.mark.parametrize("token", ["a\r\nX-Other: b", "a b", "ü"])
def test_a_token_that_is_none_is_refused_without_showing_it(daemon: Daemon, token: str) -> None:
    with pytest.raises(InvalidRequest) as raised:
        Executor(daemon.url, token)
    assert token not in str(raised.value)


@pytest.mark.parametrize("url", ["ftp://x", "127.0.0.1:1", "http://user:pass@x", "http://", "http://x:99999"])
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(InvalidRequest, match="not an address"):
        Executor(url, "token")


def test_without_a_daemon_the_error_has_the_next_step(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("EXECUTOR_DATA_DIR", str(tmp_path / "none"))
    monkeypatch.delenv("EXECUTOR_STATE_DIR")
    with Executor() as executor, pytest.raises(DaemonUnreachable, match="no daemon is running") as raised:
        executor.run("return 1")
    assert "executor up" in raised.value.hint and "embedded" in raised.value.hint
    with Executor("http://127.0.0.1:9", "token") as executor, pytest.raises(DaemonUnreachable, match="no one answers"):
        executor.run("return 1")


async def test_without_a_daemon_nothing_is_awaited() -> None:
    async with AsyncExecutor("http://127.0.0.1:9", "token") as executor:
        with pytest.raises(DaemonUnreachable, match="no one answers"):
            await executor.run("return 1")


def test_functions_of_the_program_need_an_embedded_one(executor: Executor) -> None:
    with pytest.raises(InvalidRequest) as raised:
        executor.sources.add_functions("shop", print)
    assert "embedded" in raised.value.hint and "python:" in raised.value.hint


def test_closing_twice_does_nothing(executor: Executor) -> None:
    executor.run("return 1")
    executor.close()
    executor.close()
    assert executor.run("return 1").result == 1  # it connects again


def test_a_session_is_prompted_followed_and_asks(executor: Executor, tmp_path: Path) -> None:
    session = executor.sessions.start("fake", cwd=str(tmp_path), isolation="insulated")
    assert executor.sessions.prompt(session["id"], "hello", wait=120)["status"] == "completed"
    assert "hello" in "".join(one["text"] for one in executor.sessions.messages(session["id"])["items"])
    for event in executor.sessions.stream(session["id"]):
        if event.type == "message" and event.data["kind"] == "text":
            break
    steps = json.dumps([{"edit": {"path": str(tmp_path / "a.txt"), "text": "new"}}])
    task = executor.sessions.prompt(session["id"], steps)
    asked = wait_for(lambda: executor.sessions.permissions(session["id"]), "a permission request")
    assert asked[0].tool == "agent.edit"
    executor.interactions.approve(asked[0].id)
    wait_for(lambda: executor.sessions.task(session["id"], task["id"])["status"] == "completed", "the end of the task")
    assert (tmp_path / "a.txt").read_text() == "new"
    assert executor.sessions.stop(session["id"])["status"] == "stopped"
    assert executor.sessions.resume(session["id"])["status"] == "idle"
    assert executor.sessions.archive(session["id"])["archivedAt"]
    assert session["id"] not in [one["id"] for one in executor.sessions.list()["items"]]
    assert [one["id"] for one in executor.sessions.list(archived=True)["items"]] == [session["id"]]
    assert "fake" in [one["name"] for one in executor.sessions.agents()]
    executor.sessions.delete(session["id"])
    with pytest.raises(NotFound):
        executor.sessions.get(session["id"])


def test_a_daemon_that_is_killed_and_comes_back_loses_nothing(executor: Executor, daemon: Daemon) -> None:
    paused = executor.run(CREATE)
    assert paused.status == "paused"
    events: list[Any] = []
    outcome: list[Any] = []
    has_answered = threading.Event()  # a daemon that never did is not waited for

    def watch() -> None:
        events.extend(Executor().stream(paused))

    def wait() -> None:
        outcome.append(executor.wait(paused))

    def submit() -> None:
        outcome.append(executor.run("return 5", idempotency_key="across"))

    async def wait_asynchronously() -> None:
        async with AsyncExecutor() as other:
            await other.status()
            has_answered.set()
            outcome.append(await other.wait(paused))

    threads = [threading.Thread(target=one) for one in (watch, wait, lambda: asyncio.run(wait_asynchronously()))]
    for thread in threads:
        thread.start()
    wait_for(lambda: events and has_answered.is_set(), "the stream")
    executor.status()
    daemon.kill()
    threads.append(threading.Thread(target=submit))
    threads[-1].start()
    daemon.start()
    wait_for(lambda: executor.status()["version"], "the daemon")
    executor.interactions.approve(paused.interactions[0].id)
    for thread in threads:
        thread.join(240)
        assert not thread.is_alive()
    assert sorted(str(one.status) for one in outcome) == ["completed"] * 3
    ids = [event["id"] for event in events]
    assert ids == sorted(set(ids)) and events[-1]["type"] == "execution.completed"
    assert executor.run("return 5", idempotency_key="across").id in [one.id for one in outcome]


def test_a_daemon_that_stays_away_is_not_waited_for_forever(daemon: Daemon) -> None:
    with Executor(daemon.url, daemon.token(), reconnect_seconds=0.2) as executor:
        executor.status()
        daemon.stop()
        try:
            with pytest.raises(DaemonUnreachable):
                executor.run("return 1")
        finally:
            daemon.start()


def test_events_are_read_from_bytes_that_are_cut_anywhere() -> None:
    text = b': connected\n\nid: 7\nevent: a.b\ndata: {"x": "\xc3\xa4"}\n\n: heartbeat\n\nid: 8\nevent: c\ndata: 1\n\n'
    for size in range(1, len(text)):
        reader = EventReader()
        found = [event for at in range(0, len(text), size) for event in reader.feed(text[at : at + size])]
        assert found == [("7", "a.b", {"x": "ä"}), ("8", "c", 1)]


def test_every_error_has_a_code() -> None:
    def approve(interaction: Interaction) -> Approve:
        return Approve()

    with Executor(on_interaction=approve) as executor:
        assert executor.tools.demo.invoices.createInvoice(customer="Ada", amount=5)
        with pytest.raises(ExecutorError) as raised:
            executor.run("")
    assert raised.value.code == "empty_code" and raised.value.hint


def test_a_creation_without_an_answer_is_sent_again_with_the_same_key_and_found(daemon: Daemon) -> None:
    with Executor(daemon.url, daemon.token()) as executor:
        executor.status()  # a daemon that never answered is not waited for
        policies = executor.policies
        flow = policies._create("/v1/policies", {"pattern": "a.**", "action": "deny"}, policies._find)
        first: Any = next(flow)
        assert isinstance(flow.throw(ReplyLost("cut")), Pause)
        assert flow.send(None) == first and first.headers["Idempotency-Key"]
        problem = {"code": "already_created", "detail": "it was", "id": "pol_1"}
        found: Any = flow.send(Reply(409, {}, json.dumps(problem).encode()))
        assert (found.method, found.path) == ("GET", "/v1/policies/pol_1")
        with pytest.raises(StopIteration) as ended:
            flow.send(Reply(200, {}, b'{"id": "pol_1"}'))
        assert ended.value.value == {"id": "pol_1"}


def test_a_client_with_a_key_of_a_toolkit_reaches_that_alone(executor: Executor, daemon: Daemon) -> None:
    denied = [{"pattern": "demo.invoices.deleteInvoice", "action": "deny"}]
    added = executor.toolkits.add("desk", ["demo.invoices.*"], policies=denied, pass_through=["demo.*.getInvoice"])
    assert (added["tools"], added["exposed"]) == (3, 1)
    assert [one["slug"] for one in executor.toolkits.list()] == ["desk"]
    assert "demo.invoices.getInvoice" in [one["path"] for one in executor.toolkits.tools("desk")]
    key = executor.toolkits.create_key("desk", "desk-bot")
    with Executor(token=key["token"]) as narrowed:
        assert narrowed.run("return (await tools.demo.invoices.listInvoices({limit: 1})).length").result == 1
        with pytest.raises(ExecutorError, match="no tool"):
            narrowed.run("return await tools.demo.customers.listCustomers({})").raise_for_status()
        with pytest.raises(Forbidden):
            narrowed.toolkits.list()
    changed = executor.toolkits.change("desk", {"patterns": ["demo.**"]})
    assert changed["tools"] > added["tools"] and executor.toolkits.get("desk") == changed
    executor.toolkits.revoke_key("desk", executor.toolkits.keys("desk")[0]["id"])
    with pytest.raises(Unauthorized), Executor(token=key["token"]) as revoked:
        revoked.run("return 1")
    executor.toolkits.remove("desk")
    assert executor.toolkits.list() == []
