"""A checker that dies, hangs or is fed what confuses it: the verdict says so, and the next check works again."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from contextlib import suppress

import psutil
import pytest

from executor.checking.checkers import typescript
from executor.checking.checkers.typescript import TypeScriptChecker
from executor.checking.queue import Unavailable
from executor.checking.source.cursor import cursor
from executor.checking.source.lexer import Language, TooLong
from executor.checking.source.tool_calls import Outline
from executor.checking.source.typescript_wrapper import wrap
from tests.checking.conftest import CheckerHarness
from tests.support.conditions import until

TOOLS = "declare const tools: {a: {b(args: {x: string}): Promise<any>}};\n"
WRONG = "return await tools.a.b({x: 1})"
BOMB = """
type Big<N extends number, R extends any[] = []> = R['length'] extends N ? R : Big<N, [...R, 1]>;
type Twice<T> = T extends any ? [T, T] | [Twice<[T]>, Twice<[T, T]>] : never;
type Cross<A extends string> = `${A}${A}${A}${A}${A}${A}${A}${A}${A}${A}`;
let a: Cross<'0'|'1'|'2'|'3'|'4'|'5'|'6'|'7'|'8'|'9'> = tools.a.b({x: 'y'}) as any; let b: Twice<Big<990>> = a as any;
"""


async def test_a_checker_that_is_killed_between_checks_is_started_again(checks: CheckerHarness) -> None:
    assert await checks.errors("return await tools.ledger.entries.addEntry({key: 1})")
    os.kill(checks.checker.typescript.pid, signal.SIGKILL)
    assert await checks.errors("return await tools.ledger.entries.addEntry({key: 2})")


async def test_a_checker_that_is_killed_during_a_check_is_started_again() -> None:
    checker = TypeScriptChecker()
    try:
        await checker.check(WRONG, TOOLS)
        os.kill(checker.pid, signal.SIGSTOP)
        await until(lambda: psutil.Process(checker.pid).status() == psutil.STATUS_STOPPED)
        checking = asyncio.create_task(checker.check(WRONG + " ", TOOLS))
        await asyncio.sleep(0)
        os.kill(checker.pid, signal.SIGKILL)
        assert [finding.code for finding in await checking] == ["TS2322"]
    finally:
        await checker.close()


async def test_a_checker_that_hangs_is_ended_and_the_next_check_works(monkeypatch: pytest.MonkeyPatch) -> None:
    checker = TypeScriptChecker()
    try:
        await checker.check(WRONG, TOOLS)
        stopped = checker.pid
        os.kill(stopped, signal.SIGSTOP)
        await until(lambda: psutil.Process(stopped).status() == psutil.STATUS_STOPPED)
        monkeypatch.setattr(typescript, "seconds", lambda size: 0.3)
        with pytest.raises(Unavailable, match="not answer within"):
            await checker.check(WRONG + " ", TOOLS)
        monkeypatch.undo()
        await until(lambda: not psutil.pid_exists(stopped))
        assert await checker.check(WRONG, TOOLS)
    finally:
        await checker.close()


async def test_a_checker_nobody_needs_is_ended_and_comes_back_when_needed() -> None:
    checker = TypeScriptChecker(idle_seconds=0.01)
    try:
        await checker.check(WRONG, TOOLS)
        await until(lambda: checker.pid == 0)
        assert await checker.check(WRONG, TOOLS)
    finally:
        await checker.close()


async def test_closing_ends_the_process() -> None:
    checker = TypeScriptChecker()
    await checker.check(WRONG, TOOLS)
    pid = checker.pid
    await checker.close()
    await until(lambda: not psutil.pid_exists(pid))


async def test_types_that_explode_end_in_time_and_harm_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bomb takes seconds of CPU time, so a fifth of a second is never enough."""
    checker = TypeScriptChecker()
    try:
        await checker.check(WRONG, TOOLS)
        exploding = checker.pid
        monkeypatch.setattr(typescript, "seconds", lambda size: 0.2)
        with pytest.raises(Unavailable, match="not answer within"):
            await checker.check(BOMB, TOOLS)
        monkeypatch.undo()
        await until(lambda: not psutil.pid_exists(exploding))
        assert [finding.code for finding in await checker.check(WRONG, TOOLS)] == ["TS2322"]
    finally:
        await checker.close()


