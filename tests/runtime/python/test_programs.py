"""Python programs: what gives a value, how tools are called, what an error says, what is the same again."""

from __future__ import annotations

import json
from typing import Any

import pytest

from executor.runtime.protocol import Answer
from executor.runtime.python.hints import HINTS
from executor.runtime.python.runtime import PythonRuntime
from tests.runtime.program_driver import (
    CLOCK,
    Failed,
    drive,
    failure_of,
    first_step,
    logs_of,
    outcome,
    program,
    value_of,
)

pytestmark = pytest.mark.asyncio(loop_scope="session")


def echo(given: dict[str, Any]) -> Any:
    return given


def refuse(given: dict[str, Any]) -> Any:
    fields = {"code": "gone", "message": "it's gone", "status": 410, "details": {"why": [1]}, "retryable": True}
    raise Failed({**fields, "hint": "look elsewhere"})


TOOLS = {"a.b": echo, "a.b.c": echo, "a.import": echo, "a._hidden": echo, "bad.one": refuse, "bad.two": refuse}


@pytest.mark.parametrize(
    ("code", "value"),
    [
        ("return 1 + 1", 2),
        ("x = 1", None),
        ("if True:\n    return 5\nreturn 6", 5),
        ("count: int = 0\ndef add():\n    global count\n    count += 1\nadd()\nreturn count", 1),
        ("from math import *\nfor i in range(3):\n    if i == 2:\n        return floor(i + 0.5)", 2),
        ("try:\n    return 'tried'\nfinally:\n    print('after')", "tried"),
        ("async def main():\n    return 7\nmain()", 7),
        ("```python\n9\n```", 9),
        ("[float('nan'), float('inf'), -float('inf')]", ["NaN", "Infinity", "-Infinity"]),
        ("[2 ** 64 - 1, -2 ** 63, 2 ** 64, -2 ** 63 - 1]", [2**64 - 1, -(2**63), str(2**64), str(-(2**63) - 1)]),
        ("{2 ** 70: 2 ** 70, None: 1, 2.5: 2}", {str(2**70): str(2**70), "null": 1, "2.5": 2}),
        ("'\\u2028\\n\\t\"\\\\'", '\u2028\n\t"\\'),
        ("{'b', 'a'}, frozenset([2, 1]), b'text', range(2)", [["a", "b"], [1, 2], "text", [0, 1]]),
        ("import datetime as d\n[d.date(2026, 1, 2), d.timedelta(minutes=1)]", ["2026-01-02", 60.0]),
        ("ValueError('no')", {"name": "ValueError", "message": "no"}),
        (
            "ExceptionGroup('all', [ValueError('no')])",
            {"name": "ExceptionGroup", "message": "all", "errors": [{"name": "ValueError", "message": "no"}]},
        ),
        ("import itertools as i\n[i.chain([1], 'a'), iter({2: 3}), i.islice(i.count(), 2)]", [[1, "a"], [2], [0, 1]]),
        ("import csv, io\ncsv.DictReader(io.StringIO('a,b\\n1,2'))", [{"a": "1", "b": "2"}]),
        (
            "import sqlite3\nc = sqlite3.connect(':memory:')\nc.row_factory = sqlite3.Row\n"
            "c.execute('select 1 a, 2 b').fetchall()",
            [{"a": 1, "b": 2}],
        ),
        ("import array\n[array.array('d', [1.5]), memoryview(b'a')]", [[1.5], [97]]),
        ("import sys, csv\n[sys.maxsize > 10**12, csv.field_size_limit(sys.maxsize)]", [True, 131072]),
        ("import sys\ndef f():\n    return min([10**15, 10**12], key=lambda n: min(n, sys.maxsize))\nf()", 10**12),
        ("import importlib, json\nimportlib.reload(json).dumps(1)", "1"),
        (
            "from importlib.metadata import version\n[version(n)[0] for n in ('jinja2', 'PyYAML', 'more_itertools')]",
            ["3", "6", "1"],
        ),
        ("import time\n[time.tzset(), time.process_time(), time.thread_time()]", [None, 0, 0]),
    ],
)
async def test_every_usual_shape_of_a_program_gives_its_value(runtime: PythonRuntime, code: str, value: Any) -> None:
    assert await value_of(runtime, code) == value


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        ("tools.a.b(x=1, y='z')", {"x": 1, "y": "z"}),
        ("tools.a.b({'x': [1, None]})", {"x": [1, None]}),
        ("tools.a.b()", {}),
        ("tools.a.b(**{'x y': 1})", {"x y": 1}),
        ("tools['a']['import'](x=1)", {"x": 1}),
        ("tools('a._hidden', x=1)", {"x": 1}),
        ("tools.a.b(x={2, 1})", {"x": [1, 2]}),
    ],
)
async def test_a_tool_is_called_with_keywords_or_one_dict(runtime: PythonRuntime, call: str, argument: Any) -> None:
    assert await outcome(runtime, f"await {call}", TOOLS) == argument


