"""Calls, timers and results: what crosses between the code and the host."""

# ruff: noqa: E501 - a program a line
from __future__ import annotations

import json
from typing import Any

import pytest

from executor.execution.runs.run import answer_all
from executor.runtime.protocol import Answer, Step
from executor.runtime.typescript.runtime import TypeScriptRuntime
from tests.runtime.program_driver import CLOCK, Failed, drive, failure_of, first_step, outcome, program, value_of

pytestmark = pytest.mark.asyncio(loop_scope="session")
ECHO = {"a.b.c": lambda arguments: arguments}


@pytest.mark.parametrize(
    ("call", "path", "arguments"),
    [
        ("tools.a.b.c({x: 1})", "a.b.c", {"x": 1}),
        ("tools.discover()", "discover", {}),
        ("tools.discover(undefined)", "discover", {}),
        ('tools["a.b"].c({})', "a.b.c", {}),
        ('tools["a.b.c"]({})', "a.b.c", {}),
        ('tools.a["my-tool"]({})', "a.my-tool", {}),
        ("tools.a.constructor({})", "a.constructor", {}),
        ("tools.__proto__.x({})", "__proto__.x", {}),
        ("tools.a.toString({})", "a.toString", {}),
        ('tools["a.then"]({})', "a.then", {}),
        ("(() => { const f = tools.a.b; return f({}) })()", "a.b", {}),
        ("tools.a.b({at: new Date(0), u: undefined})", "a.b", {"at": "1970-01-01T00:00:00.000Z"}),
        ('tools.a.b({text: "\\ud800x \\\\ud800"})', "a.b", {"text": "\ufffdx \\ud800"}),
    ],
)
async def test_a_call_is_proposed_with_its_path_and_arguments(
    runtime: TypeScriptRuntime, call: str, path: str, arguments: dict[str, Any]
) -> None:
    step = await first_step(runtime, f"await {call}; await 1")
    (proposal,) = step.proposals
    assert (proposal.seq, proposal.kind, proposal.path) == (1, "tool", path)
    assert json.loads(proposal.arguments) == arguments
    assert not step.has_ended


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ("tools.a.b(1, 2)", "takes one argument"),
        ("tools.a.b(5)", "it got number"),
        ("tools.a.b('x')", "it got string"),
        ("tools.a.b([1])", "it got an array"),
        ("tools.a.b(null)", "it got null"),
        ("tools.a.b({n: 1n})", "$.n is a BigInt"),
        ("tools.a.b({f: {g: () => 1}})", "$.f.g is a function"),
        ("tools.a.b({list: [1, Symbol('x')]})", "$.list[1] is a symbol"),
        ("(() => { const o: any = {}; o.o = o; return tools.a.b(o) })()", "$.o refers back to itself"),
        ("tools.a.b({t: tools.x})", "$.t is a tool"),
        ("(() => { let o: any = {}; for (let i = 0; i < 300; i++) o = {o}; return tools.a.b(o) })()", "nested deeper"),
        ("tools.a.b({toJSON: () => 5})", "an object"),
        ("tools({})", "name a tool"),
        ("tools['x'.repeat(2000)]({})", "at most 1000 characters"),
    ],
)
async def test_arguments_that_cannot_be_sent_reject_that_call_alone(
    runtime: TypeScriptRuntime, call: str, words: str
) -> None:
    code = f"try {{ await {call} }} catch (e) {{ return [e instanceof TypeError, e.message] }}"
    step = await first_step(runtime, code)
    assert step.proposals == ()
    is_type_error, message = json.loads(step.value or "null")
    assert is_type_error
    assert words in message


async def test_answers_reach_the_code_whatever_their_order(runtime: TypeScriptRuntime) -> None:
    sandbox = await runtime.open()
    code = "const order = []; const go = async (n) => { order.push(await tools.a.b({n})) };"
    step = await sandbox.start(program(code + "await Promise.all([go(1), go(2), go(3)]); return order"))
    assert [proposal.seq for proposal in step.proposals] == [1, 2, 3]
    for seq in (3, 1, 2):
        step = await sandbox.answer(Answer(seq, CLOCK, value=str(seq)))
    await sandbox.close()
    assert step.value == "[3,1,2]"


