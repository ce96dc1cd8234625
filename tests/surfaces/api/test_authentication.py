"""Who is let in at all: every route with no token, with a wrong one, and with one in the wrong place."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from executor.identity.local_tokens import Tokens
from executor.surfaces.api.route_modules import NAMES, import_routes
from tests.surfaces.api import roles_table
from tests.surfaces.api.daemon_server import Daemon, running_daemon

UNKNOWN = "exec_aaaaaaaaaaaaaaaaaaaaaaaaaa"


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """One of its own: so many refusals would hide those of other tests."""
    with running_daemon(tmp_path_factory.mktemp("access")) as daemon:
        yield daemon


def protected_routes() -> list[tuple[str, str]]:
    return [(row.method, row.path) for row in roles_table.documented_rows() if not row.is_public]


def ask(daemon: Daemon, method: str, path: str, role: str | None) -> Any:
    return daemon.request(method, re.sub(r"{\w+}", UNKNOWN, path), None if method == "GET" else {}, role=role)


def test_every_route_but_the_public_ones_refuses_a_wrong_token(daemon: Daemon) -> None:
    wrong = Tokens("exo_" + "a" * 43, "exa_" + "b" * 43)
    for method, path in protected_routes():
        for token in (wrong.operator, wrong.agent, "exk_" + "c" * 43, daemon.tokens.operator[:-1]):
            daemon.executor.authenticator.attempts.clear()
            assert ask(daemon, method, path, token).status == 401, (method, path)


def test_the_health_is_shown_to_anyone_and_nothing_else_with_it(daemon: Daemon) -> None:
    assert daemon.get("/healthz", role=None).json == {"ok": True}


def test_an_address_that_does_not_exist_looks_the_same_with_and_without_meaning(daemon: Daemon) -> None:
    assert daemon.get("/v1/nothing", role=None).status == 401
    assert daemon.get("/v1/nothing").status == 404


def test_the_agent_sees_only_what_it_submitted_itself(daemon: Daemon) -> None:
    own = daemon.execute("return 1")["executionId"]
    other = daemon.execute("return 2", role="operator")["executionId"]
    shown = {one["executionId"] for one in daemon.get("/v1/executions?limit=500", role="agent").json["items"]}
    assert own in shown and other not in shown
    for suffix in ("", "/calls", "/logs", "/events"):
        assert daemon.get(f"/v1/executions/{own}{suffix}", role="agent").status == 200
        unknown = daemon.get(f"/v1/executions/{UNKNOWN}{suffix}", role="agent")
        hidden = daemon.get(f"/v1/executions/{other}{suffix}", role="agent")
        assert unknown.status == hidden.status == 404
        assert unknown.body.replace(UNKNOWN.encode(), b"") == hidden.body.replace(other.encode(), b"")


def test_every_router_checks_what_is_needed_through_the_same_kind_of_route() -> None:
    for name in NAMES:
        for route in import_routes(name):
            assert type(route).__name__ == "EdgeRoute" or route.endpoint.needs is None, route
