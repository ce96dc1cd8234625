"""Attacks 1 to 3: an agent approves its own call, or decides about an execution of someone else."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from executor.errors import Forbidden, NotFound
from executor.storage.identity import tenancy
from executor.surfaces.mcp import gateway
from tests.execution.conftest import ExecutorHarness, value
from tests.support.tool_results import about
from tests.surfaces.api.daemon_server import Daemon
from tests.surfaces.mcp.conftest import connect_client

WRITE = 'return await tools.ledger.entries.addEntry({key: "a", amount: 5})'


# -- 1 the agent approves its own pause -------------------------------------------------------------------------------


async def test_1_an_agent_approves_its_own_pause_over_mcp(
    daemon: Daemon, shop: list[Any], paused: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Defence: `surfaces/mcp/tool_definitions.py` offers nothing that decides, and `resume` only waits."""
    monkeypatch.setattr(gateway, "WAIT_SECONDS", 0.05)
    before = len(shop)
    async with connect_client(daemon) as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == ["execute", "resume"]
        for forged in ({"approve": True}, {"decision": "approve"}, {"action": "accept", "content": {"approve": True}}):
            result = await client.call_tool("resume", {"executionId": paused["executionId"], **forged})
            assert about(result)["status"] == "paused"
    assert daemon.get(f"/v1/executions/{paused['executionId']}").json["status"] == "paused"
    assert len(shop) == before


@pytest.mark.parametrize("act", ["approve", "deny"])
def test_1_an_agent_approves_its_own_pause_over_rest(daemon: Daemon, shop: list[Any], paused: Any, act: str) -> None:
    """Defence: `@needs("decide")` on the route, and `may_decide` in `Engine.settle`."""
    interaction = paused["interactions"][0]["id"]
    for body in ({}, {"scope": "execution"}, {"scope": "always"}) if act == "approve" else ({},):
        answer = daemon.post(f"/v1/interactions/{interaction}/{act}", body, role="agent")
        assert (answer.status, answer.json["code"]) == (403, "forbidden")
    assert daemon.get(f"/v1/interactions/{interaction}").json["status"] == "pending"


def test_1_an_agent_approves_its_own_pause_with_the_cli(daemon: Daemon, paused: Any, shop: list[Any]) -> None:
    """Defence: the daemon's, not the CLI's; and `call` asks nobody without a terminal (`Follower.ask`)."""
    before, environ = len(shop), {**os.environ, "EXECUTOR_TOKEN": daemon.tokens.agent}
    driver = Path(__file__).parents[1] / "support" / "cli_client.py"
    for words in (
        ["approvals", "approve", paused["interactions"][0]["id"]],
        ["approvals", "approve", paused["interactions"][0]["id"], "--for", "always", "--yes"],
        ["policies", "add", "**", "allow"],
    ):
        done = subprocess.run(
            [sys.executable, str(driver), str(daemon.port), *words],
            env=environ,
            input="a\ny\n",
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 1, done
        assert "permission" in done.stderr
    assert daemon.get(f"/v1/interactions/{paused['interactions'][0]['id']}").json["status"] == "pending"
    assert len(shop) == before


async def test_1_code_finds_nothing_to_approve_with(harness: ExecutorHarness) -> None:
    """Defence: `BUILTINS` has no tool that decides; every other path is unknown."""
    outcome = await harness.run("""
        const out = [];
        for (const path of ["executor.approvals.approve", "executor.interactions.approve", "approve", "resume"])
          try { await tools[path]({id: "int_1"}) } catch (e) { out.push(e.code) }
        return out;
    """)
    assert value(outcome) == ["unknown_tool"] * 4


# -- 2 and 3 another person's execution -------------------------------------------------------------------------------


async def test_2_a_guessed_or_reused_execution_id(harness: ExecutorHarness) -> None:
    """Defence: 80 random bits in `new_id`, and `seen` answers alike for what is not there and what is not yours."""
    outcome = await harness.run(WRITE)
    await harness.settle(outcome, "approve")
    await harness.wait(outcome.execution.id)
    agent = harness.executor.tenancy.agent
    again = await harness.executor.engine.wait(agent, outcome.execution.id, 1)
    assert value(again) == {"kind": "entries", "key": "a"}
    assert harness.effects() == [("entries", "a")]
    near = outcome.execution.id[:-1] + ("0" if outcome.execution.id[-1] != "0" else "1")
    messages = set()
    for guessed in (near, "exec_0", "", "../" + outcome.execution.id, outcome.execution.id.upper()):
        with pytest.raises(NotFound) as refused:
            await harness.executor.engine.wait(agent, guessed, 0)
        messages.add(refused.value.message.replace(guessed, ""))
    assert len(messages) == 1


async def test_3_another_agent_or_workspace_resumes(harness: ExecutorHarness) -> None:
    """Defence: `may_see` in `execution/history.py`, and the workspace in every query."""
    outcome = await harness.run(WRITE)
    local, engine = harness.executor.tenancy, harness.executor.engine
    other = await harness.executor.database.write(
        lambda c: tenancy.add_actor(c, local.workspace.id, "agent", "another agent")
    )
    for stranger in (other, replace(local.operator, workspace_id="ws_other"), replace(other, workspace_id="ws_other")):
        with pytest.raises(NotFound):
            await engine.wait(stranger, outcome.execution.id, 0)
        with pytest.raises(NotFound):
            await engine.cancel(stranger, outcome.execution.id)
        with pytest.raises((NotFound, Forbidden)):
            await engine.settle(stranger, outcome.interactions[0].id, "approve")
    assert (await harness.wait(outcome.execution.id)).execution.status == "paused"