async def test_answers_may_be_sent_ahead_and_each_gets_its_step(runtime: TypeScriptRuntime) -> None:
    import asyncio

    sandbox = await runtime.open()
    step = await sandbox.start(program("return await Promise.all([1, 2, 3].map((n) => tools.a.b({n})))"))
    answers = [sandbox.answer(Answer(proposal.seq, CLOCK, value='"x"')) for proposal in step.proposals]
    steps = await asyncio.gather(*answers)
    await sandbox.close()
    assert [step.has_ended for step in steps] == [False, False, True]
    assert steps[-1].value == '["x","x","x"]'


async def test_answers_that_are_given_together_have_the_steps_that_each_would_have(runtime: TypeScriptRuntime) -> None:
    code = "const seen = []; const go = async (n) => { seen.push(await tools.a.b({n})); await tools.c.d({n}) };"
    sandbox = await runtime.open()
    await sandbox.start(program(code + "await Promise.all([go(1), go(2), go(3)]); return seen"))
    first = await answer_all(sandbox, [Answer(seq, CLOCK, value=str(seq)) for seq in (2, 3, 1)])
    proposed = [[json.loads(one.arguments) for one in step.proposals] for step in map(successful, first)]
    last = await answer_all(sandbox, [Answer(seq, CLOCK, value="null") for seq in (4, 5, 6)])
    await sandbox.close()
    assert proposed == [[{"n": 2}], [{"n": 3}], [{"n": 1}]]
    assert [step.value for step in map(successful, last)] == [None, None, "[2,3,1]"]


def successful(step: Step | BaseException) -> Step:
    assert isinstance(step, Step)
    return step


async def test_an_answer_after_the_end_gives_an_empty_step(runtime: TypeScriptRuntime) -> None:
    sandbox = await runtime.open()
    step = await sandbox.start(program("return await Promise.race([tools.a.b({}), tools.c.d({})])"))
    assert (await sandbox.answer(Answer(1, CLOCK, value="1"))).value == "1"
    late = await sandbox.answer(Answer(2, CLOCK, value="2"))
    await sandbox.close()
    assert not late.has_ended
    assert late.proposals == ()
    assert len(step.proposals) == 2


async def test_a_value_is_data_whatever_its_keys(runtime: TypeScriptRuntime) -> None:
    hostile = '{"__proto__": {"polluted": true}, "constructor": 1, "then": 2}'
    code = "const v = await tools.a.b({}); return [Object.keys(v), ({}).polluted === undefined, v.then]"
    sandbox = await runtime.open()
    await sandbox.start(program(code))
    step = await sandbox.answer(Answer(1, CLOCK, value=hostile))
    await sandbox.close()
    assert step.value == '[["__proto__","constructor","then"],true,2]'


REFUSAL = {
    "code": "upstream_error",
    "message": "404 Not Found",
    "status": 404,
    "details": {"missing": "thing"},
    "retryable": True,
    "hint": "look again",
}


def refuse(_: dict[str, Any]) -> Any:
    raise Failed(REFUSAL)


async def test_a_failed_call_throws_a_tool_error_that_code_can_read(runtime: TypeScriptRuntime) -> None:
    code = """
    try {
      await tools.a.b({})
    } catch (e) {
      return { own: e instanceof ToolError, error: e instanceof Error, name: e.name, ...e, message: e.message,
               line: /main\\.ts:3:/.test(e.stack) }
    }"""
    caught = await outcome(runtime, code, {"a.b": refuse})
    assert caught == {**REFUSAL, "own": True, "error": True, "name": "ToolError", "line": True}


async def test_an_uncaught_tool_error_ends_the_execution_with_its_own_code(runtime: TypeScriptRuntime) -> None:
    failure = (await drive(runtime, "const x = 1\nawait tools.a.b({})", {"a.b": refuse}))[-1].failure
    assert failure is not None
    assert (failure.code, failure.message, failure.hint) == ("upstream_error", "404 Not Found", "look again")
    details = {"status": 404, "details": {"missing": "thing"}, "retryable": True, "line": 2}
    assert {name: failure.details[name] for name in details} == details


