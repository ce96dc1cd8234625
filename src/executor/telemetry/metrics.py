"""Everything that is counted as it happens. What is looked up instead, when someone asks, is in `daemon/metrics.py`.

No label is an id, a path, a name that a person chose or a text of a service: a thousand sources are a few series.
"""

from __future__ import annotations

from executor.telemetry.metric import HUMAN_SECONDS, TOKENS, Counter, Family, Histogram

EXECUTIONS = Counter(
    "executor.executions", "{execution}", "Executions that ended or paused, by status", ("status", "runtime")
)
EXECUTION_SECONDS = Histogram(
    "executor.execution.duration", "s", "Time of ended executions, without waits for people", ("status", "runtime")
)
SANDBOX_WAIT = Histogram("executor.sandbox.wait.duration", "s", "Wait for a free sandbox", ("runtime",))
ADMISSIONS = Counter("executor.calls.admitted", "{call}", "Proposed calls, by what became of them", ("verdict",))
CALL_SECONDS = Histogram(
    "executor.call.duration", "s", "Calls that were sent, by kind of source and outcome", ("kind", "outcome")
)
CALL_ERRORS = Counter("executor.call.errors", "{error}", "Calls that failed, by error code", ("kind", "code"))
INTERACTIONS = Counter("executor.interactions.settled", "{interaction}", "Settled interactions", ("kind", "status"))
INTERACTION_WAIT = Histogram(
    "executor.interaction.wait.duration", "s", "Time until an interaction was settled", ("kind",), HUMAN_SECONDS
)
REFRESHES = Histogram("executor.source.refresh.duration", "s", "Refreshes of sources", ("kind", "outcome"))
COMMITS = Histogram("executor.database.commit.duration", "s", "Commits of the writer, each a group of writes")
WRITES = Counter("executor.database.writes", "{write}", "Writes of all groups")
REQUESTS = Histogram("executor.http.request.duration", "s", "Requests, by surface and status", ("surface", "status"))
MCP_SERVER = Histogram(
    "mcp.server.operation.duration",
    "s",
    "MCP requests that were answered",
    ("mcp.method.name", "gen_ai.tool.name", "error.type"),
)
MCP_CLIENT = Histogram(
    "mcp.client.operation.duration", "s", "Requests to MCP servers", ("mcp.method.name", "error.type")
)
MODEL_SECONDS = Histogram(
    "gen_ai.client.operation.duration",
    "s",
    "Model requests of agent sessions",
    ("gen_ai.operation.name", "gen_ai.provider.name", "gen_ai.request.model", "error.type"),
)
MODEL_TOKENS = Histogram(
    "gen_ai.client.token.usage",
    "{token}",
    "Tokens of model requests",
    ("gen_ai.operation.name", "gen_ai.provider.name", "gen_ai.request.model", "gen_ai.token.type"),
    TOKENS,
)
MODEL_COST = Counter("executor.model.cost", "USD", "What model requests cost, in US dollars", ("provider",))
SESSION_TASKS = Counter("executor.session.tasks", "{task}", "Ended tasks of agent sessions", ("agent", "status"))
WEBHOOKS = Counter("executor.webhook.attempts", "{attempt}", "Attempts to deliver to webhooks", ("outcome",))
EXPORTS = Counter("executor.telemetry.exports", "{export}", "Exports over OTLP", ("signal", "outcome"))

COUNTED = (
    EXECUTIONS, EXECUTION_SECONDS, SANDBOX_WAIT, ADMISSIONS, CALL_SECONDS, CALL_ERRORS, INTERACTIONS, INTERACTION_WAIT,
    REFRESHES, COMMITS, WRITES, REQUESTS, MCP_SERVER, MCP_CLIENT, MODEL_SECONDS, MODEL_TOKENS, MODEL_COST,
    SESSION_TASKS, WEBHOOKS, EXPORTS,
)  # fmt: skip


def families() -> list[Family]:
    return [metric.family() for metric in COUNTED]
