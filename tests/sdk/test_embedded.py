"""Everything in this process: own thread and loop, SQLite in memory or in a directory, functions of the program."""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from executor import (
    Approve,
    AsyncExecutor,
    Deny,
    ExecutionFailed,
    ExecutionPending,
    Executor,
    ExecutorError,
    Interaction,
    tool,
)
from executor.errors import DaemonUnreachable, DataDirectoryLocked, InvalidRequest, NotFound
from executor.sdk.host import HostStream
from executor.sdk.message import segment
from tests.support.conditions import until

REFUND = "return await tools.shop.refund({id: '7'})"
LARGE = 2**60


@tool(effect="read")
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@tool
async def refund(id: str) -> dict[str, str]:
    """Refund an order."""
    return {"refunded": id, "thread": threading.current_thread().name}


@pytest.fixture(scope="module")
def executor() -> Iterator[Executor]:
    with Executor.embedded() as executor:
        executor.sources.add_functions("shop", add, refund)
        yield executor


def test_code_runs_and_returns_its_result(executor: Executor) -> None:
    execution = executor.run("console.log('hello'); return 1 + 1")
    assert (execution.status, execution.result, execution.error, execution.interactions) == ("completed", 2, None, ())
    assert [line["text"] for line in execution.logs] == ["hello"]
    assert executor.run("[n for n in range(3)]", language="python").result == [0, 1, 2]
    assert executor.executions.get(execution.id).result == 2


def test_code_that_fails_says_why(executor: Executor) -> None:
    failed = executor.run("throw new Error('no')")
    assert failed.status == "failed" and failed.error is not None and failed.error["message"] == "Error: no"
    with pytest.raises(ExecutionFailed, match="no") as raised:
        failed.raise_for_status()
    assert (raised.value.code, raised.value.execution_id) == (failed.error["code"], failed.id)


def test_code_that_takes_too_long_is_ended(executor: Executor) -> None:
    ended = executor.run("await new Promise((done) => setTimeout(done, 3_600_000))", timeout=0.2)
    assert ended.error is not None and ended.error["code"] == "wall_limit"


def test_the_wait_ends_before_the_execution(executor: Executor) -> None:
    execution = executor.run("await new Promise((done) => setTimeout(done, 3_600_000))", wait=0.05)
    assert execution.status in ("queued", "running", "paused") and not execution.is_final
    assert executor.executions.cancel(execution.id).status == "cancelled"


def test_a_tool_is_an_attribute_and_keeps_large_integers(executor: Executor) -> None:
    assert executor.tools.shop.add(a=LARGE, b=1) == LARGE + 1
    assert executor.tools["shop"]["add"]({"a": 1, "b": 2}) == 3


@pytest.mark.parametrize("arguments", [{"a": 1, "b": "x"}, {"a": 1, "__proto__": 2}, {"a": 1}])
def test_a_call_with_wrong_arguments_says_which(executor: Executor, arguments: dict[str, object]) -> None:
    with pytest.raises(ExecutionFailed) as raised:
        executor.tools.shop.add(arguments)
    assert raised.value.code == "invalid_arguments"


def test_arguments_that_are_not_json_are_refused(executor: Executor) -> None:
    with pytest.raises(InvalidRequest, match="JSON"):
        executor.tools.shop.add(a=float("nan"), b={1})


def test_a_call_that_needs_approval_can_be_waited_for(executor: Executor) -> None:
    with pytest.raises(ExecutionPending, match="needs a decision") as raised:
        executor.tools.shop.refund(id="7")
    pending = raised.value.execution_id
    asked = executor.interactions.list(execution=pending)
    assert [(one.tool, one.arguments, one.url) for one in asked] == [("shop.refund", {"id": "7"}, "")]
    executor.interactions.approve(asked[0].id)
    assert executor.wait(pending).result["refunded"] == "7"


def test_a_callback_decides(executor: Executor) -> None:
    seen: list[Interaction] = []

    def approve(interaction: Interaction) -> Approve:
        seen.append(interaction)
        return Approve()

    approved = executor.run(REFUND, on_interaction=approve)
    assert (approved.status, len(seen), seen[0].kind) == ("completed", 1, "approval")
    denied = executor.run(REFUND, on_interaction=lambda interaction: Deny("not this one"))
    assert denied.error is not None and "not this one" in denied.error["message"]


