"""Budgets are reserved before they are spent, and the ledger agrees with the provider's to the token."""

from __future__ import annotations

import asyncio
import random
import shutil
from pathlib import Path

import aiohttp

from executor.model.sessions.model_usage import USAGE_FIELDS, Spending, Usage
from executor.sessions.history import count_tokens
from executor.sessions.model_proxy.access import Terms
from executor.sessions.model_proxy.admission import Allowance
from executor.sessions.model_proxy.upstream import Upstream
from executor.sessions.processes.conversation import fail_over_budget
from executor.sessions.protocol.messages import PromptResult
from tests.sessions.model_proxy.conftest import REAL_KEY, Place, agent, message, open_place
from tests.support.conditions import until
from tests.support.model_provider import ModelProvider

BODY = message()
HEADERS = {"anthropic-version": "2023-06-01"}


def total(billed: list[Usage]) -> Usage:
    return Usage(*(sum(getattr(one, name) for one in billed) for name in USAGE_FIELDS))


async def reservation(place: Place) -> int:
    """What one such request holds back, found out by making one."""
    key = await place.proxy.open(place.party("ses_probe"), "anthropic")
    async with agent(key) as client:
        await (await client.post("/v1/messages", json=BODY, headers={"x-api-key": key.api_key})).read()
    [request] = await place.proxy.requests(place.workspace_id, "ses_probe")
    place.provider.billed.clear()
    place.provider.seen.clear()
    return request.reserved


async def test_of_fifty_at_once_only_those_are_sent_that_the_budget_covers(place: Place) -> None:
    one = await reservation(place)
    budget = 3 * one + one // 2
    place.provider.gate.clear()
    key = await place.open(terms=Terms(budget=budget))
    cut = random.Random(11)
    answered: list[int] = []

    async def ask(client: aiohttp.ClientSession, read: int) -> None:
        """Leaves after so many bytes."""
        response = await client.post("/v1/messages", json=BODY, headers={"x-api-key": key.api_key})
        answered.append(response.status)
        if response.status == 200:
            await response.content.read(read)
        response.close()

    async with agent(key) as client:
        asking = [asyncio.create_task(ask(client, cut.randint(0, 400))) for _ in range(50)]
        await until(lambda: len(answered) == 50)
        place.provider.gate.set()
        await asyncio.gather(*asking)
    spent = await place.spending_when_idle()
    assert answered.count(200) == 3 == len(place.provider.billed)
    assert set(answered) == {200, 429}, "those that the budget may cover later are told to try again"
    assert spent.usage == total(place.provider.billed)
    assert 0 < spent.cost <= budget


async def test_clients_that_leave_and_try_again_spend_the_budget_and_no_more(place: Place) -> None:
    one = await reservation(place)
    budget = 6 * one
    key = await place.open(terms=Terms(budget=budget))
    cut = random.Random(3)
    refused = 0

    async def ask_until_spent(client: aiohttp.ClientSession) -> None:
        nonlocal refused
        while True:
            response = await client.post("/v1/messages", json=BODY, headers={"x-api-key": key.api_key})
            if response.status == 200:
                await response.content.read(cut.randint(0, 900))
            response.close()
            if response.status == 402:
                refused += 1
                return

    async with agent(key) as client:
        await asyncio.gather(*(ask_until_spent(client) for _ in range(8)))
    spent = await place.spending_when_idle()
    assert refused == 8
    assert spent.usage == total(place.provider.billed)
    assert budget - one < spent.cost <= budget


async def test_a_user_has_one_budget_for_all_sessions_of_a_day(tmp_path: Path, provider: ModelProvider) -> None:
    probe = await open_place(tmp_path / "probe", provider)
    await probe.keys.set("anthropic", "workspace", value=REAL_KEY, by=probe.by)
    one = await reservation(probe)
    await probe.close()
    place = await open_place(tmp_path / "data", provider, Allowance(user_budget=one))
    await place.keys.set("anthropic", "workspace", value=REAL_KEY, by=place.by)
    statuses = []
    for session_id in ("ses_1", "ses_2", "ses_3"):
        key = await place.proxy.open(place.party(session_id), "anthropic")
        async with agent(key) as client:
            response = await client.post("/v1/messages", json=BODY, headers={"x-api-key": key.api_key})
            statuses.append(response.status)
            body = await response.json() if response.status != 200 else await response.read()
    assert statuses == [200, 402, 402]
    assert place.proxy.take_budget_refusal("ses_1") == ""
    assert "this user" in place.proxy.take_budget_refusal("ses_3")
    assert place.proxy.take_budget_refusal("ses_3") == ""
    assert body["error"]["type"] == "billing_error" and "this user" in body["error"]["message"]
    other = await place.proxy.open(place.party("ses_4", "act_other"), "anthropic")
    async with agent(other) as client:
        response = await client.post("/v1/messages", json=BODY, headers={"x-api-key": other.api_key})
        assert response.status == 200
    await place.close()


