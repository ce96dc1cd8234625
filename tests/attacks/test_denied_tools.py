"""Attack 80: an agent learns of a tool that is denied to it, by any road."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.sources.upstream import Got
from tests.support.bank import bank
from tests.surfaces.api.daemon_server import Daemon
from tests.surfaces.mcp.conftest import connect_client, text_of

PATH = "bank.money.pay"
# Words of its description and signature; a path that was asked for may be repeated.
TOLD = ("memo", "account", "body")


@pytest.fixture(scope="module")
def payments(daemon: Daemon) -> Iterator[list[Got]]:
    with bank(daemon) as payments:
        yield payments


def agent_id(daemon: Daemon) -> str:
    return str(daemon.executor.tenancy.agent.id)


POLICIES: dict[str, dict[str, Any]] = {
    "by its path": {"pattern": PATH},
    "by a pattern": {"pattern": "bank.money.*"},
    "for one actor": {"pattern": "bank.**", "actor": "agent"},
    "by its effect": {"pattern": "bank.**", "effect": "write"},
    "of a source": {"pattern": "**", "source": "bank"},
}


@pytest.fixture(params=POLICIES)
def denial(request: pytest.FixtureRequest, daemon: Daemon, payments: list[Got]) -> Iterator[str]:
    made = daemon.post("/v1/policies", {"action": "deny", **POLICIES[request.param]})
    assert made.status == 201, made.body
    yield request.param
    daemon.request("DELETE", f"/v1/policies/{made.json['id']}")


def test_80_the_api_describes_it_to_no_one_it_is_denied_to(daemon: Daemon, denial: str) -> None:
    """Defence: `visibility_for` on every route that describes tools; it answers as for a tool that there is not."""
    answer = daemon.get(f"/v1/tools/{PATH}?includeSchemas=true", role="agent")
    nothing = daemon.get("/v1/tools/bank.money.nothing", role="agent")
    assert (answer.status, answer.json["code"]) == (nothing.status, nothing.json["code"]) == (404, "not_found")
    for path in (
        "/v1/tools?limit=1000",
        "/v1/tools?source=bank",
        "/v1/tools?prefix=bank.",
        "/v1/tools/search?query=pay",
    ):
        assert PATH not in daemon.get(path, role="agent").body.decode()
    digest = daemon.get(f"/v1/tools/{PATH}").json.get("schemaDigest", "")
    if digest:
        assert daemon.get(f"/v1/tool-versions/{digest}", role="agent").status == 404
    assert daemon.get(f"/v1/tools/{PATH}").status == 200  # people who administer policies see what they deny


def test_80_checks_and_completions_say_nothing_of_it(daemon: Daemon, denial: str) -> None:
    """Defence: what is denied is declared to no checker (`Checker._declare`), and no finding is judged by it."""
    for code in (f"const x: number = tools.{PATH}", f"return await tools.{PATH}({{wrong: 1}})", f"tools.{PATH}(1).z"):
        found = daemon.post("/v1/catalog/check", {"code": code, "language": "typescript"}, role="agent")
        assert found.status == 200 and not any(word in found.body.decode() for word in TOLD), found.body
    for code in ("tools.bank.money.", f"tools.{PATH}({{", f"const x = await tools.{PATH}({{}}); x."):
        asked = {"code": code, "language": "typescript", "offset": len(code)}
        items = daemon.post("/v1/catalog/complete", asked, role="agent").json["items"]
        assert "pay" not in json.dumps(items) and not any(word in json.dumps(items) for word in TOLD)


@pytest.mark.parametrize("language", ["typescript", "python"])
async def test_80_code_learns_nothing_of_it(daemon: Daemon, denial: str, language: str) -> None:
    """Defence: the visibility of the actor whose code it is, in `describe`, `discover`, `nearest` and refusals."""
    typescript = f"""
const said = [];
for (const work of [
  () => tools.describe.tool({{path: "{PATH}", includeSchemas: true}}),
  () => tools.discover({{query: "bank pay account memo", depth: 2, limit: 100}}),
  () => tools.discover({{query: "", namespace: "bank", depth: 2}}),
  () => tools["bank.money.pya"]({{}}),
  () => tools["{PATH}"]({{wrong: 1}}),
]) try {{ said.push(await work()) }} catch (e) {{ said.push([e.code, e.message, e.hint, e.details]) }}
return said"""
    python = f"""
said = []
for path, given in (
    ("describe.tool", {{"path": "{PATH}", "includeSchemas": True}}),
    ("discover", {{"query": "bank pay account memo", "depth": 2, "limit": 100}}),
    ("bank.money.pya", {{}}),
    ("{PATH}", {{"wrong": 1}}),
):
    try:
        said.append(await tools(path, given))
    except Exception as e:
        said.append([str(e), str(getattr(e, "hint", "")), str(getattr(e, "details", ""))])
return said"""
    code = typescript if language == "typescript" else python
    async with connect_client(daemon) as client:
        text = text_of(await client.call_tool("execute", {"code": code, "language": language}))
    assert "not_found" in text or "there is no tool" in text, text
    assert not any(f'"{word}' in text or f"{word}:" in text or f"{word}?" in text for word in TOLD), text
