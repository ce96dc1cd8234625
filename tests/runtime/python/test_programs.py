"""Python programs: what gives a value, how tools are called, what an error tells."""

from __future__ import annotations

import json
from typing import Any

import pytest

from executor.runtime.protocol import Answer
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
        ("1 + 1", 2),
        ("return 1 + 1", 2),
        ("x = 1\nx", 1),
        ("x = 1", None),
        ("if True:\n    return 5\nreturn 6", 5),
        ("async def main():\n    return 7\nawait main()", 7),
        ("import asyncio\nasync def main():\n    return 8\nasyncio.run(main())", 8),
        ("```python\n9\n```", 9),
        ("(1, 2)", [1, 2]),
        ("{1: 'a', None: 'b', True: 'c', 2.5: 'd'}", {"true": "c", "null": "b", "2.5": "d"}),
        ("[float('nan'), float('inf'), -float('inf')]", ["NaN", "Infinity", "-Infinity"]),
        ("[1.5] * 9 + [float('nan'), None]", [1.5] * 9 + ["NaN", None]),
        ("[2 ** 64 - 1, -2 ** 63, 2 ** 53 + 1]", [2**64 - 1, -(2**63), 2**53 + 1]),
        ("[2 ** 64, 2 ** 70, -2 ** 63 - 1]", [str(2**64), str(2**70), str(-(2**63) - 1)]),
        ("list(range(20)) + [1.5, None, True, 1e300]", [*range(20), 1.5, None, True, 1e300]),
        ("[2 ** 70] * 9 + [5, float('nan')]", [str(2**70)] * 9 + [5, "NaN"]),
        ("{2 ** 70: 2 ** 70}", {str(2**70): str(2**70)}),
        ("'\\u2028\\n\\t\"\\\\'", '\u2028\n\t"\\'),
        ("from dataclasses import dataclass\n@dataclass\nclass A:\n    x: int\nA(3).x", 3),
        ("[x * 2 for x in range(3) if x]", [2, 4]),
        ("str(type(1))", "<class 'int'>"),
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
        ("tools.a.b.c(x=1)", {"x": 1}),
        ("getattr(tools.a, 'import')(x=1)", {"x": 1}),
        ("tools('a._hidden', x=1)", {"x": 1}),
        ("tools('a._hidden', {'x': 2})", {"x": 2}),
    ],
)
async def test_a_tool_is_called_with_keywords_or_one_dict(runtime: PythonRuntime, call: str, argument: Any) -> None:
    assert await outcome(runtime, f"await {call}", TOOLS) == argument


async def test_a_tool_can_be_kept_in_a_name(runtime: PythonRuntime) -> None:
    code = "namespace = tools.a\ncall = namespace.b\n[await call(x=1), await namespace.b(x=2), tools.a == tools.a]"
    assert await outcome(runtime, code, TOOLS) == [{"x": 1}, {"x": 2}, True]


@pytest.mark.parametrize(
    "call",
    ["tools.a.b(1)", "tools.a.b({}, 2)", "tools.a.b({}, x=1)", "tools()", "tools.a.b(x={1})", "tools.a.b(x=tools)"],
)
async def test_arguments_that_make_no_sense_are_a_type_error_at_the_call(runtime: PythonRuntime, call: str) -> None:
    code = f"try:\n    await {call}\nexcept TypeError as error:\n    said = str(error)\nsaid"
    assert "tools" in await value_of(runtime, code)


@pytest.mark.parametrize(
    ("argument", "said", "way"),
    [
        ("x=float('nan')", "$.x is NaN", "math.isfinite"),
        ("x=[1.0] * 9 + [float('inf')]", "$.x[9] is Infinity", "math.isfinite"),
        ("x={'y': -float('inf')}", "$.x.y is -Infinity", "math.isfinite"),
        ("x=2 ** 64", "$.x is a whole number beyond 64 bits", "str(value)"),
        ("x=[-2 ** 63 - 1]", "$.x[0] is a whole number beyond 64 bits", "str(value)"),
    ],
)
async def test_a_call_refuses_a_number_that_would_arrive_as_another(
    runtime: PythonRuntime, argument: str, said: str, way: str
) -> None:
    step = await first_step(runtime, f"await tools.a.b({argument})")
    assert step.proposals == ()
    assert step.failure is not None
    assert said in step.failure.message
    assert way in step.failure.message


async def test_calls_start_when_they_are_written_and_are_awaited_later(runtime: PythonRuntime) -> None:
    code = "first = tools.a.b(n=1)\nsecond = tools.a.b(n=2)\n[await second, await first]"
    sandbox = await runtime.open()
    try:
        step = await sandbox.start(program(code))
        assert [proposal.seq for proposal in step.proposals] == [1, 2]
        assert not (await sandbox.answer(Answer(1, CLOCK, value='"one"'))).has_ended
        assert (await sandbox.answer(Answer(2, CLOCK, value='"two"'))).value == '["two","one"]'
    finally:
        await sandbox.close()


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


