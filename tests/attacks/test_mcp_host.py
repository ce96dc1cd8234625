"""A client of `executor mcp-host` that harms the other clients."""

from __future__ import annotations

import asyncio
import json

import pytest

from executor.errors import Busy
from tests.surfaces.mcp.host.conftest import hosting

STRANGE_IDS = (rb'"\ud800"', rb'99999999999999999999999, "more": "\ud800"')


@pytest.mark.parametrize("number", STRANGE_IDS)
async def test_262_a_session_with_an_id_that_is_no_text_or_number_of_ours_ends_like_any_other(number: bytes) -> None:
    async with hosting(max_sessions=1) as host:
        session = await host.open()
        call = b'{"jsonrpc": "2.0", "method": "do/wait", "id": ' + number + b"}"
        waiting = asyncio.create_task(host.post(call, session))
        async with asyncio.timeout(60):
            while not host.app.calls_under_way:  # noqa: ASYNC110 - nothing announces it
                await asyncio.sleep(0.01)
            again = await host.post(call, session)
            assert again.status_code == 409 and "under way" in again.text
            await host.http.delete(host.url, headers={"Mcp-Session-Id": session})
            assert "has ended" in (await waiting).text
            assert host.app.sessions_open == 0
            await host.open()


async def test_263_messages_to_a_command_that_does_not_read_are_refused_before_they_fill_the_memory() -> None:
    async with hosting() as host:
        session = await host.open()
        await host.ask(session, "hang")
        large = json.dumps({"jsonrpc": "2.0", "method": "notifications/large", "params": "x" * 4_000_000}).encode()
        async with asyncio.timeout(120):
            sent = [asyncio.create_task(host.post(large, session)) for _ in range(8)]
            refused = [task.result() for task in (await asyncio.wait(sent, return_when=asyncio.FIRST_COMPLETED))[0]]
            assert {one.status_code for one in refused} == {Busy.status} and "does not read" in refused[0].text
            call = await host.ask(session, "heard")
            assert call.status_code == Busy.status and "does not read" in call.json()["error"]["message"]
            await host.http.delete(host.url, headers={"Mcp-Session-Id": session})
            await asyncio.gather(*sent)
        assert host.app.sessions_open == 0