def test_a_turn_whose_last_request_no_budget_covered_has_failed() -> None:
    done: PromptResult = {"status": "completed", "message_count": 1}
    assert fail_over_budget(done, "") is done
    failed = {**done, "status": "failed", "error": {"code": "budget_exceeded", "message": "too dear"}}
    assert fail_over_budget(done, "too dear") == failed
    stopped: PromptResult = {"status": "cancelled", "message_count": 1}
    assert fail_over_budget(stopped, "too dear") is stopped


async def test_an_answer_that_the_provider_breaks_off_is_billed_as_reserved(place: Place) -> None:
    place.provider.leave_after = 300
    key = await place.open()
    async with agent(key) as client:
        response = await client.post("/v1/messages", json=BODY, headers={"x-api-key": key.api_key})
        try:
            await response.read()
            whole = True
        except aiohttp.ClientPayloadError:
            whole = False
    assert not whole, "half an answer must not look like a whole one"
    spent = await place.spending_when_idle()
    [request] = await place.proxy.requests(place.workspace_id, "ses_1")
    assert request.state == "estimated" and spent.cost == request.reserved > 0


async def test_errors_of_the_provider_cost_nothing_and_pass_with_their_headers(place: Place) -> None:
    body = b'{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}'
    place.provider.error = (529, {"Retry-After": "17", "Content-Type": "application/json"}, body)
    key = await place.open(terms=Terms(budget=10**12))
    async with agent(key) as client:
        response = await client.post("/v1/messages", json=BODY, headers={"x-api-key": key.api_key})
        assert (response.status, response.headers["Retry-After"], await response.read()) == (529, "17", body)
    assert (await place.spending_when_idle()).cost == 0


async def test_a_provider_that_is_down_costs_nothing(place: Place) -> None:
    key = await place.open(terms=Terms(budget=10**12))
    place.proxy._upstreams.known["anthropic"] = Upstream("http://127.0.0.1:1", "http://127.0.0.1:1")
    async with agent(key) as client:
        response = await client.post("/v1/messages", json=BODY, headers={"x-api-key": key.api_key})
        assert response.status == 502 and (await response.json())["error"]["type"] == "api_error"
    assert (await place.spending_when_idle()).cost == 0


async def test_what_a_killed_daemon_had_under_way_is_billed_as_reserved(
    place: Place, tmp_path: Path, provider: ModelProvider
) -> None:
    provider.gate.clear()
    before = await place.open(terms=Terms(budget=10**12))
    async with agent(before) as client:
        response = await client.post("/v1/messages", json=BODY, headers={"x-api-key": before.api_key})
        reserved = (await place.spending()).reserved
        # What is on the disk at this moment is what a killed daemon leaves.
        await asyncio.to_thread(
            shutil.copytree, tmp_path / "data", tmp_path / "left", ignore=shutil.ignore_patterns("sockets")
        )
        provider.gate.set()
        await response.read()
    again = await open_place(tmp_path / "left", provider)
    after = await again.open(terms=Terms(budget=10**12))
    spent = await again.spending()
    assert reserved > 0 and (spent.cost, spent.reserved) == (reserved, 0)
    async with agent(after) as client:
        response = await client.post("/v1/messages", json=BODY, headers={"x-api-key": before.api_key})
        assert response.status == 401, "no virtual key outlives the daemon"
    await again.close()


def test_a_session_shows_what_the_proxy_counted_rather_than_what_its_agent_reports() -> None:
    spent = Spending(
        requests=2, usage=Usage(input=100, cache_read=7, cache_write=5, cache_write_1h=3, output=20, thoughts=4)
    )
    reported = [{"input": 60, "output": 11}]
    assert count_tokens(spent, reported) == [{"input": 100, "output": 24, "cache_read": 7, "cache_write": 8}]
    assert count_tokens(Spending(), reported) == reported, "an agent without a model of ours"