def test_several_interactions_are_decided_one_by_one(executor: Executor) -> None:
    code = "const all = []; for (const id of ['1', '2']) all.push(await tools.shop.refund({id})); return all.length"
    both = "return (await Promise.all(['1', '2'].map((id) => tools.shop.refund({id})))).length"
    for program in (code, both):
        decided: list[str] = []
        done = executor.run(program, on_interaction=lambda one: decided.append(one.id) or Approve())  # noqa: B023
        assert (done.result, len(set(decided)), len(decided)) == (2, 2, 2)


def test_a_callback_may_leave_the_decision_to_someone_else(executor: Executor) -> None:
    paused = executor.run(REFUND, on_interaction=lambda interaction: None)
    assert paused.status == "paused"
    threading.Timer(0.01, executor.interactions.approve, [paused.interactions[0].id]).start()
    assert executor.wait(paused).status == "completed"


def test_a_wait_ends_at_its_time(executor: Executor) -> None:
    paused = executor.run(REFUND)
    assert executor.wait(paused, timeout=0.05).status == "paused"
    assert executor.wait(paused.id, on_interaction=lambda interaction: Deny()).status == "failed"


def test_an_error_in_a_callback_is_raised(executor: Executor) -> None:
    def fail(interaction: Interaction) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        executor.run(REFUND, on_interaction=fail)


def test_a_blocking_client_refuses_a_callback_that_must_be_awaited(executor: Executor) -> None:
    async def approve(interaction: Interaction) -> Approve:
        return Approve()

    with pytest.raises(InvalidRequest, match="awaited"):
        executor.run(REFUND, on_interaction=approve)


def test_events_are_streamed_to_the_end(executor: Executor) -> None:
    execution = executor.submit("return await tools.shop.add({a: 1, b: 2})")
    events = list(executor.stream(execution))
    assert events[0]["type"] == "execution.created" and events[-1]["type"] == "execution.completed"
    assert list(executor.stream(execution.id, after=events[-1]["id"])) == []
    assert list(executor.stream(execution.id, after=events[0]["id"])) == events[1:]


def test_a_stream_can_be_left(executor: Executor) -> None:
    for _ in executor.stream(executor.run(REFUND)):
        break
    events = executor.events(after=0)
    assert next(events)["type"] == "daemon.started"
    events.close()


def test_the_same_key_finds_the_same_execution(executor: Executor) -> None:
    first = executor.submit("return 1", idempotency_key="once")
    assert executor.run("return 1", idempotency_key="once").id == first.id
    with pytest.raises(ExecutorError) as raised:
        executor.submit("return 2", idempotency_key="once")
    assert (raised.value.code, raised.value.details["executionId"]) == ("idempotency_key_reused", first.id)


def test_tools_are_found_and_described(executor: Executor) -> None:
    assert executor.discover("shop refund order")["bestPath"] == "shop.refund"
    assert "async def add" in executor.describe("shop.add")["signature"]
    with pytest.raises(NotFound) as raised:
        executor.describe("shop.nothing")
    assert raised.value.hint


def test_functions_that_are_added_again_replace_those_before(executor: Executor) -> None:
    executor.sources.add_functions("again", add)
    changed = executor.sources.add_functions("again", refund)
    assert changed["toolCount"] == 1 and executor.describe("again.refund")["effect"] == "write"
    assert executor.sources.refresh("again")["status"] == "connected"
    executor.sources.remove("again")


def test_policies_secrets_and_connections(executor: Executor) -> None:
    policy = executor.policies.add("shop.refund", "deny", note="closed")
    assert policy["id"] is not None and executor.policies.test("shop.refund")["action"] == "deny"
    executor.policies.change(policy["id"], {"action": "require_approval"})
    assert executor.policies.get(policy["id"])["action"] == "require_approval"
    executor.policies.remove(policy["id"])
    assert executor.policies.list() == []
    executor.secrets.add("KEY", "hidden")
    assert [one["name"] for one in executor.secrets.list()] == ["KEY"]
    executor.secrets.rotate("KEY", "hidden too")
    connection = executor.connections.add(
        "shop", secrets={"key": "KEY"}, placements=[{"in": "environment", "name": "KEY", "template": "{key}"}]
    )
    assert [one["id"] for one in executor.connections.list()] == [connection["id"]]
    executor.connections.remove(connection["id"])
    executor.secrets.remove("KEY")
    assert executor.secrets.list() == []


def test_a_large_result_is_whole_and_an_artifact(executor: Executor) -> None:
    execution = executor.run("return 'x'.repeat(100_000)")
    assert execution.artifact is not None and len(execution.result) == 100_000
    assert len(executor.artifacts.content(execution.artifact["id"])) == execution.artifact["size"]
    assert executor.artifacts.list(execution=execution.id)["items"][0]["id"] == execution.artifact["id"]