@pytest.mark.parametrize(
    "code",
    [
        'throw new ToolError("mine", { code: "denied", hint: "h" })',
        'throw Object.assign(new ToolError("mine"), { code: "sandbox_lost" })',
        'class Own extends ToolError { code = "cancelled" } throw new Own("mine")',
    ],
)
async def test_a_tool_error_that_code_made_itself_carries_no_code(runtime: TypeScriptRuntime, code: str) -> None:
    failure = await failure_of(runtime, code)
    assert (failure.code, failure.message) == ("code_error", "ToolError: mine")


async def test_a_tool_error_of_the_host_keeps_its_code_whatever_is_written_over_it(runtime: TypeScriptRuntime) -> None:
    def refuse(_: object) -> None:
        raise Failed({"code": "upstream_error", "message": "no", "status": 500})

    code = (
        "try { await tools.a.b({}) } catch (e) { e.code = 'sandbox_lost'; WeakMap.prototype.get = () => 'x'; throw e }"
    )
    last = (await drive(runtime, code, {"a.b": refuse}))[-1]
    assert last.failure is not None
    assert (last.failure.code, last.failure.details["status"]) == ("upstream_error", 500)


@pytest.mark.parametrize(
    ("result", "path", "what"),
    [
        ("() => 1", "$", "a function"),
        ("{ list: [1, { f() {} }] }", "$.list[1].f", "a function"),
        ('{ "odd key": Symbol("x") }', '$["odd key"]', "a symbol"),
        ("tools.a.b", "$", "a tool"),
        ("(() => { const o: any = { x: {} }; o.x.y = o; return o })()", "$.x.y", "refers back"),
    ],
)
async def test_a_result_that_json_cannot_carry_names_the_path(
    runtime: TypeScriptRuntime, result: str, path: str, what: str
) -> None:
    failure = await failure_of(runtime, f"const x = 1; return {result}")
    assert failure.code == "unserializable_result"
    assert failure.details["path"] == path
    assert what in failure.message
    assert failure.hint


@pytest.mark.parametrize(
    ("result", "value"),
    [
        ("undefined", None),
        ("{ a: undefined, b: [undefined] }", {"b": [None]}),
        ("new Date(0)", "1970-01-01T00:00:00.000Z"),
        ("[-0, 0.1, 1e21]", [0, 0.1, 1e21]),
        ('"\\ud800 lone \\udc00"', "\ufffd lone \ufffd"),
        ('{ "\\udfff": 1 }', {"\ufffd": 1}),
        ('"\\\\ud800"', "\\ud800"),
        ("Object.create(null)", {}),
        ('{ toJSON: () => "mine" }', "mine"),
        ("(() => { const shared = { a: 1 }; return [shared, shared] })()", [{"a": 1}, {"a": 1}]),
    ],
)
async def test_a_result_is_what_json_makes_of_it(runtime: TypeScriptRuntime, result: str, value: Any) -> None:
    assert await value_of(runtime, f"const x = 1; return {result}") == value


@pytest.mark.parametrize("result", ['"x".repeat(2000)', "Array(2000).fill(1)", '"ä".repeat(600)', "new Array(1e9)"])
async def test_a_result_over_the_limit_is_refused(runtime: TypeScriptRuntime, result: str) -> None:
    assert (await failure_of(runtime, f"return {result}", output_bytes=1000)).code == "output_limit"


async def test_more_calls_than_allowed_end_the_execution(runtime: TypeScriptRuntime) -> None:
    step = await first_step(runtime, "for (;;) tools.a.b({})", calls=5)
    assert step.failure is not None
    assert step.failure.code == "call_limit"
    assert [proposal.seq for proposal in step.proposals] == [1, 2, 3, 4, 5]


async def test_timers_count_among_the_calls(runtime: TypeScriptRuntime) -> None:
    step = await first_step(runtime, "for (;;) setTimeout(() => {}, 50)", calls=3)
    assert step.failure is not None
    assert step.failure.code == "call_limit"


