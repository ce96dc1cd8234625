"""Driving a sandbox in tests: start a program, answer its calls from a table of functions."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from executor.model.execution import Failure, Limits
from executor.runtime.protocol import Answer, Program, Step
from executor.runtime.typescript.runtime import TypeScriptRuntime

SEED = bytes(range(16))
CLOCK = 1_700_000_000_000
LIMITS = Limits(cpu_ms=3_000)
SYNTAX_ERRORS = [  # of TypeScript, each with the line and column at which it is noticed
    ("let x = ;", 1, 9),
    ("const a = 1;\nconst b: string = ;\n", 2, 19),
    ("return 1 +", 1, 11),
    ("if (true) {\n  return 1\n", 2, 11),
    ("return 1 }", 1, 10),
    ("```ts\nconst a = 1;\nlet x = ;\n```", 3, 9),
]
Tools = Mapping[str, Callable[[dict[str, Any]], Any]]


class Failed(Exception):
    """Raised by a tool of a test: what the code catches as a ToolError."""


def program(code: str, *, seed: bytes = SEED, clock_ms: int = CLOCK, **limits: int) -> Program:
    return Program(code, seed, clock_ms, replace(LIMITS, **limits))


async def first_step(runtime: TypeScriptRuntime, code: str, **options: Any) -> Step:
    sandbox = await runtime.open()
    try:
        return await sandbox.start(program(code, **options))
    finally:
        await sandbox.close()


async def value_of(runtime: TypeScriptRuntime, code: str, **options: Any) -> Any:
    step = await first_step(runtime, code, **options)
    assert step.failure is None, step.failure
    assert step.value is not None, step
    return json.loads(step.value)


async def failure_of(runtime: TypeScriptRuntime, code: str, **options: Any) -> Failure:
    step = await first_step(runtime, code, **options)
    assert step.failure is not None, step
    return step.failure


async def logs_of(runtime: TypeScriptRuntime, code: str, **options: Any) -> list[str]:
    return [log.text for log in (await first_step(runtime, code, **options)).logs]


async def drive(runtime: TypeScriptRuntime, code: str, tools: Tools, **options: Any) -> list[Step]:
    """All steps to the end. Timers are answered at once, calls in order, each a millisecond after the one before."""
    sandbox = await runtime.open()
    try:
        steps = [await sandbox.start(program(code, **options))]
        waiting = list(steps[0].proposals)
        clock = CLOCK
        while not steps[-1].has_ended:
            proposal = waiting.pop(0)
            clock += 1
            steps.append(await sandbox.answer(_answer(proposal, tools, clock)))
            waiting += steps[-1].proposals
        return steps
    finally:
        await sandbox.close()


def _answer(proposal: Any, tools: Tools, clock: int) -> Answer:
    if proposal.kind == "timer":
        return Answer(proposal.seq, clock, value="null")
    try:
        return Answer(proposal.seq, clock, value=json.dumps(tools[proposal.path](json.loads(proposal.arguments))))
    except Failed as failed:
        return Answer(proposal.seq, clock, error=json.dumps(failed.args[0]))


async def outcome(runtime: TypeScriptRuntime, code: str, tools: Tools, **options: Any) -> Any:
    last = (await drive(runtime, code, tools, **options))[-1]
    assert last.failure is None, last.failure
    assert last.value is not None
    return json.loads(last.value)
