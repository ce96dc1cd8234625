"""Executions are found by everything that people remember of them, and only in their workspace."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy.engine import Connection

from executor.model.execution import Execution, ExecutionFilter
from executor.storage.database import Database
from executor.storage.executions import calls, execution_search, executions
from executor.storage.identity.tenancy import Tenancy
from tests.storage.test_contract import a_call, an_execution

HOUR = 3_600_000


def at(hour: int, number: int = 0) -> str:
    return f"exec_{hour * HOUR:012x}{number:020x}"


@pytest.fixture
async def history(database: Database, local: Tenancy) -> list[Execution]:
    made = [
        an_execution(local, id=at(1), status="completed", code="return await tools.shop.things.list({})"),
        an_execution(local, id=at(2), status="failed", code="return 50 % of_it"),
        an_execution(local, id=at(3), status="paused", language="python", runtime="python", code="shop_2"),
        an_execution(local, id=at(4), status="running", runtime="deno", actor_id=local.operator.id),
    ]

    def job(c: Connection) -> None:
        for execution in made:
            executions.insert(c, execution)
        calls.insert(c, [a_call(made[0], seq, path="shop.things.list") for seq in (1, 2)])
        calls.insert(c, [a_call(made[0], 3, kind="timer", path=""), a_call(made[1], 1, path="shop-2.things.list")])
        calls.insert(c, [a_call(made[2], 1, path="shop"), a_call(made[3], 1, path="shop.orders.list")])

    await database.write(job)
    return made


@pytest.mark.parametrize(
    ("wanted", "hours"),
    [
        ({}, [4, 3, 2, 1]),
        ({"statuses": ("failed", "paused")}, [3, 2]),
        ({"language": "python"}, [3]),
        ({"runtime": "deno"}, [4]),
        ({"tool": "shop.things.list"}, [1]),
        ({"tool": "shop"}, [4, 3, 1]),
        ({"tool": "shop.thing"}, []),
        ({"text": "TOOLS.shop"}, [1]),
        ({"text": "50 % of"}, [2]),
        ({"text": "shop_"}, [3]),
        ({"since": 2 * HOUR}, [4, 3, 2]),
        ({"until": 3 * HOUR}, [2, 1]),
        ({"since": 2 * HOUR, "until": 3 * HOUR}, [2]),
        ({"tool": "shop", "statuses": ("completed",)}, [1]),
    ],
)
async def test_each_filter_finds_what_it_says_and_nothing_else(
    database: Database, local: Tenancy, history: list[Execution], wanted: dict[str, Any], hours: list[int]
) -> None:
    found = await database.read(lambda c: execution_search.page(c, local.workspace.id, ExecutionFilter(**wanted)))
    assert [one.id for one in found] == [at(hour) for hour in hours]
    assert await database.read(lambda c: execution_search.page(c, "ws_other", ExecutionFilter(**wanted))) == []


async def test_one_actors_executions_are_found_page_by_page(
    database: Database, local: Tenancy, history: list[Execution]
) -> None:
    mine = ExecutionFilter(actor_id=local.agent.id)
    first = await database.read(lambda c: execution_search.page(c, local.workspace.id, mine, limit=2))
    assert [one.id for one in first] == [at(3), at(2)]
    rest = await database.read(lambda c: execution_search.page(c, local.workspace.id, mine, before=first[-1].id))
    assert [one.id for one in rest] == [history[0].id]


async def test_calls_are_counted_without_timers(database: Database, local: Tenancy, history: list[Execution]) -> None:
    ids = [one.id for one in history]
    counts = await database.read(lambda c: execution_search.call_counts(c, local.workspace.id, ids))
    assert counts == {at(1): 2, at(2): 1, at(3): 1, at(4): 1}
    assert await database.read(lambda c: execution_search.call_counts(c, "ws_other", ids)) == {}


async def test_heads_have_no_arguments_and_results_but_their_beginning_and_size(
    database: Database, local: Tenancy
) -> None:
    execution = an_execution(local)
    call = a_call(execution, 1, arguments='{"a": "' + "x" * 1000 + '"}', result="[1, 2]", state="succeeded")

    def job(c: Connection) -> None:
        executions.insert(c, execution)
        calls.insert(c, [call])

    await database.write(job)
    [head] = await database.read(lambda c: calls.heads(c, local.workspace.id, execution.id))
    assert (len(head.call.arguments), head.call.result, head.size) == (calls.PREVIEW, None, 6)
    assert await database.read(lambda c: calls.heads(c, "ws_other", execution.id)) == []
    assert await database.read(lambda c: calls.one(c, local.workspace.id, execution.id, 1)) == call
    assert await database.read(lambda c: calls.one(c, "ws_other", execution.id, 1)) is None
