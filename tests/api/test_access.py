"""Who may use what: every route, with every kind of token."""

from __future__ import annotations

import re
from typing import Any

from starlette.routing import Route

from executor.identity.tokens import Tokens
from executor.surfaces.api.app import NOUNS
from tests.api.serving import Daemon

PUBLIC = {("GET", "/healthz"), ("GET", "/approvals/{interaction_id}")}
OPERATOR_ONLY = {
    ("GET", "/v1/doctor"),
    ("POST", "/v1/executions/{execution_id}/replay"),
    ("POST", "/v1/interactions/{interaction_id}/approve"),
    ("POST", "/v1/interactions/{interaction_id}/deny"),
    ("POST", "/v1/sources"),
    ("POST", "/v1/sources/probe"),
    ("DELETE", "/v1/sources/{source}"),
    ("POST", "/v1/sources/{source}/refresh"),
    ("POST", "/v1/policies"),
    ("DELETE", "/v1/policies/{policy_id}"),
}
MCP = ("POST", "/mcp")  # beside the API, behind the same door
UNKNOWN = "exec_aaaaaaaaaaaaaaaaaaaaaaaaaa"


def routes(daemon: Daemon) -> set[tuple[str, str]]:
    found = {
        (method, route.path)
        for route in daemon.app.routes
        if isinstance(route, Route)
        for method in route.methods or ()
    }
    assert len(found) >= 30
    return found | {MCP}


def address(path: str) -> str:
    return re.sub(r"{\w+}", UNKNOWN, path)


def ask(daemon: Daemon, method: str, path: str, role: str | None) -> Any:
    return daemon.request(method, address(path), None if method == "GET" else {}, role=role)


def test_every_route_but_the_public_ones_refuses_a_request_without_a_token(daemon: Daemon) -> None:
    for method, path in routes(daemon) - PUBLIC:
        answer = ask(daemon, method, path, None)
        assert (answer.status, answer.json["code"]) == (401, "unauthorized"), (method, path)
        assert answer.headers["www-authenticate"] == "Bearer"


def test_every_route_but_the_public_ones_refuses_a_wrong_token(daemon: Daemon) -> None:
    wrong = Tokens("exo_" + "a" * 43, "exa_" + "b" * 43)
    for method, path in routes(daemon) - PUBLIC:
        for token in (wrong.operator, wrong.agent, daemon.tokens.operator[:-1]):
            assert ask(daemon, method, path, token).status == 401, (method, path)


def test_a_token_in_the_query_string_opens_nothing(daemon: Daemon) -> None:
    for name in ("token", "access_token", "authorization"):
        answer = daemon.get(f"/v1/status?{name}={daemon.tokens.operator}", role=None)
        assert answer.status == 401
        assert daemon.tokens.operator.encode() not in answer.body


def test_the_agents_token_is_refused_on_every_route_of_the_operator(daemon: Daemon) -> None:
    assert routes(daemon) >= OPERATOR_ONLY
    for method, path in OPERATOR_ONLY:
        answer = ask(daemon, method, path, "agent")
        assert (answer.status, answer.json["code"]) == (403, "forbidden"), (method, path)


def test_the_operator_is_refused_on_no_route(daemon: Daemon) -> None:
    for method, path in routes(daemon) - PUBLIC:
        assert ask(daemon, method, path, "operator").status not in (401, 403), (method, path)


def test_the_agent_may_use_every_other_route(daemon: Daemon) -> None:
    for method, path in routes(daemon) - PUBLIC - OPERATOR_ONLY:
        assert ask(daemon, method, path, "agent").status not in (401, 403), (method, path)


def test_no_route_that_changes_settings_is_open_to_the_agent(daemon: Daemon) -> None:
    """A new route that writes must be put on one list or the other by hand."""
    open_writes = {
        MCP,
        ("POST", "/v1/executions"),
        ("POST", "/v1/executions/{execution_id}/resume"),
        ("POST", "/v1/executions/{execution_id}/cancel"),
        ("POST", "/v1/policies/test"),
        ("POST", "/v1/catalog/check"),
        ("POST", "/v1/catalog/complete"),
    }
    writes = {(method, path) for method, path in routes(daemon) if method not in ("GET", "HEAD")}
    assert writes == open_writes | {pair for pair in OPERATOR_ONLY if pair[0] != "GET"}


def test_the_public_routes_answer_without_a_token_and_tell_nothing(daemon: Daemon) -> None:
    assert daemon.get("/healthz", role=None).json == {"ok": True}
    page = daemon.get("/approvals/int_aaaaaaaaaaaaaaaaaaaaaaaaaa", role=None)
    assert page.status == 200
    assert daemon.executor.tenancy.workspace.id.encode() not in page.body


def test_an_address_that_does_not_exist_looks_the_same_with_and_without_meaning(daemon: Daemon) -> None:
    assert daemon.get("/v1/nothing", role=None).status == 401
    assert daemon.get("/v1/nothing").status == 404
    assert daemon.get("/docs").status == 404
    assert daemon.get("/redoc").status == 404
    assert daemon.get("/openapi.json").status == 404


def test_an_unknown_id_and_one_of_another_workspace_get_the_same_answer(daemon: Daemon) -> None:
    foreign = daemon.run(_execution_elsewhere(daemon))
    for suffix in ("", "/calls", "/logs", "/events"):
        unknown = daemon.get(f"/v1/executions/{UNKNOWN}{suffix}")
        other = daemon.get(f"/v1/executions/{foreign}{suffix}")
        assert unknown.status == other.status == 404
        assert unknown.body.replace(UNKNOWN.encode(), b"") == other.body.replace(foreign.encode(), b"")
    for act in ("resume", "cancel", "replay"):
        assert daemon.post(f"/v1/executions/{foreign}/{act}", {}).status == 404
    assert foreign not in daemon.get("/v1/executions?limit=500").body.decode()


async def _execution_elsewhere(daemon: Daemon) -> str:
    """An execution in a workspace that neither of our tokens belongs to."""
    import sqlalchemy as sa
    from sqlalchemy.engine import Connection

    from executor.model.execution import Execution, Limits
    from executor.model.ids import new_id, now_ms
    from executor.storage import executions
    from executor.storage.tables import actors, workspaces

    execution_id = new_id("exec")

    def job(c: Connection) -> None:
        organization = daemon.executor.tenancy.organization.id
        workspace, actor = new_id("ws"), new_id("act")
        c.execute(
            sa.insert(workspaces),
            {"id": workspace, "organization_id": organization, "name": "other", "created_at": now_ms()},
        )
        c.execute(
            sa.insert(actors),
            {"id": actor, "workspace_id": workspace, "kind": "agent", "name": "x", "created_at": now_ms()},
        )
        code, seed = "return 1", b"0" * 16
        executions.insert(
            c, Execution(execution_id, workspace, actor, "typescript", code, "paused", seed, now_ms(), Limits())
        )

    await daemon.executor.database.write(job)
    return execution_id


def test_every_router_checks_roles_through_the_same_kind_of_route() -> None:
    for noun in NOUNS[:-1]:
        assert {type(route).__name__ for route in noun.router.routes} == {"EdgeRoute"}