def test_a_function_for_agents_answers_with_text(executor: Executor) -> None:
    execute = executor.execute_function()
    assert execute.__name__ == "execute" and "tools.discover" in (execute.__doc__ or "")
    assert execute("return {a: 1}") == '{"a": 1}'
    assert '"message": "Error: no"' in execute("throw new Error('no')")
    assert '"waitsFor"' in execute(REFUND)
    assert len(execute("return 'x'.repeat(100_000)")) < 3_000


def test_every_other_route_can_be_requested(executor: Executor) -> None:
    assert executor.request("GET", "/v1/audit", query={"limit": 1})["items"]
    with pytest.raises(NotFound):
        executor.request("GET", "/v1/nothing")


def test_threads_share_one_client(executor: Executor) -> None:
    with ThreadPoolExecutor(16) as threads:
        found = list(threads.map(lambda n: executor.run(f"return {n}").result, range(48)))
    assert found == list(range(48))


async def test_a_blocking_client_works_inside_an_event_loop(executor: Executor) -> None:
    assert executor.run("return 1").result == 1
    assert (await asyncio.to_thread(executor.run, "return 2")).result == 2


async def test_the_same_methods_are_awaited() -> None:
    async def approve(interaction: Interaction) -> Approve:
        await asyncio.sleep(0)
        return Approve()

    async with AsyncExecutor.embedded(on_interaction=approve) as executor:
        await executor.sources.add_functions("shop", add, refund)
        assert await executor.tools.shop.add(a=1, b=2) == 3
        assert (await executor.tools.shop.refund(id="7"))["refunded"] == "7"
        execution = await executor.submit("return 2")
        assert [event["type"] async for event in executor.stream(execution)][-1] == "execution.completed"
        results = await asyncio.gather(*[executor.run(f"return {n}") for n in range(16)])
        assert [one.result for one in results] == list(range(16))
        waiting = asyncio.create_task(executor.run("await new Promise((done) => setTimeout(done, 3_600_000))"))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
    await executor.close()


def test_closing_twice_does_nothing_and_later_use_says_so() -> None:
    executor = Executor.embedded()
    executor.close()
    executor.close()
    with pytest.raises(DaemonUnreachable, match="closed"):
        executor.run("return 1")


def test_a_directory_keeps_everything(tmp_path: Path) -> None:
    with Executor.embedded(tmp_path / "data") as executor:
        kept = executor.run("return 42")
        with pytest.raises(DataDirectoryLocked):
            Executor.embedded(tmp_path / "data")
    with Executor.embedded(tmp_path / "data") as executor:
        assert executor.executions.get(kept.id).result == 42


def test_nothing_is_left_in_memory() -> None:
    with Executor.embedded() as executor:
        folder = executor._host._settings.data_dir  # type: ignore[union-attr]  # nothing public shows it
        assert folder.exists()
    assert not folder.exists()


def test_a_program_that_never_closes_it_ends() -> None:
    code = "from executor import Executor; e = Executor.embedded(); print(e.run('return 1').result)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=240, check=True)
    assert done.stdout == "1\n"


def test_importing_the_client_imports_nothing_heavy() -> None:
    heavy = {"asyncio", "aiohttp", "sqlalchemy", "pydantic", "fastapi", "orjson", "wasmtime"}
    code = f"from executor import Executor; Executor('http://x', 't'); import sys; print(*sys.modules.keys() & {heavy})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_the_garbage_collector_of_the_program_stays_as_it_is() -> None:
    frozen, gc_was_enabled = gc.get_freeze_count(), gc.isenabled()
    gc.disable()
    try:
        with Executor.embedded() as executor:
            assert executor.run("return 1").result == 1
        assert not gc.isenabled() and gc.get_freeze_count() == frozen
    finally:
        if gc_was_enabled:
            gc.enable()


async def test_a_stream_that_is_left_keeps_no_task_that_waits_for_its_reader() -> None:
    stream = HostStream(asyncio.Queue(1))

    async def answer() -> None:
        while True:
            await stream.messages.put({"body": b"more", "more_body": True})

    stream.task = asyncio.create_task(stream.carry(answer()))
    assert await stream.read() == b"more"
    await until(stream.messages.full, "an answer that waits for its reader")
    await stream.close()
    await until(stream.task.done, "the end of the answer")


@pytest.mark.parametrize("name", ["", ".", ".."])
def test_a_name_that_would_lead_to_another_path_is_refused(name: str) -> None:
    with pytest.raises(InvalidRequest, match="is not an id or a name"):
        segment(name)
