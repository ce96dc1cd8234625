"""What is measured of a model request: time, tokens and cost, as the GenAI conventions name them."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from executor.model.sessions.model_usage import NANODOLLARS, ModelProvider, Usage
from executor.telemetry import tracer
from executor.telemetry.agent_tasks import open_task
from executor.telemetry.metric import OTHER
from executor.telemetry.metrics import MODEL_COST, MODEL_SECONDS, MODEL_TOKENS

if TYPE_CHECKING:
    from executor.sessions.model_proxy.exchange import Admitted, Outcome

PROVIDERS: dict[ModelProvider, str] = {"anthropic": "anthropic", "openai": "openai", "gemini": "gcp.gemini"}
OPERATIONS = {"messages": "chat", "responses": "chat", "chat": "chat", "generate": "generate_content"}
_MODEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/-]{0,63}", re.ASCII)


@contextmanager
def measure_request(admitted: Admitted, outcome: Callable[[], Outcome]) -> Iterator[None]:
    """Only what generates. `outcome` is called at the end."""
    endpoint, request = admitted.route.endpoint, admitted.request
    if not endpoint.is_metered or endpoint.dialect is None:
        yield
        return
    began, operation, provider = time.perf_counter(), OPERATIONS[endpoint.dialect], PROVIDERS[request.provider]
    attributes = {
        "gen_ai.operation.name": operation,
        "gen_ai.provider.name": provider,
        "gen_ai.conversation.id": request.session_id,
        "executor.session.id": request.session_id,
    }
    begun = tracer.start_span(operation, attributes, kind="client", parent=open_task(request.session_id))
    with tracer.within(begun):
        try:
            yield
        finally:
            done = outcome()
            model, failed = model_name(request.model, done.status), failure_of(done.status)
            MODEL_SECONDS.observe(time.perf_counter() - began, operation, provider, model, failed)
            note_usage(begun, done, (operation, provider, model))
            if model != OTHER:
                begun.rename(f"{operation} {model}")
            if failed:
                begun.fail(failed)


def note_usage(begun: tracer.Span, done: Outcome, labels: tuple[str, str, str]) -> None:
    usage, dollars = done.usage, done.cost / NANODOLLARS
    MODEL_COST.add(labels[1], amount=dollars)
    MODEL_TOKENS.observe(usage.prompt, *labels, "input")
    MODEL_TOKENS.observe(usage.output + usage.thoughts, *labels, "output")
    begun.set({"gen_ai.request.model": labels[2], "executor.model.cost_usd": dollars, **describe(usage)})


def describe(usage: Usage) -> dict[str, tracer.Value]:
    return {
        "gen_ai.usage.input_tokens": usage.prompt,
        "gen_ai.usage.output_tokens": usage.output + usage.thoughts,
        "gen_ai.usage.reasoning.output_tokens": usage.thoughts,
        "gen_ai.usage.cache_read.input_tokens": usage.cache_read,
        "gen_ai.usage.cache_creation.input_tokens": usage.cache_write + usage.cache_write_1h,
    }


def model_name(model: str, status: int) -> str:
    """An agent can ask for any name, and put anything into it. One that the provider has served is a model."""
    return model if 200 <= status < 300 and _MODEL.fullmatch(model) else OTHER


def failure_of(status: int) -> str:
    if status == 0:
        return "upstream_unreachable"
    return str(status) if status >= 300 else ""
