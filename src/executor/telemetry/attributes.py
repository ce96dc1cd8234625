"""The attributes that spans may have, and how their values are bounded: ids, paths of known tools, codes, sizes, times.

What is not listed here is not exported. Nothing listed holds an argument, a result, code, a header or a message.
"""

from __future__ import annotations

from collections.abc import Mapping

from executor.telemetry.tracer import Value

LONGEST = 200
NAMES = frozenset(
    {
        "error.type",
        "executor.actor.id",
        "executor.call.effect",
        "executor.call.seq",
        "executor.call.verdict",
        "executor.execution.epoch",
        "executor.execution.id",
        "executor.execution.language",
        "executor.execution.runtime",
        "executor.execution.status",
        "executor.interaction.id",
        "executor.interaction.kind",
        "executor.interaction.wait_seconds",
        "executor.model.cost_usd",
        "executor.request.id",
        "executor.result.bytes",
        "executor.sandbox.calls",
        "executor.sandbox.cpu_ms",
        "executor.sandbox.wait_seconds",
        "executor.session.id",
        "executor.source.id",
        "executor.source.kind",
        "executor.task.id",
        "executor.tools.count",
        "executor.workspace.id",
        "gen_ai.agent.name",
        "gen_ai.conversation.id",
        "gen_ai.operation.name",
        "gen_ai.provider.name",
        "gen_ai.request.model",
        "gen_ai.tool.call.id",
        "gen_ai.tool.name",
        "gen_ai.tool.type",
        "gen_ai.usage.cache_creation.input_tokens",
        "gen_ai.usage.cache_read.input_tokens",
        "gen_ai.usage.input_tokens",
        "gen_ai.usage.output_tokens",
        "gen_ai.usage.reasoning.output_tokens",
        "http.request.method",
        "http.response.status_code",
        "http.route",
        "mcp.method.name",
        "mcp.protocol.version",
        "network.protocol.name",
        "network.transport",
        "server.address",
        "server.port",
    }
)


def check_attributes(attributes: Mapping[str, Value]) -> dict[str, Value]:
    """Raises KeyError for a name that is not listed: an oversight in Executor's own code, which tests find."""
    for name in attributes:
        if name not in NAMES:
            raise KeyError(f"{name} is not an attribute of a span")
    return {name: limit_text(value) if isinstance(value, str) else value for name, value in attributes.items()}


def limit_text(text: str) -> str:
    """Also for names of spans: those of tools are what a server calls them."""
    text = text if text.isprintable() else text.encode("unicode_escape").decode()
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