@pytest.mark.parametrize("call", ["tools.a.b(1)", "tools.a.b({}, x=1)", "tools()", "tools.a.b(x=tools)"])
async def test_arguments_that_make_no_sense_are_a_type_error_at_the_call(runtime: PythonRuntime, call: str) -> None:
    code = f"try:\n    await {call}\nexcept TypeError as error:\n    said = str(error)\nsaid"
    assert "tools" in await value_of(runtime, code)


@pytest.mark.parametrize(
    ("argument", "said"),
    [("x=[1.0] * 9 + [float('inf')]", "$.x[9] is Infinity"), ("x=2 ** 64", "$.x is a whole number beyond 64 bits")],
)
async def test_a_call_refuses_a_number_that_would_arrive_as_another(
    runtime: PythonRuntime, argument: str, said: str
) -> None:
    step = await first_step(runtime, f"await tools.a.b({argument})")
    assert step.proposals == ()
    assert step.failure is not None and said in step.failure.message


async def test_calls_start_when_they_are_written_and_are_awaited_later(runtime: PythonRuntime) -> None:
    sandbox = await runtime.open()
    try:
        step = await sandbox.start(
            program("first = tools.a.b(n=1)\nsecond = tools.a.b(n=2)\n[await second, await first]")
        )
        assert [proposal.seq for proposal in step.proposals] == [1, 2]
        assert not (await sandbox.answer(Answer(1, CLOCK, value='"one"'))).has_ended
        assert (await sandbox.answer(Answer(2, CLOCK, value='"two"'))).value == '["two","one"]'
    finally:
        await sandbox.close()


async def test_parallel_awaits_are_parallel_calls(runtime: PythonRuntime) -> None:
    code = """\
import asyncio
async def both(n):
    return await asyncio.gather(tools.a.b(n=n), tools.a.b(n=-n))
async with asyncio.TaskGroup() as group:
    tasks = [group.create_task(both(n)) for n in (1, 2)]
"""
    step = await first_step(runtime, code)
    assert [json.loads(proposal.arguments)["n"] for proposal in step.proposals] == [1, -1, 2, -2]


async def test_an_uncaught_tool_error_ends_the_program_with_its_code(runtime: PythonRuntime) -> None:
    alone = "x = 1\nawait tools.bad.one()"
    grouped = "import asyncio\nasync with asyncio.TaskGroup() as g:\n    g.create_task(tools.bad.one())"
    for code, line in ((alone, 2), (grouped, None)):
        last = (await drive(runtime, code, TOOLS))[-1]
        assert last.failure is not None
        assert (last.failure.code, last.failure.hint, last.failure.details["status"]) == ("gone", "look elsewhere", 410)
        assert last.failure.details.get("line", line) == line or line is None


async def test_answers_that_come_during_a_blocking_sleep_are_delivered_after_it(runtime: PythonRuntime) -> None:
    code = "import time\ncall = tools.a.b(n=1)\ntime.sleep(1.5)\nprint('awake')\n[await call, time.time()]"
    sandbox = await runtime.open()
    try:
        step = await sandbox.start(program(code))
        assert [(proposal.kind, proposal.arguments) for proposal in step.proposals][1] == ("timer", "1500")
        early = await sandbox.answer(Answer(1, CLOCK, value='"early"'))
        assert (early.has_ended, early.logs) == (False, ())
        last = await sandbox.answer(Answer(2, CLOCK + 1500, value="null"))
        assert json.loads(last.value or "") == ["early", (CLOCK + 1500) / 1000]
    finally:
        await sandbox.close()


async def test_of_many_timeouts_only_the_next_is_asked_of_the_host(runtime: PythonRuntime) -> None:
    code = "import asyncio\nfor n in range(5):\n    await asyncio.wait_for(tools.a.b(n=n), timeout=30)\n'done'"
    sandbox = await runtime.open()
    try:
        step = await sandbox.start(program(code))
        kinds = [proposal.kind for proposal in step.proposals]
        while not step.has_ended:
            call = next(proposal for proposal in step.proposals if proposal.kind == "tool")
            step = await sandbox.answer(Answer(call.seq, CLOCK + 1, value="1"))
            kinds += [proposal.kind for proposal in step.proposals]
    finally:
        await sandbox.close()
    assert (step.value, kinds.count("tool"), kinds.count("timer")) == ('"done"', 5, 1)


