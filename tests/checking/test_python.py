# ruff: noqa: E501 - a table: one program a line
"""The same for Python."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from executor.checking.checkers.python import PythonChecker
from executor.checking.source.typescript_wrapper import remove_fence
from tests.checking.conftest import CheckerHarness
from tests.runtime.idioms.python import IDIOMS
from tests.runtime.idioms.typescript import HINT

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


@pytest.mark.parametrize(
    "code",
    [
        "try:\n    await {call}\nexcept Exception as e:\n    print(e)",
        "from contextlib import suppress\nwith suppress(ToolError):\n    await {call}",
        "from contextlib import suppress\nwith suppress(ToolError):\n    await {call}\nprint(1)",
        "import asyncio\nawait asyncio.gather({call}, return_exceptions=True)",
        "import asyncio\ncalls = [{call} for _ in 'ab']\nawait asyncio.gather(*calls, return_exceptions=True)",
    ],
)
async def test_a_call_whose_failure_is_caught_only_warns(checks: CheckerHarness, code: str) -> None:
    assert await checks.warnings(code.format(call="tools.ledger.entries.addEntry(key=5)"), PYTHON)


@pytest.mark.parametrize(
    "code",
    [
        "from contextlib import suppress\nwith suppress(ToolError):\n    print(1)\nawait {call}",
        "import asyncio\nawait {call}\nawait asyncio.gather(return_exceptions=True)",
    ],
)
async def test_what_is_caught_elsewhere_does_not_count(checks: CheckerHarness, code: str) -> None:
    assert await checks.errors(code.format(call="tools.ledger.entries.addEntry(key=5)"), PYTHON)


async def test_the_program_s_own_types_only_warn(checks: CheckerHarness) -> None:
    (warning,) = await checks.warnings("await tools.ledger.entries.listEntries()\ny: int = 's'", PYTHON)
    assert (warning.line, warning.column) == (2, 10)


async def test_nothing_is_ever_run_by_a_check(checks: CheckerHarness) -> None:
    assert await checks.warnings("while True:\n    pass\nawait tools.ledger.entries.listEntries()", PYTHON) == []


async def test_broken_syntax_is_left_to_the_sandbox(checks: CheckerHarness) -> None:
    assert await checks.warnings("if True\n    await tools.ledger.entries.addEntry(key=5)", PYTHON) == []


# -- the whole language: code that runs in the sandbox is not objected to ---------------------------------------------

DECLARED = """from executor_sandbox import Call, Group
from typing import Any
class tools_a_b:
    def __call__(_self, args: Any = ..., /, **more: Any) -> Call[Any]: ...
class tools_entries_add:
    def __call__(_self, /, *, key: str, amount: float = ..., tags: list[str] = ...) -> Call[dict[str, Any]]: ...
class tools_entries(Group):
    add: tools_entries_add
class tools_a(Group):
    b: tools_a_b
class Tools(Group):
    a: tools_a
    bad: Any
    entries: tools_entries