async def test_many_checks_at_once_are_served_in_turn() -> None:
    checker = TypeScriptChecker()
    try:
        found = await asyncio.gather(*(checker.check(f"{WRONG} // {number}", TOOLS) for number in range(20)))
        assert all([finding.code for finding in one] == ["TS2322"] for one in found)
    finally:
        await checker.close()


async def test_a_caller_that_goes_away_leaves_a_working_checker() -> None:
    checker = TypeScriptChecker()
    try:
        await checker.check(WRONG, TOOLS)
        leaving = asyncio.create_task(checker.check(WRONG + " ", TOOLS))
        await asyncio.sleep(0)
        leaving.cancel()
        await asyncio.gather(leaving, return_exceptions=True)
        assert await checker.check(WRONG, TOOLS)
    finally:
        await checker.close()


async def test_the_checker_reads_no_files_of_this_machine() -> None:
    checker = TypeScriptChecker()
    code = '/// <reference path="/etc/hosts" />\nimport type { x } from "/etc/passwd"; let y: import("/etc/fstab").Z;'
    try:
        await checker.check(code, TOOLS)
        names = {file.path for file in psutil.Process(checker.pid).open_files()}
        assert not any(name.startswith("/etc") for name in names)
        status = psutil.Process(checker.pid)
        assert status.environ().keys() <= {"LANG", "GOMAXPROCS", "GOMEMLIMIT", "GOGC", "GOTRACEBACK"}
    finally:
        await checker.close()


async def test_ten_thousand_lines_are_checked(checks: CheckerHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(typescript, "seconds", lambda size: 280.0)
    lines = [f"const value{number} = {{n: {number}, s: 'x'}};" for number in range(10_000)]
    code = "\n".join([*lines, "return await tools.ledger.entries.addEntry({key: 5})"])
    verdict = await checks.verdict(code)
    assert not verdict.unavailable
    assert [one.line for one in verdict.diagnostics] == [10_001]


@pytest.mark.parametrize("language", ["typescript", "python"])
async def test_a_megabyte_of_code_gets_a_verdict(checks: CheckerHarness, language: str) -> None:
    code = "x = tools.ledger.entries\n" + "y = [1, 2, 3]\n" * 70_000
    verdict = await checks.verdict(code, language)
    assert not verdict.errors


@pytest.mark.parametrize("language", ["typescript", "python"])
@pytest.mark.parametrize(
    "code",
    [
        "tools." + "a." * 50_000,
        "(" * 100_000 + "tools.a(",
        "{" * 100_000 + "}" * 100_000 + "tools",
        "/[" * 80_000,
        "`${" * 60_000,
        "'\\" * 80_000,
        "/*" * 80_000,
        '"""' * 60_000,
        "tools(" + " " * 190_000 + "x",
        "export default " * 13_000,
        "async" + " " * 190_000,
        "try:\n" * 40_000,
        "} = tools; {" * 15_000,
        "\x00\ud7ff\u2028 tools \x7f",
    ],
)
def test_nonsense_is_looked_through_in_linear_time(code: str, language: Language) -> None:
    began = time.process_time()
    try:
        outline = Outline(code, language)
        for chain in outline.chains[:200]:
            outline.path(chain)
            outline.call_at(outline.tokens[chain.first].start)
        cursor(code, len(code), language)
    except TooLong:
        pass
    wrap(code)
    assert time.process_time() - began < 20


async def test_code_the_checker_failed_on_is_not_tried_again_at_once(
    checks: CheckerHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(typescript.language_server, "program", lambda: None)
    code = "return await tools.ledger.entries.addEntry({key: 3})"
    assert "no TypeScript checker" in (await checks.verdict(code)).unavailable
    known = checks.checker.find_known(checks.workspace_id, "typescript", code)
    assert known is not None and known.unavailable


async def test_a_python_checker_that_is_killed_is_started_again(checks: CheckerHarness) -> None:
    assert await checks.errors("await tools.ledger.entries.addEntry(key=1)", "python")
    for child in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):  # it has ended meanwhile
            if "monty" in " ".join(child.cmdline()):
                child.kill()
    assert await checks.errors("await tools.ledger.entries.addEntry(key=2)", "python")