async def test_time_is_what_the_host_says_and_chance_comes_from_the_seed(runtime: PythonRuntime) -> None:
    code = """\
import datetime, os, random, secrets, time, uuid
[time.time(), time.monotonic(), time.perf_counter(), datetime.datetime.now().isoformat(),
 datetime.datetime.now(datetime.timezone.utc).isoformat(), datetime.date.today().isoformat(),
 random.random(), random.Random().random(), os.urandom(3).hex(), str(uuid.uuid4()), secrets.token_hex(4)]
"""
    first, second = await value_of(runtime, code), await value_of(runtime, code)
    other = await value_of(runtime, code, seed=bytes(16))
    assert first == second
    assert first[:6] == other[:6] == [
        CLOCK / 1000, 0, 0, "2023-11-14T22:13:20", "2023-11-14T22:13:20+00:00", "2023-11-14",
    ]  # fmt: skip
    assert all(one != another for one, another in zip(first[6:], other[6:], strict=True))


async def test_order_and_identity_are_the_same_again(runtime: PythonRuntime) -> None:
    code = "[list({'a', 'b', 'c', 'ab', 'bc', 1, None, (1, 2)}), hash('x'), id(object()), hash(object())]"
    code = code.replace("[list", "[[str(x) for x in list").replace("}),", "})],", 1)
    assert await value_of(runtime, code) == await value_of(runtime, code)


async def test_printed_lines_are_whole_and_warnings_and_logging_are_lines_too(runtime: PythonRuntime) -> None:
    code = "print('a', end='')\nprint('b', 'c', sep='-')\nprint()\nprint('x\\ny')\nprint('rest', end='')"
    assert await logs_of(runtime, code) == ["ab-c", "", "x", "y", "rest"]
    code = "import logging, warnings\nlogging.warning('low')\nwarnings.warn('old')\nasync def f(): pass\nf()\nNone"
    lines = await logs_of(runtime, code)
    assert lines[0] == "WARNING:root:low"
    assert "UserWarning: old" in lines[1]
    assert "never awaited" in lines[2]


@pytest.mark.parametrize(
    ("code", "what", "hint"),
    [
        ("b'\\xff'", "no UTF-8 text", "base64"),
        ("lambda: 1", "a function", "call it"),
        ("tools.a", "a tool", "call it"),
        ("class A: pass\nA()", "an object of the class A", "vars(value)"),
        ("{'a': [{(1, 2): 3}]}", "$.a[0] is a dict whose key is a tuple", "text as keys"),
        ("10 ** 20000", "digits", "round it"),
        ("{'x': {1: 'a', '1': 'b'}}", '$.x is a dict with two keys that are "1"', "all different"),
        ("{'true': 1, True: 2}", 'two keys that are "true"', "all different"),
        ("1 + 2j", "a complex", "value.real"),
        ("import re\nre.match('a', 'a')", "a Match", "value.group()"),
        ("import io\nio.StringIO('a')", "a StringIO", "getvalue()"),
        ("class A:\n    __slots__ = ()\nA()", "an object of the class A", "dataclass"),
        ("import xml.etree.ElementTree as E\nE.fromstring('<a/>')", "an Element", "plain data"),
        ("import json\njson", "the module json", "what it gives"),
        ("x = []\nx.append(x)\nx", "nested", "plain data"),
    ],
)
async def test_what_json_cant_carry_is_named_with_the_way_out(
    runtime: PythonRuntime, code: str, what: str, hint: str
) -> None:
    failure = await failure_of(runtime, code)
    assert failure.code == "unserializable_result"
    assert what in failure.message
    assert hint in failure.hint


async def test_an_uncaught_error_tells_line_column_and_stack_as_submitted(runtime: PythonRuntime) -> None:
    failure = await failure_of(runtime, "import json\ndef f():\n    return 1 / 0\n\nf()")
    assert (failure.code, failure.message) == ("code_error", "ZeroDivisionError: division by zero")
    assert (failure.details["line"], failure.details["column"]) == (3, 12)
    assert failure.details["name"] == "ZeroDivisionError"
    assert 'File "main.py", line 3, in f\n    return 1 / 0' in failure.details["stack"]
    deep = await failure_of(runtime, "import json\njson.loads('{')")
    assert 'File "json/decoder.py"' in deep.details["stack"]
    assert "program.py" not in deep.details["stack"]


async def test_the_end_of_a_program_by_exit(runtime: PythonRuntime) -> None:
    assert await value_of(runtime, "import sys\nsys.exit()") is None
    assert (await failure_of(runtime, "import sys\nsys.exit('no data')")).message == "SystemExit: no data"


async def test_nothing_found_by_next_ends_a_program_with_its_line_and_a_hint(runtime: PythonRuntime) -> None:
    for before in ("", "import asyncio\nawait asyncio.sleep(0)\n"):
        failure = await failure_of(runtime, before + "next(x for x in [1] if x > 5)")
        assert (failure.message, failure.details["line"]) == ("StopIteration", before.count("\n") + 1)
        assert "next(found, None)" in failure.hint


