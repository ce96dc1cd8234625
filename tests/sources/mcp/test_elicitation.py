"""Whose call a server asks for, and servers that ask by answering "input first"."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

import pytest

from executor.errors import ToolError
from executor.model.interaction import LISTENER, Elicitation, ElicitationAnswer
from executor.sources.mcp.sessions.exchange import Exchange
from tests.sources.mcp.conftest import HOSTILE, SERVERS, Connected, McpConnector, listening
from tests.support.conditions import until

ELICITING = str(SERVERS / "eliciting.py")


class Person:
    """Answers with the name of its call, once `answers` is set."""

    def __init__(self, name: str, actor_id: str = "act_1") -> None:
        self.name, self.actor_id, self.execution_id = name, actor_id, f"exec_{name}"
        self.secrets: tuple[str, ...] = ()
        self.asked: list[Elicitation] = []
        self.lines: list[str] = []
        self.answers = asyncio.Event()

    async def elicit(self, elicitation: Elicitation) -> ElicitationAnswer:
        self.asked.append(elicitation)
        await self.answers.wait()
        return ElicitationAnswer("accept", {"word": self.name, "name": self.name, "seats": 1})

    def log(self, level: str, text: str) -> None:
        self.lines.append(text)

    def warn(self, text: str) -> None:
        self.lines.append(text)


def begin(connected: Connected, person: Person, tool: str = "book", **arguments: Any) -> asyncio.Task[Any]:
    async def call() -> Any:
        LISTENER.set(person)
        return await connected.call(tool, **arguments)

    return asyncio.create_task(call())


async def test_over_http_each_call_is_asked_what_belongs_to_it(connect: McpConnector) -> None:
    with listening([sys.executable, ELICITING, "http"]) as url:
        connected = await connect.to_url(f"{url}/mcp")
        people = [Person(name, f"act_{name}") for name in ("ada", "bob", "cleo")]
        calls = [begin(connected, person) for person in people]
        await until(lambda: all(person.asked for person in people))
        for person in people:
            person.answers.set()
        assert [person.name in await call for person, call in zip(people, calls, strict=True)] == [True] * 3
        assert all(one.candidates == 1 for person in people for one in person.asked)
        await connect.kind.close()


async def test_on_a_shared_stream_one_actor_is_asked_and_learns_that_it_is_not_certain(connect: McpConnector) -> None:
    connected = await connect.to_command(ELICITING, "stdio")
    first, second = Person("first"), Person("second")
    one = begin(connected, first)
    await until(lambda: first.asked)
    two = begin(connected, second)
    await until(lambda: second.asked)
    assert (first.asked[0].candidates, second.asked[0].candidates) == (1, 2)
    for person in (first, second):
        person.answers.set()
    assert ("first" in await one, "second" in await two) == (True, True)


async def test_on_a_shared_stream_nothing_of_one_actor_reaches_another(connect: McpConnector) -> None:
    connected = await connect.to_command(ELICITING, "stdio")
    first, other = Person("first"), Person("other", "act_2")
    one = begin(connected, first)
    await until(lambda: first.asked)
    assert "calls of several actors are under way" in await begin(connected, other)
    await begin(connected, other, "chat", lines=3)
    assert not other.asked and first.lines == [] and not any("line 0" in line for line in other.lines)
    first.answers.set()
    assert "first" in await one


async def test_a_call_that_is_given_up_ends_what_its_server_asks(connect: McpConnector) -> None:
    connected = await connect.to_command(ELICITING, "stdio")
    person = Person("first")
    call = begin(connected, person)
    await until(lambda: person.asked)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert await connected.call("chat") == "said"


async def test_a_server_of_the_newest_protocol_gets_answers_with_the_call_sent_again(
    connect: McpConnector,
) -> None:
    connected = await connect.to_command(HOSTILE, "newest")
    person = Person("ada")
    person.answers.set()
    said = await begin(connected, person, "work", asks="elicitation/create")
    answers, state = json.loads(said)
    assert answers == {"first": {"action": "accept", "content": {"word": "ada", "name": "ada", "seats": 1}}}
    assert state == "état" and person.asked[0].message == "a word?"


@pytest.mark.parametrize("method", ["sampling/createMessage", "roots/list", "nothing"])
async def test_a_server_of_the_newest_protocol_that_asks_for_something_else_fails_the_call(
    connect: McpConnector, method: str
) -> None:
    connected = await connect.to_command(HOSTILE, "newest")
    with pytest.raises(ToolError, match="asked for input, which was refused"):
        await begin(connected, Person("ada"), "work", asks=method)


async def test_while_people_are_waited_for_no_deadline_passes() -> None:
    loop = asyncio.get_running_loop()
    exchange = Exchange(0.05, total=0.1)
    async with exchange.running("it"), exchange.reading():
        exchange.pause()
        exchange.pause()
        exchange.go_on()
        await until(lambda: loop.time() > exchange.deadline + 2)
        exchange.go_on()
    assert exchange.deadline > loop.time() - 1
