"""One run's messages: numbered, repeatable, bounded, and believed only as far as they make sense."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from executor.errors import InvalidRequest, SandboxLost, Unauthorized
from executor.model.execution import Failure
from executor.runtime.protocol import Answer, Log, Proposal, Step
from executor.runtime.remote import address, host_run, messages
from executor.runtime.remote.live_runs import LiveRun, LiveRuns
from executor.runtime.remote.runtime import RemoteRuntime
from executor.runtime.worker.frames import STEP, Reply
from executor.runtime.worker.steps import Reader
from tests.runtime.program_driver import CLOCK, LIMITS, drive, outcome, program
from tests.runtime.remote.host_process import Callback

CALL = Step(proposals=(Proposal(1, "tool", "a.b", "{}"),))


def step_message(number: int, step: Step) -> dict[str, Any]:
    return {"steps": [messages.encode_step(number, step)]}


async def begin_run(run: LiveRun) -> asyncio.Future[Step]:
    first = asyncio.ensure_future(run.start(program("return await tools.a.b({})")))
    await asyncio.sleep(0)
    return first


async def test_every_kind_of_step_reads_as_it_was_written() -> None:
    step = Step(
        proposals=(Proposal(1, "tool", 'a."b\n', '{"x": 1}'), Proposal(2, "timer", "", "1500")),
        logs=(Log("warn", "line\nline \ud800".encode("utf-8", "replace").decode()),),
        failure=Failure("code_error", "TypeError: no", "hint", {"line": 3}),
        cpu_ms=2.5,
    )
    lines = messages.encode_lines(step).encode()
    assert Reader(LIMITS).read(Reply(STEP, 2500, None, lines)) == step


async def test_a_message_that_comes_again_is_harmless() -> None:
    run, _ = LiveRuns().begin()
    first = await begin_run(run)
    assert (await run.exchange({}))["program"]["code"] == (await run.exchange({}))["program"]["code"]
    answering = asyncio.ensure_future(run.exchange(step_message(0, CALL)))
    assert await first == CALL
    second = asyncio.ensure_future(run.answer(Answer(1, CLOCK, value="7")))
    for asked in (await answering, await run.exchange(step_message(0, CALL)), await run.exchange({})):
        assert asked["answers"] == [{"number": 1, "seq": 1, "clockMs": CLOCK, "value": "7", "error": None}]
    for _ in range(2):
        assert await run.exchange(step_message(1, Step(value="7"))) == {"ended": True}
    assert (await second).value == "7"


@pytest.mark.parametrize(
    "message",
    [
        {"steps": 1},
        {"steps": [1]},
        {"steps": [{"number": 0}]},
        {"steps": [{"number": "0", "cpuUs": 0, "output": ""}]},
        {"steps": [{"number": 5, "cpuUs": 0, "output": ""}]},
        {"steps": [{"number": 0, "cpuUs": 0, "output": "nonsense\n"}]},
        {"steps": [{"number": 0, "cpuUs": 0, "output": 'c9 "a"\n{}\n'}]},
        {"steps": [{"number": 0, "cpuUs": 0, "output": 't1 "x"\n'}]},
        {"lost": None},
    ],
)
async def test_a_message_that_makes_no_sense_ends_the_run(message: dict[str, Any]) -> None:
    run, _ = LiveRuns().begin()
    first = await begin_run(run)
    assert await run.exchange(message) == {"ended": True}
    with pytest.raises(SandboxLost) as caught:
        await first
    assert caught.value.details["innocent"] is False


async def test_a_token_opens_its_own_run_and_only_while_it_lives() -> None:
    runs = LiveRuns()
    (one, token), (other, _) = runs.begin(), runs.begin()
    path, elsewhere = f"/internal/runs/{one.id}/tool-call", f"/internal/runs/{other.id}/tool-call"
    assert runs.authenticate(path, f"Bearer {token}") is one
    refused = [
        (elsewhere, f"Bearer {token}"),
        (path, None),
        (path, token),
        (path, f"Basic {token}"),
        (path, "Bearer "),
        (path, f"Bearer {token}x"),
        (f"/internal/runs/{one.id}", f"Bearer {token}"),
        ("/internal/runs//tool-call", f"Bearer {token}"),
    ]
    runs.end(one)
    refused.append((path, f"Bearer {token}"))
    for where, header in refused:
        with pytest.raises(Unauthorized):
            runs.authenticate(where, header)
    assert token not in repr(vars(one))


async def test_a_run_that_was_given_up_takes_nothing_from_a_host_that_comes_back() -> None:
    runs = LiveRuns()
    run, _ = runs.begin()
    first = await begin_run(run)
    runs.end(run)
    assert await run.exchange(step_message(0, CALL)) == {"ended": True}
    with pytest.raises(SandboxLost):
        await first


@pytest.mark.asyncio(loop_scope="session")
async def test_answers_that_get_lost_on_their_way_are_sent_again(runtime: RemoteRuntime, callback: Callback) -> None:
    seen: list[int] = []

    def tool(arguments: dict[str, Any]) -> int:
        seen.append(arguments["n"])
        callback.drop = 2
        return arguments["n"] * 10

    code = "let sum = 0; for (let n = 1; n <= 5; n++) sum += await tools.a.b({n}); return sum"
    assert await outcome(runtime, code, {"a.b": tool}) == 150
    assert seen == [1, 2, 3, 4, 5]


@pytest.mark.asyncio(loop_scope="session")
async def test_a_host_that_cannot_reach_the_daemon_says_so(
    runtime: RemoteRuntime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host_run, "PATIENCE_SECONDS", 0.2)
    monkeypatch.setattr(runtime, "_callback_url", "http://127.0.0.1:9")
    sandbox = await runtime.open()
    with pytest.raises(SandboxLost, match="remote_callback_url"):
        await sandbox.start(program("return 1"))
    await sandbox.close()


@pytest.mark.asyncio(loop_scope="session")
async def test_a_language_the_host_does_not_have_fails_with_a_hint(runtime: RemoteRuntime) -> None:
    sandbox = await runtime.open()
    step = await sandbox.start(replace(program("1 + 1"), language="python"))
    await sandbox.close()
    assert step.failure is not None
    assert step.failure.code == "unknown_runtime"


@pytest.mark.asyncio(loop_scope="session")
async def test_a_large_step_passes(runtime: RemoteRuntime) -> None:
    code = "console.log('\"'.repeat(5e5)); const s = await tools.a.b({s: '\\\\'.repeat(1e6)}); return s.length"
    steps = await drive(runtime, code, {"a.b": lambda _: "y" * 3_000_000})
    assert steps[-1].value == "3000000"


@pytest.mark.parametrize(
    "url",
    ["http://127.0.0.1:1", "http://localhost:1/", "http://10.1.2.3", "http://[::1]:2", "https://sandbox.example/x"],
)
def test_an_address_that_no_one_reads_along_is_taken(url: str) -> None:
    assert address.check_url(url, "remote_url") == url.rstrip("/")


@pytest.mark.parametrize(
    "url",
    [
        "http://sandbox.example",
        "http://8.8.8.8",
        "ftp://127.0.0.1",
        "127.0.0.1:5",
        "http://u@127.0.0.1",
        "http://[::1",
        "",
    ],
)
def test_an_address_that_is_open_or_none_is_refused(url: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        address.check_url(url, "remote_url")
    assert caught.value.hint