async def test_standard_input_is_empty_and_standard_output_is_the_log(runtime: PythonRuntime) -> None:
    for read in ("sys.stdin.read()", "sys.stdin.readline()", "list(sys.stdin)", "sys.__stdin__.buffer.read()"):
        failure = await failure_of(runtime, f"import sys\n{read}")
        assert failure.details["name"] == "EOFError"
        assert failure.hint
    assert await value_of(runtime, "import sys\nsys.stdin.isatty()") is False
    assert await logs_of(runtime, "import sys\nprint('a', file=sys.__stdout__)\nprint('b', file=sys.__stderr__)") == [
        "a", "b"
    ]  # fmt: skip


async def test_programs_share_nothing(runtime: PythonRuntime) -> None:
    left = "import builtins, json, sys\nbuiltins.left = json.left = 1\nsys.modules['left'] = json\n1"
    look = "import json, sys, re\n[hasattr(__builtins__, 'left'), hasattr(json, 'left'), 'left' in sys.modules]"
    for _ in range(5):
        assert await value_of(runtime, left) == 1
        assert await value_of(runtime, look) == [False, False, False]


async def test_a_step_tells_the_cpu_time_it_took(runtime: PythonRuntime) -> None:
    busy = await first_step(runtime, "x = 0\nfor i in range(300000):\n    x += i\nx")
    idle = await first_step(runtime, "1")
    assert busy.cpu_ms > idle.cpu_ms > 0


@pytest.mark.parametrize("hint", HINTS, ids=[hint.pattern[:40] for hint in HINTS])
async def test_what_is_lacking_gets_its_hint_and_what_is_advised_runs(runtime: PythonRuntime, hint: Any) -> None:
    last = (await drive(runtime, hint.lacking, TOOLS))[-1]
    assert last.failure is not None and last.failure.hint == hint.advice, last
    assert (await drive(runtime, hint.instead, TOOLS))[-1].failure is None


async def test_a_tool_can_be_kept_in_a_name(runtime: PythonRuntime) -> None:
    code = "namespace = tools.a\ncall = namespace.b\n[await call(x=1), await namespace.b(x=2), tools.a == tools.a]"
    assert await outcome(runtime, code, TOOLS) == [{"x": 1}, {"x": 2}, True]


async def test_the_fields_of_a_tool_error_are_there_in_every_form(runtime: PythonRuntime) -> None:
    code = """\
try:
    await tools.bad.one()
except ToolError as error:
    named = [error.code, error.message, error.status, error.details, error.retryable, error.hint]
    shown = f"{error.code}: {error} ({error.details['why'][0]})"
try:
    await tools.bad.two()
except Exception as e:
    whole = error_of(e)
    asked = [whole.code, whole.status, isinstance(e, ToolError)]
[named, shown, asked]
"""
    fields = ["gone", "it's gone", 410, {"why": [1]}, True, "look elsewhere"]
    assert await outcome(runtime, code, TOOLS) == [fields, "gone: it's gone (1)", ["gone", 410, True]]


async def test_a_tool_error_that_is_raised_on_ends_the_program_with_its_code(runtime: PythonRuntime) -> None:
    code = "x = 1\ntry:\n    await tools.bad.one()\nexcept ToolError as e:\n    print(e.code)\n    raise\n"
    last = (await drive(runtime, code, TOOLS))[-1]
    assert last.failure is not None
    assert (last.failure.code, last.failure.hint, last.failure.details["status"]) == ("gone", "look elsewhere", 410)
    assert last.logs[0].text == "gone"


async def test_one_failing_call_of_a_gather_fails_it_and_the_code_goes_on(runtime: PythonRuntime) -> None:
    code = """\
import asyncio
try:
    await asyncio.gather(tools.a.b(), tools.bad.one(), tools.a.b())
except ToolError as e:
    said = e.code
[said, await tools.a.b(x=1)]
"""
    assert await outcome(runtime, code, TOOLS) == ["gone", {"x": 1}]


async def test_sleeping_gives_its_result_and_nothing_is_no_timer(runtime: PythonRuntime) -> None:
    code = "import asyncio\n[await asyncio.sleep(2, 'slept'), await asyncio.sleep(0), await asyncio.sleep(-1)]"
    steps = await drive(runtime, code, {})
    assert steps[-1].value == '["slept",null,null]'
    assert sum(len(step.proposals) for step in steps) == 1


async def test_the_line_stays_true_when_errors_are_caught_and_when_the_code_is_fenced(runtime: PythonRuntime) -> None:
    caught = "try:\n    pass\nexcept ToolError as e:\n    print(e.code)\n\n1 / 0"
    assert (await failure_of(runtime, caught)).details["line"] == 6
    assert (await failure_of(runtime, "```python\nx = 1\n1 / 0\n```")).details["line"] == 3
