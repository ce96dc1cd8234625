"""The documents are the specification: what exists is written down, and what is written down exists."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

import executor
from executor.errors import ExecutorError
from executor.surfaces.api.context import EdgeRoute, answered_type
from executor.surfaces.api.json_response import Answer
from executor.surfaces.views.system import Health
from tests.surfaces.api.daemon_server import Daemon

REFERENCE = Path(__file__).parents[3] / "docs" / "reference"
TOOL_ERRORS = {
    "invalid_arguments",
    "unknown_tool",
    "denied",
    "approval_expired",
    "upstream_error",
    "upstream_unreachable",
    "upstream_timeout",
    "unexpected_response",
    "result_too_large",
    "unknown_outcome",
    "egress_refused",
    "call_limit",
    "cancelled",
}
FAILURES = {
    "code_error",
    "syntax_error",
    "cpu_limit",
    "memory_limit",
    "wall_limit",
    "call_limit",
    "output_limit",
    "log_limit",
    "unserializable_result",
    "nondeterminism",
    "sandbox_lost",
    "cancelled",
}


def subclasses(kind: type[ExecutorError]) -> Iterator[type[ExecutorError]]:
    yield kind
    for child in kind.__subclasses__():
        yield from subclasses(child)


def documented_codes() -> set[str]:
    return set(re.findall(r"^\| `([a-z_]+)` \|", (REFERENCE / "errors.md").read_text(encoding="utf-8"), re.MULTILINE))


def test_every_error_code_is_documented() -> None:
    for module in pkgutil.walk_packages(executor.__path__, "executor."):
        if not module.name.endswith("__main__") and ".migrations." not in module.name:
            importlib.import_module(module.name)
    raised = {kind.code for kind in subclasses(ExecutorError) if kind.__module__.startswith("executor.")}
    assert raised | TOOL_ERRORS | FAILURES <= documented_codes()


def test_every_code_used_for_a_tool_error_in_the_sources_is_documented() -> None:
    root = Path(executor.__path__[0])
    used: set[str] = set()
    for path in root.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        used |= set(re.findall(r'(?:ToolError|Failure)\(\s*"([a-z_]+)"', text))
    assert used
    assert used <= documented_codes()


def test_every_route_is_documented(daemon: Daemon) -> None:
    """Who may use it stands in roles.md, which the walk of all routes checks."""
    text = (REFERENCE / "api.md").read_text(encoding="utf-8")
    rows = set(re.findall(r"^\| `((?:GET|POST|PUT|PATCH|DELETE) [^`]+)` \|", text, re.MULTILINE))
    existing = {
        f"{method} {route.path}"
        for route in daemon.app.routes
        if isinstance(route, Route)
        for method in route.methods or ()
        if method != "HEAD"
    }
    assert rows == {"POST /mcp", "POST /mcp/anonymous", *existing}


def test_every_route_that_answers_json_says_with_what(daemon: Daemon) -> None:
    """The type that a handler returns is the one in the document."""
    untyped = {
        route.path
        for route in daemon.app.routes
        if isinstance(route, EdgeRoute) and route.include_in_schema and answered_type(route.endpoint) is None
        if route.status_code != 204 and route.response_class is not Response
    }
    assert not untyped


async def _answers_or_streams() -> Answer[Health] | StreamingResponse: ...


async def _answers_bytes() -> Response: ...


def test_the_type_of_an_answer_is_found_in_what_a_handler_returns() -> None:
    assert answered_type(_answers_or_streams) is Health
    assert answered_type(_answers_bytes) is None


def documented_events() -> set[str]:
    text = (REFERENCE / "api.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (`[a-z]+\.[a-z]+`(?:, `[a-z]+\.[a-z]+`)*) \|", text, re.MULTILINE)
    return {name for row in rows for name in re.findall(r"[a-z]+\.[a-z]+", row)}


def test_every_event_type_in_the_sources_is_documented() -> None:
    root = Path(executor.__path__[0])
    nouns = "execution|call|interaction|source|policy|key|agent|session|workspace|organization|member|invitation"
    pattern = re.compile(rf'"((?:{nouns})\.[a-z]+)"')
    written = {
        name
        for folder in ("execution", "storage", "catalog", "identity")
        for path in (root / folder).rglob("*.py")
        for name in pattern.findall(path.read_text(encoding="utf-8"))
    }
    written.discard("agent.token")  # a file
    assert written >= {"execution.created", "policy.added", "source.added"}
    assert written <= documented_events()


def test_every_event_that_happened_is_documented(daemon: Daemon, paused: Any) -> None:
    daemon.post(f"/v1/interactions/{paused['interactions'][0]['id']}/approve")
    daemon.get(f"/v1/executions/{paused['executionId']}?wait=60")
    happened = {event["type"] for event in daemon.get("/v1/events?limit=1000").json["items"]}
    assert happened >= {"interaction.requested", "call.started", "daemon.started"}
    assert happened <= documented_events()


def test_every_field_of_a_body_is_documented(daemon: Daemon) -> None:
    text = (REFERENCE / "api.md").read_text(encoding="utf-8")
    document: Any = daemon.get("/v1/openapi.json").json
    taken = set(re.findall(r'"#/components/schemas/(\w+)"', str(_bodies(document)).replace("'", '"')))
    assert taken >= {"NewExecution", "Resume", "NewSource", "NewKey", "NewInvitation", "SignIn"}
    for body in taken:
        for name in document["components"]["schemas"][body]["properties"]:
            assert f"`{name}`" in text, (body, name)


def _bodies(document: Any) -> list[Any]:
    return [act.get("requestBody") for item in document["paths"].values() for act in item.values()]


def test_the_openapi_document_describes_every_route_and_asks_for_a_token(daemon: Daemon) -> None:
    document: Any = daemon.get("/v1/openapi.json", role="agent").json
    assert document["openapi"].startswith("3.1")
    assert {"token": []} in document["security"]
    described = {(method.upper(), path) for path, item in document["paths"].items() for method in item}
    existing = {
        (method, route.path)
        for route in daemon.app.routes
        if isinstance(route, Route) and route.include_in_schema
        for method in route.methods or ()
        if method != "HEAD"
    }
    assert described == existing


def test_an_execution_view_has_the_shape_the_openapi_document_promises(daemon: Daemon) -> None:
    import jsonschema_rs

    document: Any = daemon.get("/v1/openapi.json").json
    view = daemon.execute("console.log('x'); return {a: 1}")
    schema = {"$ref": "#/components/schemas/ExecutionView", "components": document["components"]}
    jsonschema_rs.validator_for(schema).validate(view)
    assert view.keys() <= document["components"]["schemas"]["ExecutionView"]["properties"].keys()


def test_an_interaction_has_the_shape_the_openapi_document_promises(daemon: Daemon, paused: Any) -> None:
    import jsonschema_rs

    document: Any = daemon.get("/v1/openapi.json").json
    schema = {"$ref": "#/components/schemas/InteractionView", "components": document["components"]}
    shown = daemon.get(f"/v1/interactions/{paused['interactions'][0]['id']}").json
    jsonschema_rs.validator_for(schema).validate(shown)
    promised = document["components"]["schemas"]["InteractionView"]["properties"].keys()
    assert shown.keys() == promised
    assert paused["interactions"][0].keys() <= promised
