"""The same for Python."""

from __future__ import annotations

import pytest

from tests.checking.conftest import CheckerHarness

PYTHON = "python"


async def test_a_wrong_argument_is_an_error_at_its_place_with_the_right_signature(checks: CheckerHarness) -> None:
    (error,) = await checks.errors("a = 1\nawait tools.ledger.entries.addEntry(key=5)", PYTHON)
    assert (error.line, error.column) == (2, 37)
    assert error.message == 'key: 5 is not of type "string"'
    assert error.tool == "ledger.entries.addEntry"
    assert "key: str" in error.signature


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ('await tools.ledger.entries.addEntry({"key": 5})', "key: 5"),
        ('await tools.ledger.entries.addEntry(key="a", amout=1)', "amout"),
        ("await tools.ledger.entries.addEntry(amount=1)", "key is required"),
        ('e = tools.ledger.entries\nawait e.addEntry(key="a", amount="s")', "amount"),
        ("return await tools.ledger.entries.addEntry(key=5)", "key: 5"),
        ("async def f():\n    return await tools.ledger.entries.addEntry(key=5)\nawait f()", "key: 5"),
        ("n = 5\nawait tools.ledger.entries.addEntry(key=n)", "Expected"),
        ("await tools.ledger.entries.addEntry('a')", "one object of arguments"),
    ],
)
async def test_arguments_that_would_be_refused_are_errors(checks: CheckerHarness, code: str, said: str) -> None:
    errors = await checks.errors(code, PYTHON)
    assert errors and all(said in error.message for error in errors)


async def test_an_unknown_tool_is_an_error_that_names_the_nearest(checks: CheckerHarness) -> None:
    (error,) = await checks.errors("await tools.ledger.entries.addEntri(key='a')", PYTHON)
    assert (error.code, error.column, error.end_column) == ("unknown_tool", 28, 36)
    assert "ledger.entries.addEntry" in error.hint


@pytest.mark.parametrize(
    "code",
    [
        "await tools.ledger.entries.addEntry(key='a', amount=1)",
        "await tools.ledger.entries.addEntry({'key': 'a'})",
        "args = {'key': 'a'}\nawait tools.ledger.entries.addEntry(args)\nawait tools.ledger.entries.addEntry(**args)",
        "import asyncio\nawait asyncio.gather(*[tools.ledger.entries.listEntries(key=k) for k in ['a']])",
        "made = await tools.ledger.entries.addEntry(key='a')\nmade['x']['y']",
        "async def f(k):\n    return await tools.ledger.entries.removeEntry(key=k)\nawait f('a')",
        "# tools.nope.there()\n'tools.nope.there()'",
        "try:\n    await tools.ledger.entries.listEntries()\nexcept ToolError as e:\n    print(e.code, error_of(e))",
        "try:\n    await tools.ledger.entries.listEntries()\nexcept Exception as e:\n    print(e.code)",
        "await tools('ledger.entries.listEntries', key='a')",
        "await tools('ledger.entries.listEntries')",
        "await getattr(tools.ledger, 'entries').listEntries(key='a')",
        "found = await tools.ledger.entries.listEntries()\nlist(map(str, filter(None, found)))\nhasattr(found, 'x')",
        "try:\n    await tools.ledger.entries.listEntries()\nexcept (PermissionError, ImportError) as e:\n    str(e)",
    ],
)
async def test_code_that_is_right_is_not_even_a_warning(checks: CheckerHarness, code: str) -> None:
    assert await checks.warnings(code, PYTHON) == []


async def test_a_call_whose_failure_is_caught_only_warns(checks: CheckerHarness) -> None:
    code = "try:\n    await tools.ledger.entries.addEntry(key=5)\nexcept Exception as e:\n    print(e)"
    assert await checks.warnings(code, PYTHON)


async def test_the_program_s_own_types_only_warn(checks: CheckerHarness) -> None:
    (warning,) = await checks.warnings("await tools.ledger.entries.listEntries()\ny: int = 's'", PYTHON)
    assert (warning.line, warning.column) == (2, 10)


async def test_nothing_is_ever_run_by_a_check(checks: CheckerHarness) -> None:
    assert await checks.warnings("while True:\n    pass\nawait tools.ledger.entries.listEntries()", PYTHON) == []


async def test_broken_syntax_is_left_to_the_sandbox(checks: CheckerHarness) -> None:
    assert await checks.warnings("if True\n    await tools.ledger.entries.addEntry(key=5)", PYTHON) == []
