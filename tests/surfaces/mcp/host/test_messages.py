"""What a client and a command say to each other, through a host."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from executor.surfaces.mcp.host.message import read_message
from executor.surfaces.mcp.host.session import MAX_CALLS, MAX_LINE
from tests.support.conditions import until
from tests.surfaces.mcp.host.conftest import Hosted, hosting, messages_of

# What a reader and writer of JSON in between would change: numbers, escapes, order, unknown fields, spaces.
STRANGE = (
    '{"params":{"z":1.0,"a":12345678901234567890123,"e":1E2,"u":"\\u00e4\\/","half":"\\ud83d"},'
    '"x-unknown": [ ],"id":77,"method":"do/heard","jsonrpc":"2.0"}'
)


async def test_messages_pass_unchanged_both_ways(host: Hosted) -> None:
    session = await host.open()
    answer = await host.post(STRANGE.encode(), session)
    assert answer.json()["result"][-1] == STRANGE
    line = STRANGE.replace('"id":77,"method":"do/heard"', '"method":"notifications/strange"')
    said = await host.ask(session, "say", lines=[line])
    assert f"data: {line}\n" in said.text


async def test_line_breaks_between_tokens_do_not_end_a_message(host: Hosted) -> None:
    session = await host.open()
    pretty = json.dumps({"jsonrpc": "2.0", "id": 5, "method": "do/heard"}, indent=2).replace("\n", "\r\n")
    answer = await host.post(pretty.encode(), session)
    assert json.loads(answer.json()["result"][-1])["id"] == 5


async def test_each_session_has_a_process_of_its_own(host: Hosted) -> None:
    first, second = await host.open(), await host.open()
    await host.ask(first, "say", lines=[])
    assert len(await host.do(first, "heard")) == 3
    assert len(await host.do(second, "heard")) == 2


async def test_progress_goes_to_the_call_that_it_is_about(host: Hosted) -> None:
    session = await host.open()

    async def wait(number: int) -> list[Any]:
        params = {"_meta": {"progressToken": f"token {number}"}}
        request = {"jsonrpc": "2.0", "id": number, "method": "do/wait", "params": params}
        return messages_of(await host.post(request, session))

    calls = [asyncio.create_task(wait(number)) for number in (901, 902)]
    await until(lambda: heard_calls(host, session, 2))
    about = {"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": "token 902"}}
    await host.do(session, "say", lines=[json.dumps(about)])
    await host.do(session, "answer")
    first, second = await asyncio.gather(*calls)
    assert [one.get("method") for one in first] == [None]
    assert [one.get("method") for one in second] == ["notifications/progress", None]


async def heard_calls(host: Hosted, session: str, number: int) -> bool:
    return sum("do/wait" in line for line in await host.do(session, "heard")) == number


ASKING = json.dumps({"jsonrpc": "2.0", "id": "from the server", "method": "elicitation/create", "params": {}})


async def test_a_request_of_the_command_goes_to_the_only_call_and_its_answer_back(host: Hosted) -> None:
    session = await host.open()
    said = await host.ask(session, "say", lines=[ASKING])
    assert [one.get("method") for one in messages_of(said)] == ["elicitation/create", None]
    reply = {"jsonrpc": "2.0", "id": "from the server", "result": {"action": "decline"}}
    assert (await host.post(reply, session)).status_code == 202
    assert reply in [json.loads(line) for line in await host.do(session, "heard")]


async def test_a_request_of_the_command_is_never_shown_to_one_of_several_calls(host: Hosted) -> None:
    session = await host.open()
    waits = asyncio.create_task(host.ask(session, "wait"))
    await until(lambda: heard_calls(host, session, 1))
    said = await host.ask(session, "say", lines=[ASKING])
    assert [one.get("method") for one in messages_of(said)] == [None]
    refused = [json.loads(line) for line in await host.do(session, "heard") if "from the server" in line]
    assert refused[-1]["error"]["code"] == -32600
    heard: list[Any] = []
    opened = asyncio.Event()
    listening = asyncio.create_task(host.listen(session, heard, opened))
    await opened.wait()
    await host.do(session, "say", lines=[ASKING])
    await until(lambda: heard)
    assert heard[0]["id"] == "from the server"
    await host.do(session, "answer")
    assert [one.get("method") for one in messages_of(await waits)] == [None]
    listening.cancel()


async def test_a_change_of_the_list_waits_for_the_stream_that_it_belongs_to(host: Hosted) -> None:
    session = await host.open()
    changed = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}
    waits = [asyncio.create_task(host.ask(session, "wait")) for _ in range(2)]
    await until(lambda: heard_calls(host, session, 2))
    await host.do(session, "say", lines=[json.dumps(changed)])
    heard: list[Any] = []
    listening = asyncio.create_task(host.listen(session, heard, asyncio.Event()))
    await until(lambda: heard == [changed])
    await host.do(session, "answer")
    await asyncio.gather(*waits)
    listening.cancel()


async def test_cancelling_reaches_the_command_and_ends_the_stream(host: Hosted) -> None:
    session = await host.open()
    request = {"jsonrpc": "2.0", "id": "slow", "method": "do/wait"}
    waits = asyncio.create_task(host.post(request, session))
    await until(lambda: heard_calls(host, session, 1))
    cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "slow"}}
    assert (await host.post(cancel, session)).status_code == 202
    assert messages_of(await waits) == []
    assert cancel in [json.loads(line) for line in await host.do(session, "heard")]
    await host.do(session, "answer")  # late, and no one's
    assert (await host.post(request | {"method": "do/heard"}, session)).status_code == 200


async def test_a_client_that_leaves_gets_no_answer_and_harms_no_other_call(host: Hosted) -> None:
    session = await host.open()
    leaves = asyncio.create_task(host.ask(session, "wait"))
    await until(lambda: heard_calls(host, session, 1))
    leaves.cancel()
    await asyncio.wait([leaves])
    await host.do(session, "answer")
    assert await host.do(session, "heard")


async def test_an_id_that_is_under_way_and_too_many_calls_are_refused(host: Hosted) -> None:
    session = await host.open()
    wait = {"jsonrpc": "2.0", "method": "do/wait"}
    waits = [asyncio.create_task(host.post(wait | {"id": f"w{at}"}, session)) for at in range(MAX_CALLS)]
    await until(lambda: host.app.calls_under_way == MAX_CALLS)
    assert (await host.post(wait | {"id": "w1"}, session)).status_code == 409
    assert (await host.post(wait | {"id": "one more"}, session)).status_code == 503
    await host.http.delete(host.url, headers={"Mcp-Session-Id": session})
    ended = [messages_of(answer)[-1] for answer in await asyncio.gather(*waits)]
    assert {one["error"]["code"] for one in ended} == {-32000}


async def test_text_that_is_not_a_message_is_skipped_and_endless_text_ends_the_session(host: Hosted) -> None:
    session = await host.open()
    noise = ["hello", "", "[]", "{", '{"jsonrpc":"2.0"}', '"\\ud800"', "[" * 10_000]
    assert messages_of(await host.ask(session, "say", lines=noise))[-1]["result"] is None
    answer = await host.ask(session, "say", lines=["noise"] * 10_100, answer=False)
    assert messages_of(answer)[-1]["error"]["message"].endswith("has ended")
    assert any("keeps printing text" in line for line in host.reports)


async def test_a_long_message_passes_and_one_that_is_too_long_ends_the_session(host: Hosted) -> None:
    session = await host.open()
    long = json.dumps({"jsonrpc": "2.0", "method": "notifications/message", "params": "x" * 3_000_000})
    said = await host.ask(session, "say", lines=[long])
    assert len(messages_of(said)[0]["params"]) == 3_000_000
    said = await host.ask(session, "repeat", times=MAX_LINE + 1)
    assert messages_of(said)[-1]["error"]["code"] == -32000
    assert any("more than 10,000,000 bytes" in line for line in host.reports)


async def test_what_a_command_said_at_its_end_is_for_the_operator(host: Hosted) -> None:
    session = await host.open()
    answer = await host.ask(session, "end")
    assert messages_of(answer)[-1]["error"]["code"] == -32000
    assert "last words" not in answer.text
    await until(lambda: any("ended with status 7: the last words" in line for line in host.reports))
    assert (await host.ask(session, "heard")).status_code == 404


async def test_a_command_gets_only_the_variables_that_were_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PASSED_ON", "yes")
    monkeypatch.setenv("KEPT_BACK", "no")
    async with hosting(env=["PASSED_ON"]) as host:
        found = await host.do(await host.open(), "environment")
    assert found["PASSED_ON"] == "yes" and "KEPT_BACK" not in found
    assert set(found) <= {"PATH", "HOME", "LANG", "LC_CTYPE", "PASSED_ON"}


@pytest.mark.parametrize(
    "data",
    [b"", b"1", b"[]", b"{}", b'{"jsonrpc":"1.0","id":1,"method":"x"}', b'{"jsonrpc":"2.0","id":true,"method":"x"}',
     b'{"jsonrpc":"2.0","id":null,"method":"x"}', b'{"jsonrpc":"2.0","id":{},"result":1}', b'{"jsonrpc":"2.0","id":1}',
     b'{"jsonrpc":"2.0","method":5}', b'[{"jsonrpc":"2.0","id":1,"method":"x"}]', b"{" * 100_000, b"\xff\xfe{}"],
)  # fmt: skip
def test_anything_but_one_message_is_not_read(data: bytes) -> None:
    assert read_message(data) is None
