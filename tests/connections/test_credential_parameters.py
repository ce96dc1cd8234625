"""A service that documents its token as a parameter: agents neither see it nor can give another."""

from __future__ import annotations

from typing import Any

import pytest

from executor.connections.new_connection import Offer
from tests.support.connection_harness import ConnectionHarness, value

TOKEN = {"name": "token", "in": "query", "required": True, "schema": {"type": "string"}, "description": "Access token"}
CHANNEL = {"name": "channel", "in": "query", "required": True, "schema": {"type": "string"}}
HISTORY = {"operationId": "history", "tags": ["chat"], "parameters": [TOKEN, CHANNEL], "responses": {"200": {}}}
DOCUMENT: dict[str, Any] = {"paths": {"/history": {"get": HISTORY}}, "components": {}}
CALLS = {
    "typescript": 'return await tools.chat.chat.history({{channel: "C1"{}}})',
    "python": 'return await tools.chat.chat.history(channel="C1"{})',
}
INVENTED = {"typescript": ', token: "made-up"', "python": ', token="made-up"'}


@pytest.mark.parametrize("language", ["typescript", "python"])
async def test_the_connection_fills_the_parameter(harness: ConnectionHarness, language: str) -> None:
    harness.service.extra = DOCUMENT
    source = await harness.add_source(namespace="chat")
    bearer = [{"in": "header", "name": "Authorization", "template": "Bearer {token}"}]
    offer = Offer(values={"token": "k-bearer"}, placements=bearer)
    await harness.executor.connections.add(source, offer, by=harness.executor.tenancy.operator)
    refused = await harness.run(CALLS[language].format(INVENTED[language]), language=language)
    assert refused.execution.status == "failed" and not harness.service.calls
    value(await harness.run(CALLS[language].format(""), language=language))
    sent = harness.service.calls[-1]
    assert sent["query"] == {"channel": "C1", "token": "k-bearer"}
    assert sent["headers"]["authorization"] == "Bearer k-bearer"


async def test_a_call_without_a_connection_asks_for_it(harness: ConnectionHarness) -> None:
    harness.service.extra = DOCUMENT
    await harness.add_source(namespace="chat")
    paused = await harness.run(CALLS["typescript"].format(""))
    [asked] = paused.interactions
    [way] = asked.prompt["credential"]["ways"]
    assert way["placements"] == [{"in": "query", "name": "token", "template": "{key}"}]
    assert not harness.service.calls
