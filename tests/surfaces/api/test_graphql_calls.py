"""GraphQL sources as agents meet them: through `/v1` and `/mcp`, in both languages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.sources.graphql.shapes import FORGE, MadeUp
from tests.sources.graphql.test_lists import pages
from tests.sources.upstream import Upstream, serving
from tests.surfaces.api.daemon_server import Daemon

ACCEPT = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-11-25"}


@pytest.fixture(scope="module")
def upstream() -> Iterator[Upstream]:
    with serving() as found:
        yield found


@pytest.fixture(scope="module")
def forge(daemon: Daemon, upstream: Upstream) -> Iterator[MadeUp]:
    upstream.routes["/graphql"] = service = MadeUp(FORGE)
    added = daemon.post("/v1/sources", {"location": f"{upstream.url}/graphql", "namespace": "forge"})
    assert added.status == 201, added.body
    service.denied["User.email"] = "The 'email' field requires one of the following scopes: ['user:email']"
    yield service
    daemon.request("DELETE", "/v1/sources/forge")


@pytest.mark.parametrize(
    ("language", "code"),
    [
        (
            "typescript",
            "const one = await tools.forge.query.viewer({}); await tools.forge.query.viewer({}); return one",
        ),
        ("python", "one = await tools.forge.query.viewer()\nawait tools.forge.query.viewer()\nreturn one"),
    ],
)
def test_an_agent_reads_which_fields_were_refused_once_for_each_execution(
    daemon: Daemon, forge: MadeUp, language: str, code: str
) -> None:
    view = daemon.execute(code, language=language)
    assert view["status"] == "completed" and view["result"]["login"] == "text", view
    [line] = view["logs"]
    assert line["level"] == "warn" and "`email`" in line["text"]
    kept = daemon.get(f"/v1/executions/{view['executionId']}").json
    assert [one["text"] for one in kept["logs"]] == [line["text"]]
    replayed = daemon.post(f"/v1/executions/{view['executionId']}/replay").json
    assert replayed["matches"], replayed


def test_an_execution_that_waited_for_a_human_still_shows_the_warning(daemon: Daemon, forge: MadeUp) -> None:
    code = "console.log('before'); await tools.forge.query.viewer({}); console.log('between');"
    view = daemon.execute(f"{code} return (await tools.forge.mutation.createIssue({{title: 'x'}})).issue.title")
    assert view["status"] == "paused", view
    [asked] = view["interactions"]
    answer = daemon.post(f"/v1/interactions/{asked['id']}/approve", {})
    assert answer.status == 200, answer.body
    done = daemon.get(f"/v1/executions/{view['executionId']}?wait=60").json
    assert done["status"] == "completed", done
    texts = [line["text"] for line in done["logs"]]
    assert len(texts) == 3 and {"before", "between"} < set(texts) and sum("`email`" in text for text in texts) == 1


def test_a_model_reads_it_in_the_answer_of_execute(daemon: Daemon, forge: MadeUp) -> None:
    arguments: dict[str, Any] = {"code": "return (await tools.forge.query.viewer({})).login"}
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "execute", "arguments": arguments}}
    answer = daemon.post("/mcp", call, role="agent", headers=ACCEPT).json
    text = answer["result"]["content"][0]["text"]
    assert "[warn]" in text and "`email`" in text


@pytest.mark.parametrize(
    ("language", "code"),
    [
        (
            "typescript",
            "return await tools.forge.query.repository.all({owner: 'o', name: 'n', select: '{ issues { id } }'})",
        ),
        ("python", "return await tools.forge.query.repository.all(owner='o', name='n', select='{ issues { id } }')"),
    ],
)
def test_all_pages_are_read_in_one_call_which_a_policy_for_the_tool_governs(
    daemon: Daemon, forge: MadeUp, language: str, code: str
) -> None:
    forge.values["Repository.issues"] = pages(150)
    view = daemon.execute(code, language=language)
    assert view["status"] == "completed", view
    assert len(view["result"]["items"]) == 150 and view["result"]["complete"]
    policy = daemon.post("/v1/policies", {"pattern": "forge.query.repository", "action": "deny"}).json["id"]
    refused = daemon.execute(code, language=language)
    daemon.request("DELETE", f"/v1/policies/{policy}")
    assert refused["status"] == "failed" and refused["error"]["code"] == "denied", refused
