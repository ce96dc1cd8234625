"""Every route of `/v1`, given what its own document allows and what it forbids: no input makes the server fail."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.core.result import Ok

from tests.surfaces.api.daemon_server import Daemon, running_daemon, running_upstream

EXAMPLES = 3  # of each operation and mode; what is found with more belongs here as a test of its own


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """A daemon of its own: what is made up here would stand in everybody else's way."""
    with running_daemon(tmp_path_factory.mktemp("daemon")) as daemon, running_upstream() as (address, _):
        assert daemon.post("/v1/sources", {"location": f"{address}/openapi.json", "namespace": "shop"}).status == 201
        assert daemon.execute('return await tools.shop.things.createThing({name: "lamp"})')["status"] == "paused"
        yield daemon


def read_openapi(daemon: Daemon) -> dict[str, Any]:
    """Without the schemes, since the token is put on by hand: made-up ones would only be refused at the door."""
    document: dict[str, Any] = daemon.get("/v1/openapi.json").json
    document.pop("security", None)
    document["components"].pop("securitySchemes", None)
    for item in document["paths"].values():
        for operation in item.values():
            operation.pop("security", None)
    return document


def modes(operation: Any, role: str) -> list[GenerationMode]:
    """Any text may stand in a path, so only bodies and queries can be wrong; and of most an agent is told 403."""
    wrong = role == "operator" and (operation.body.items or operation.query.items)
    return [GenerationMode.POSITIVE, *([GenerationMode.NEGATIVE] if wrong else [])]


@pytest.mark.parametrize("role", ["operator", "agent"])
def test_54_no_request_makes_the_server_fail(own: Daemon, role: str) -> None:
    """54: wrong types, sizes, characters and shapes everywhere. Defence: strict bodies, and `problems` for the rest."""
    schema = schemathesis.openapi.from_dict(read_openapi(own))
    token = getattr(own.tokens, role)
    broken: list[str] = []
    seen: set[int] = set()
    operations = [found.ok() for found in schema.get_all_operations() if isinstance(found, Ok)]
    for operation in operations:
        for mode in modes(operation, role):

            @settings(
                max_examples=EXAMPLES, deadline=None, database=None, derandomize=True,
                suppress_health_check=list(HealthCheck), phases=[Phase.generate],
            )  # fmt: skip
            @given(case=operation.as_strategy(generation_mode=mode))
            def attempt(case: Any) -> None:
                if isinstance(case.body, dict):
                    case.body.pop("consent", None)  # no made-up command is ever started
                headers = {"Authorization": f"Bearer {token}", "Connection": "close"}
                answer = case.call(base_url=own.url, headers=headers, timeout=60)
                seen.add(answer.status_code)
                if answer.status_code >= 500:
                    broken.append(f"{answer.status_code} {answer.text[:200]} {case.as_curl_command()[:500]}")

            with suppress(Unsatisfiable):  # some operations take nothing that could be wrong
                attempt()
    assert not broken, "\n".join(broken)
    assert len(operations) > 80 and {200, 400, 404} <= seen
    assert own.get("/v1/status").status == 200
