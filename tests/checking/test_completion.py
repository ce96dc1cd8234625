"""Completion: paths, arguments, values, and properties that only the checker knows."""

from __future__ import annotations

import pytest

from executor.checking.path_index import Names
from tests.checking.conftest import CheckerHarness

TYPESCRIPT = {
    "tools.|": ["describe", "discover", "executor", "ledger"],
    "tools.le|": ["ledger"],
    'tools["le|': ["ledger"],
    "to|": ["tools"],
    "await tools.ledger.entries.|": ["addEntry", "listEntries", "removeEntry"],
    "await tools.ledger.entries.li|st": ["listEntries"],
    "const e = tools.ledger.entries; e.add|": ["addEntry"],
    "await tools.ledger.entries.addEntry({|": ["key", "amount", "body"],
    "await tools.ledger.entries.addEntry({key: 'a', am|})": ["amount"],
    "await tools.ledger.entries.addEntry({body: {|": ["key", "amount"],
    "await tools.describe.tool({path: 'x', language: |})": ['"typescript"', '"python"'],
    "await tools.describe.tool({path: 'x', language: \"ty|": ["typescript"],
    "await tools.describe.tool({includeSchemas: t|": ["true"],
    "const q = {abc: 1, tools: 2}; q.a|": ["abc"],
    "// tools.|": [],
    "'tools.|": [],
    "tools.nope.|": [],
}
PYTHON = {
    "tools.le|": ["ledger"],
    "await tools.ledger.entries.addEntry(|": ["key", "amount", "body"],
    "await tools.ledger.entries.addEntry(key='a', |)": ["amount", "body"],
    "await tools.ledger.entries.addEntry({'|": ["key", "amount", "body"],
    "await tools.describe.tool(path='x', language=|": ['"typescript"', '"python"'],
    "await tools.describe.tool(path='x', language='p|": ["python", "typescript"],
    "await tools.describe.tool(includeSchemas=|": ["True", "False"],
    "# tools.|": [],
    "'tools.|": [],
    "import statistics\nstatistics.fm|": ["fmean"],
    "made = await tools.ledger.entries.addEntry(key='a')\nmade.setd|": ["setdefault"],
    "class Total:\n    def __init__(self):\n        self.amount = 0\nTotal().am|": ["amount"],
    "try:\n    await tools.ledger.entries.listEntries()\nexcept ToolError as e:\n    e.retr|": ["retryable"],
}


@pytest.mark.parametrize("code", TYPESCRIPT)
async def test_typescript_is_completed(checks: CheckerHarness, code: str) -> None:
    assert await checks.labels(code) == TYPESCRIPT[code]


@pytest.mark.parametrize("code", PYTHON)
async def test_python_is_completed(checks: CheckerHarness, code: str) -> None:
    assert await checks.labels(code, "python") == PYTHON[code]


async def test_an_item_says_what_it_is_and_what_it_replaces(checks: CheckerHarness) -> None:
    code = "const x = 1;\nawait tools.ledger.entries.addE"
    (item,) = await checks.checker.complete(checks.workspace_id, "typescript", code, len(code))
    assert item == {
        "label": "addEntry",
        "kind": "function",
        "detail": "ledger.entries.addEntry (write)",
        "documentation": "addEntry of the ledger",
        "insertText": "addEntry",
        "replace": {"line": 2, "column": 28, "endLine": 2, "endColumn": 32},
    }


def test_whole_subtrees_are_jumped_over_when_listing_a_group() -> None:
    paths = [f"api.group{group}.tool{number}" for group in range(100) for number in range(200)]
    assert list(Names([*paths, "api.solo", "other.x"]).below("api"))[:2] == ["group0", "group1"]
    assert len(list(Names(paths).below("api"))) == 100
    assert list(Names(["a.b", "a.b.c", "a.bc"]).below("a")) == ["b", "bc"]


async def test_what_a_policy_denies_is_not_offered(checks: CheckerHarness) -> None:
    assert await checks.labels("await tools.ledger.entries.add|") == ["addEntry"]
    await checks.harness.policy("ledger.entries.addEntry", "deny")
    assert await checks.labels("await tools.ledger.entries.|") == ["listEntries", "removeEntry"]
    assert await checks.labels("await tools.ledger.entries.addEntry({|") == []
    await checks.harness.policy("ledger.**", "deny")
    assert await checks.labels("tools.|") == ["describe", "discover", "executor"]


async def test_what_a_policy_denies_is_not_named_by_a_check(checks: CheckerHarness) -> None:
    code = "await tools.ledger.entries.addEntri({key: 'a'})"
    (before,) = await checks.errors(code)
    await checks.harness.policy("ledger.entries.addEntry", "deny")
    (after,) = await checks.errors(code)
    assert "addEntry" in before.hint
    assert "addEntry" not in after.hint
