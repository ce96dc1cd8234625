"""Calls of the same tool: what is the same for all of them is worked out once, until something of it changes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from executor.connections import resolution
from executor.execution.calls import admission
from tests.execution.conftest import ExecutorHarness, value

CALLS = "for (let i = 0; i < 20; i++) await tools.ledger.entries.listEntries({key: `k${i}`}); return 20"


@pytest.fixture
def worked_out(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    counted = Counter[str]()

    def count(module: Any, name: str) -> None:
        function: Callable[..., Any] = getattr(module, name)

        def counting(*given: Any) -> Any:
            counted[name] += 1
            return function(*given)

        monkeypatch.setattr(module, name, counting)

    count(admission, "decide")
    count(resolution, "resolve")
    return counted


async def test_policies_and_connections_are_looked_through_once(
    harness: ExecutorHarness, worked_out: Counter[str]
) -> None:
    assert value(await harness.run(CALLS)) == 20
    assert worked_out == {"decide": 1, "resolve": 1}
    assert value(await harness.run(CALLS)) == 20
    assert worked_out == {"decide": 1, "resolve": 1}


async def test_each_call_is_decided_where_a_policy_looks_at_arguments(
    harness: ExecutorHarness, worked_out: Counter[str]
) -> None:
    await harness.policy("ledger.**", "deny", {"path": "/key", "test": "equals", "value": "k3"})
    code = """
        let denied = 0;
        for (let i = 0; i < 5; i++)
          try { await tools.ledger.entries.listEntries({key: `k${i}`}) } catch (e) { denied++ }
        return denied;
    """
    assert value(await harness.run(code)) == 1
    assert worked_out["decide"] >= 5


async def test_a_changed_policy_is_looked_through_again(harness: ExecutorHarness, worked_out: Counter[str]) -> None:
    assert value(await harness.run(CALLS)) == 20
    await harness.policy("ledger.**", "deny")
    denied = await harness.run("try { await tools.ledger.entries.listEntries({key: 'a'}) } catch (e) { return e.code }")
    assert value(denied) == "denied"
    assert worked_out["decide"] > 1