async def test_an_attribute_of_another_object_of_the_same_name_is_left_alone(runtime: PythonRuntime) -> None:
    code = """\
class Thing:
    def __init__(self):
        self.code = 3
try:
    pass
except ToolError as e:
    pass
e = Thing()
e.code = e.code + 1
e.code
"""
    assert await value_of(runtime, code) == 4


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


async def test_sleeping_gives_its_result_and_nothing_is_no_timer(runtime: PythonRuntime) -> None:
    code = "import asyncio\n[await asyncio.sleep(2, 'slept'), await asyncio.sleep(0), await asyncio.sleep(-1)]"
    steps = await drive(runtime, code, {})
    assert steps[-1].value == '["slept",null,null]'
    assert sum(len(step.proposals) for step in steps) == 1


async def test_time_is_what_the_host_says_and_chance_comes_from_the_seed(runtime: PythonRuntime) -> None:
    code = """\
import datetime, os, random, time
[time.time(), time.monotonic(), time.perf_counter(), datetime.datetime.now().isoformat(),
 datetime.datetime.now(datetime.timezone.utc).isoformat(), datetime.date.today().isoformat(),
 random.random(), random.Random().random(), os.urandom(3).hex()]
"""
    first, second = await value_of(runtime, code), await value_of(runtime, code)
    other = await value_of(runtime, code, seed=bytes(16))
    assert first == second
    assert first[:6] == other[:6] == [
        CLOCK / 1000, 0, 0, "2023-11-14T22:13:20", "2023-11-14T22:13:20+00:00", "2023-11-14",
    ]  # fmt: skip
    assert all(one != another for one, another in zip(first[6:], other[6:], strict=True))


async def test_printed_lines_are_whole_whatever_the_pieces(runtime: PythonRuntime) -> None:
    code = "print('a', end='')\nprint('b', 'c', sep='-')\nprint()\nprint('x\\ny')\nprint('rest', end='')"
    assert await logs_of(runtime, code) == ["ab-c", "", "x", "y", "rest"]


@pytest.mark.parametrize(
    ("code", "what", "hint"),
    [
        ("{1, 2}", "a set", "sorted"),
        ("b'x'", "a bytes", "decode"),
        ("import datetime\ndatetime.datetime(2020, 1, 1)", "a datetime", "isoformat"),
        ("import decimal\ndecimal.Decimal('1')", "a Decimal", "str(value)"),
        ("tools.a.b()", "a coroutine", "await"),
        ("async def main():\n    return 1\nmain()", "a coroutine", "await"),
        ("lambda: 1", "a function", "call it"),
        ("print", "a function", "call it"),
        ("tools.a", "a tool", "call it"),
        ("class A: pass\nA()", "an object of the class A", "plain data"),
        ("{(1, 2): 3}", "a dict whose key is a tuple", "plain data"),
        ("10 ** 20000", "digits", "plain data"),
    ],
)
async def test_what_json_cant_carry_is_named_with_the_way_out(
    runtime: PythonRuntime, code: str, what: str, hint: str
) -> None:
    failure = await failure_of(runtime, code)
    assert failure.code in ("unserializable_result", "code_error")
    assert what in failure.message
    assert hint in failure.hint


async def test_an_uncaught_error_tells_line_column_and_stack_as_submitted(runtime: PythonRuntime) -> None:
    failure = await failure_of(runtime, "def f():\n    return 1 / 0\n\nf()")
    assert failure.code == "code_error"
    assert failure.message == "ZeroDivisionError: division by zero"
    assert (failure.details["line"], failure.details["column"]) == (2, 12)
    assert failure.details["name"] == "ZeroDivisionError"
    assert "main.py" in failure.details["stack"]


async def test_the_line_stays_true_when_errors_are_caught_and_when_the_code_is_fenced(runtime: PythonRuntime) -> None:
    caught = "try:\n    pass\nexcept ToolError as e:\n    print(e.code)\n\n1 / 0"
    assert (await failure_of(runtime, caught)).details["line"] == 6
    assert (await failure_of(runtime, "```python\nx = 1\n1 / 0\n```")).details["line"] == 3


async def test_a_step_tells_the_cpu_time_it_took(runtime: PythonRuntime) -> None:
    busy = await first_step(runtime, "x = 0\nfor i in range(300000):\n    x += i\nx")
    idle = await first_step(runtime, "1")
    assert busy.cpu_ms > idle.cpu_ms > 0