async def test_timers_are_proposed_and_numbered_with_the_calls(runtime: TypeScriptRuntime) -> None:
    code = "tools.a.b({}); await new Promise((r) => setTimeout(r, 1500.7)); return 'late'"
    step = await first_step(runtime, code)
    assert [(p.seq, p.kind, p.arguments) for p in step.proposals] == [(1, "tool", "{}"), (2, "timer", "1500")]
    assert await outcome(runtime, code, {"a.b": lambda _: 1}) == "late"


async def test_a_zero_delay_runs_after_the_promises_without_the_host(runtime: TypeScriptRuntime) -> None:
    code = """
    const order = [];
    setTimeout((x) => order.push(x), 0, "timer");
    Promise.resolve().then(() => order.push("promise"));
    queueMicrotask(() => order.push("microtask"));
    order.push("code");
    await new Promise((r) => setTimeout(r));
    return order"""
    assert await value_of(runtime, code) == ["code", "promise", "microtask", "timer"]


async def test_cleared_timers_do_not_fire(runtime: TypeScriptRuntime) -> None:
    code = """
    let fired = 0;
    clearTimeout(setTimeout(() => fired++, 0));
    const later = setTimeout(() => fired++, 10);
    clearTimeout(later);
    await new Promise((r) => setTimeout(r, 20));
    return fired"""
    assert await outcome(runtime, code, {}) == 0


async def test_an_interval_fires_until_it_is_cleared(runtime: TypeScriptRuntime) -> None:
    code = """
    let n = 0;
    await new Promise((resolve) => { const id = setInterval(() => { if (++n === 3) { clearInterval(id); resolve() } }, 5) });
    return n"""
    steps = await drive(runtime, code, {})
    assert steps[-1].value == "3"
    assert sum(len(step.proposals) for step in steps) == 3


async def test_zero_delays_without_end_become_proposals(runtime: TypeScriptRuntime) -> None:
    step = await first_step(runtime, "(function again() { setTimeout(again, 0) })(); await new Promise(() => {})")
    assert [proposal.kind for proposal in step.proposals] == ["timer"]


async def test_what_runs_on_after_the_end_does_not_hold_the_result_back(runtime: TypeScriptRuntime) -> None:
    code = "(async () => { for (;;) await null })(); return 1"
    assert await value_of(runtime, code) == 1


async def test_an_execution_sees_its_own_clock_and_it_stands_still_within_a_step(runtime: TypeScriptRuntime) -> None:
    code = """
    const a = Date.now();
    for (let i = 0; i < 100000; i++);
    const same = Date.now() === a && performance.now() === 0;
    await tools.a.b({});
    return [same, Date.now() - a, performance.now(), new Date().toISOString(), new Date().getTimezoneOffset()]"""
    assert await outcome(runtime, code, {"a.b": lambda _: 1}) == [True, 1, 1, "2023-11-14T22:13:20.001Z", 0]


RANDOM = "return [Math.random(), Math.random(), crypto.randomUUID(), [...crypto.getRandomValues(new Uint8Array(8))]]"


async def test_the_same_seed_gives_the_same_numbers(runtime: TypeScriptRuntime) -> None:
    assert await value_of(runtime, RANDOM) == await value_of(runtime, RANDOM)


async def test_another_seed_gives_other_numbers(runtime: TypeScriptRuntime) -> None:
    one, other = await value_of(runtime, RANDOM), await value_of(runtime, RANDOM, seed=b"another seed 16b")
    assert all(a != b for a, b in zip(one, other, strict=True))
    assert one[0] != one[1]


async def test_the_same_run_gives_the_same_steps(runtime: TypeScriptRuntime) -> None:
    code = """
    const log = [];
    await Promise.all([1, 2, 3].map(async (n) => { log.push(await tools.a.b.c({ n, r: Math.random(), t: Date.now() })) }));
    await new Promise((r) => setTimeout(r, 10));
    console.log(crypto.randomUUID(), log.length);
    return log"""
    runs = [await drive(runtime, code, ECHO) for _ in range(2)]
    seen = [[(step.proposals, step.logs, step.value) for step in run] for run in runs]
    assert seen[0] == seen[1]