tools: Tools
"""


@pytest_asyncio.fixture
async def python() -> AsyncIterator[PythonChecker]:
    checker = PythonChecker()
    yield checker
    await checker.close()


# What runs all the same: an error that is caught, names and attributes that are made at run time, other classes than the
# library declares, and a dict of functions that take different arguments. All of it is warned of and blocks nothing.
REPORTED = {
    "Property `x` defined in `Point` is read-only",
    "Class `Single` has no attribute `tag`",
    "Object of type `expr` has no attribute `id`",
    "Too many positional arguments: expected 1, got 2",
    "Name `dyn` used when not defined",
}


async def test_of_the_idioms_that_run_only_dynamic_ones_are_reported(python: PythonChecker) -> None:
    runs = [code for code, expected in IDIOMS.items() if expected is not HINT]
    found = {code: await python.check(remove_fence(code), DECLARED) for code in runs}
    assert {said[0].message for said in found.values() if said} == REPORTED


async def test_code_that_is_right_without_being_well_typed_is_not_objected_to(python: PythonChecker) -> None:
    found = {code: await python.check(code, DECLARED) for code in RIGHT}
    assert {code: said for code, said in found.items() if said} == {}


async def test_mistakes_are_found_wherever_they_are(python: PythonChecker) -> None:
    found = {code: [one.code for one in await python.check(code, DECLARED)] for code in WRONG}
    assert found == {code: [rule] for code, rule in WRONG.items()}


async def test_positions_count_lines_as_python_does(python: PythonChecker) -> None:
    code = "a = '𝄞'\rb = '𝄞', nowhere\r\nc = 1\nd = '𝄞', elsewhere"
    found = await python.check(code, DECLARED)
    assert [code[one.start : one.end] for one in found] == ["nowhere", "elsewhere"]


RIGHT = [
    "import bs4, dateutil.parser, jinja2, markdown, more_itertools, tabulate, yaml\nyaml.safe_load('').x[0]",
    "from __future__ import annotations\nimport statistics, zoneinfo\nstatistics.mean([1]), zoneinfo.ZoneInfo('UTC').key",
    "t = tools.a.b()\nt.add_done_callback(print)\nt.done() or t.cancel()\nawait t",
    "await tools['entries']['add'](key='a')",
    "import asyncio\nasync with asyncio.TaskGroup() as g:\n    t = g.create_task(tools.entries.add(key='a'))\nt.result()['id']",
    "import asyncio\ndone, _ = await asyncio.wait([tools.a.b(), asyncio.create_task(tools.a.b())])\n[d.result() for d in done]",
    "import asyncio\n[await f for f in asyncio.as_completed([tools.a.b()])]\nasyncio.run(tools.a.b())",
    "async def pages():\n    yield await tools.a.b()\nasync for p in pages():\n    p['x']\n[p async for p in pages()]",
    "class Client:\n    def __init__(self, t):\n        self.t = t\n    async def add(self, k, **more):\n"
    "        return await self.t.entries.add(key=k, **more)\nawait Client(tools).add('a', amount=1)",
    "class A:\n    n = None\n    k = 1\na = A()\na.x = 1\na.x + 1\nA.n = 'a'\nA.k = 'a'\na.n.upper()",
    "def f():\n    f.count += 1\nf.count = 0",
    "def f(a: int = None, b=None) -> str:\n    return b.upper()\nx: str = None",
    "import os\nfor c in os.environ.get('X'):\n    c\ng = None if tools else len\ng([])\nwith (open('x') if tools else None) as f:\n    f",
    "import re\nre.search('a', 'a').group() + re.match('a', 'a')[0]",
    "rows = [['a', 1], ['b', 2]]\nfor name, n in rows:\n    name.upper(), n + 1\nd = {'a': {'b': 1}}\nd['a']['c'] = 'x'",
    "for c in [{'n': 1, 'f': len, 'tags': ['a'], 'meta': {'id': 1}}]:\n    c['f']([]), c['tags'][0], c['meta']['id'], sorted(c['tags'])\n    c['n'] += 1\n"
    "    c['meta'].pop('id'), c['tags'].append('b'), c['n'] + 1, -c['n']\n    for t in c['tags']:\n        t\n    await c['f']\n    a, b = c['tags']",
    "best = None\nfor n in [1]:\n    best = n if best is None else max(best, n)\nbest + 1\nd = {'a': 1}\nd['b'] = 'x'",
    "try:\n    raise ToolError('x', code='y', status=404, details={})\nexcept ToolError as e:\n    e.code, e.status, e.args",
    "try:\n    1\nexcept Exception as e:\n    e.code, e.message, e.hint, e.retryable, e.details, e.status, error_of(e)",
    "from datetime import date\nfrom enum import Enum\nclass K(Enum):\n    A = 'a'\nawait tools.entries.add(key=date.today())\n"
    "await tools.entries.add(key=K.A, tags={'a'})\nawait tools.entries.add(key='a', tags=('a', 'b'))",
    "import json\ngiven = json.loads('{}')\nawait tools.entries.add(key=given['k'], **given)",
    "if not (found := await tools.a.b()):\n    return []\nreturn found[0]",
    "def f(n: int) -> int:\n    return n if n < 2 else f(n - 1)\nmatch f(3):\n    case 1:\n        print('one')\n    case _:\n        exit()",
]
WRONG = {
    "class C:\n    async def go(self):\n        return await tools.entries.add(key=5)": "invalid-argument-type",
    "async def g():\n    for k in 'ab':\n        yield tools.entries.add(key=k, amount='x')": "invalid-argument-type",
    "import asyncio\nasync with asyncio.TaskGroup() as g:\n    g.create_task(tools.entries.add(key=5))": "invalid-argument-type",
    "f = lambda k: tools.entries.add(key=k, amout=1)": "unknown-argument",
    "match 1:\n    case 1:\n        await tools.entries.add()": "missing-argument",
    "await tools.entries.add(key=tools.a.b())": "invalid-argument-type",
    "import statistics\nawait tools.entries.add(key=statistics.mean([1, 2]))": "invalid-argument-type",
    "made = tools.entries.add(key='a')\nmade['id']": "not-subscriptable",
    "made = await tools.entries.add(key='a')\nmade.id": "missing-attribute",
    "made = await tools.entries.add(key='a')\nmade[0]": "invalid-argument-type",
    "for one in tools.entries.add(key='a'):\n    one": "not-iterable",
    "tools.entries(key='a')": "call-non-callable",
    "tools.entries.ad(key='a')": "missing-attribute",
    "from math import sine": "import-not-found",
    "import asyncio\nasyncio.gathr()": "missing-attribute",
    "class A:\n    def f(self, a):\n        return a\nA().f(1, 2)": "too-many-positional-arguments",
    "await 5": "invalid-await",
    "print(nowhere)": "unresolved-reference",
    "'a' + 1": "unsupported-operator",
}


async def test_a_value_that_a_function_replaces_does_not_block_a_call(checks: CheckerHarness) -> None:
    code = "key = 5\ndef pick():\n    global key\n    key = 'a'\npick()\nawait tools.ledger.entries.addEntry(key=key)"
    assert all(one.severity == "warning" for one in await checks.warnings(code, PYTHON))


async def test_a_wrong_argument_inside_a_method_is_an_error(checks: CheckerHarness) -> None:
    code = (
        "class C:\n    async def go(self):\n        return await tools.ledger.entries.addEntry(key=5)\nawait C().go()"
    )
    (error,) = await checks.errors(code, PYTHON)
    assert (error.line, error.message) == (3, 'key: 5 is not of type "string"')
