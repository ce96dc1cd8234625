"""Model requests as spans and metrics: tokens and cost as they were billed, and nothing of what was said."""

from __future__ import annotations

from executor.model.sessions.model_usage import NANODOLLARS, Usage
from executor.model.sessions.session import Session, Task
from executor.telemetry import metrics
from executor.telemetry.agent_tasks import trace_task
from executor.telemetry.metric import Distribution
from tests.sessions.model_proxy.conftest import Place, agent, message
from tests.support.recorded_spans import recording_spans

SESSION = Session("ses_1", "ws", "act", "agt", "fake", "running", "insulated", "ask", "/")
TASK = Task("task_1", "ses_1", "ws", "act", 1, "a prompt that is no one's business", "running", 0)


async def test_a_model_request_is_part_of_its_task_with_tokens_and_cost(place: Place) -> None:
    place.provider.usage = Usage(11, 7, 5, 3, 20)
    key = await place.open("anthropic")
    with recording_spans() as recorder:
        with trace_task(SESSION, TASK):
            async with agent(key) as client:
                body = message(system="a canary of the prompt")
                response = await client.post("/v1/messages", json=body, headers={"x-api-key": key.api_key})
                await response.read()
        spent = await place.spending_when_idle()
    task, request = recorder.find("invoke_agent fake"), recorder.find(f"chat {body['model']}")
    assert request.parent == task.context and request.kind == "client" and request.has_ended
    found = request.attributes
    assert (found["gen_ai.provider.name"], found["gen_ai.request.model"]) == ("anthropic", body["model"])
    assert (found["gen_ai.usage.input_tokens"], found["gen_ai.usage.output_tokens"]) == (26, 20)
    assert found["gen_ai.usage.cache_read.input_tokens"] == 7
    assert found["executor.model.cost_usd"] == spent.cost / NANODOLLARS > 0
    assert "canary" not in repr(recorder.spans) and "business" not in repr(recorder.spans)
    counted = metrics.MODEL_TOKENS.family().values[("chat", "anthropic", body["model"], "input")]
    assert isinstance(counted, Distribution) and counted.total >= 26


async def test_a_model_that_no_provider_served_is_not_named(place: Place) -> None:
    place.provider.error = 404, {}, b"{}"
    key = await place.open("anthropic")
    with recording_spans() as recorder:
        async with agent(key) as client:
            body = {**message(), "model": "an-agent-wrote-this"}
            await client.post("/v1/messages", json=body, headers={"x-api-key": key.api_key})
        await place.spending_when_idle()
    found = recorder.find("chat").attributes
    assert (found["gen_ai.request.model"], found["error.type"]) == ("other", "404")
