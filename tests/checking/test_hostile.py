"""A checker that dies, hangs or is fed what confuses it: the verdict says so, and the next check works again."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from executor.checking.checkers import python, server_checker, typescript
from executor.checking.checkers.python import PythonChecker
from executor.checking.checkers.server_checker import ServerChecker
from executor.checking.checkers.typescript import TypeScriptChecker
from executor.checking.queue import Unavailable
from executor.checking.source.cursor import cursor
from executor.checking.source.lexer import Language, TooLong
from executor.checking.source.tool_calls import Outline
from executor.checking.source.typescript_wrapper import wrap
from executor.daemon.doctor import checkers
from tests.checking.conftest import CheckerHarness
from tests.support.conditions import until

BOMB = """
type Big<N extends number, R extends any[] = []> = R['length'] extends N ? R : Big<N, [...R, 1]>;
type Twice<T> = T extends any ? [T, T] | [Twice<[T]>, Twice<[T, T]>] : never;
type Cross<A extends string> = `${A}${A}${A}${A}${A}${A}${A}${A}${A}${A}`;
let a: Cross<'0'|'1'|'2'|'3'|'4'|'5'|'6'|'7'|'8'|'9'> = tools.a.b({x: 'y'}) as any; let b: Twice<Big<990>> = a as any;
"""


@dataclass(frozen=True)
class Subject:
    """A checker, code with one mistake against its declarations, and code that keeps it busy for seconds."""

    make: type[ServerChecker]
    tools: str
    wrong: str
    code: str
    bomb: str


TYPESCRIPT = Subject(
    TypeScriptChecker,
    "declare const tools: {a: {b(args: {x: string}): Promise<any>}};\n",
    "return await tools.a.b({x: 1})",
    "TS2322",
    BOMB,
)
PYTHON = Subject(
    PythonChecker,
    "class B:\n    def __call__(_self, /, *, x: str): ...\nclass A:\n    b: B\nclass Tools:\n    a: A\ntools: Tools\n",
    "return await tools.a.b(x=1)",
    "invalid-argument-type",
    "match tools:\n" + "".join(f"  case {number}: x = {number}\n" for number in range(2_000)),
)
both = pytest.mark.parametrize("subject", [TYPESCRIPT, PYTHON], ids=["typescript", "python"])


async def test_a_checker_that_is_killed_between_checks_is_started_again(checks: CheckerHarness) -> None:
    assert await checks.errors("return await tools.ledger.entries.addEntry({key: 1})")
    os.kill(checks.checker.typescript.pid, signal.SIGKILL)
    assert await checks.errors("return await tools.ledger.entries.addEntry({key: 2})")


@both
async def test_a_checker_that_is_killed_during_a_check_is_started_again(subject: Subject) -> None:
    checker = subject.make()
    try:
        await checker.check(subject.wrong, subject.tools)
        os.kill(checker.pid, signal.SIGSTOP)
        await until(lambda: psutil.Process(checker.pid).status() == psutil.STATUS_STOPPED)
        checking = asyncio.create_task(checker.check(subject.wrong + " ", subject.tools))
        await asyncio.sleep(0)
        os.kill(checker.pid, signal.SIGKILL)
        assert [finding.code for finding in await checking] == [subject.code]
    finally:
        await checker.close()


@both
async def test_a_checker_that_hangs_is_ended_and_the_next_check_works(
    subject: Subject, monkeypatch: pytest.MonkeyPatch
) -> None:
    checker = subject.make()
    try:
        await checker.check(subject.wrong, subject.tools)
        stopped = checker.pid
        os.kill(stopped, signal.SIGSTOP)
        await until(lambda: psutil.Process(stopped).status() == psutil.STATUS_STOPPED)
        monkeypatch.setattr(server_checker, "seconds", lambda size: 0.3)
        with pytest.raises(Unavailable, match="not answer within"):
            await checker.check(subject.wrong + " ", subject.tools)
        monkeypatch.undo()
        await until(lambda: not psutil.pid_exists(stopped))
        assert await checker.check(subject.wrong, subject.tools)
    finally:
        await checker.close()


@both
async def test_a_checker_no_one_needs_is_ended_and_comes_back_when_needed(subject: Subject) -> None:
    checker = subject.make(idle_seconds=0.01)
    try:
        await checker.check(subject.wrong, subject.tools)
        await until(lambda: checker.pid == 0)
        assert await checker.check(subject.wrong, subject.tools)
    finally:
        await checker.close()


@both
async def test_closing_ends_the_process(subject: Subject) -> None:
    checker = subject.make()
    await checker.check(subject.wrong, subject.tools)
    pid = checker.pid
    await checker.close()
    await until(lambda: not psutil.pid_exists(pid))


@both
async def test_types_that_explode_end_in_time_and_harm_no_one(
    subject: Subject, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bomb takes seconds of CPU time, so a fifth of a second is never enough."""
    checker = subject.make()
    try:
        await checker.check(subject.wrong, subject.tools)
        exploding = checker.pid
        monkeypatch.setattr(server_checker, "seconds", lambda size: 0.2)
        with pytest.raises(Unavailable, match="not answer within"):
            await checker.check(subject.bomb, subject.tools)
        monkeypatch.undo()
        await until(lambda: not psutil.pid_exists(exploding))
        assert [finding.code for finding in await checker.check(subject.wrong, subject.tools)] == [subject.code]
    finally:
        await checker.close()


@both
async def test_many_checks_at_once_are_served_in_turn(subject: Subject) -> None:
    checker = subject.make()
    try:
        found = await asyncio.gather(
            *(checker.check(subject.wrong + " " * number, subject.tools) for number in range(20))
        )
        assert all([finding.code for finding in one] == [subject.code] for one in found)
    finally:
        await checker.close()


@both
async def test_a_caller_that_goes_away_leaves_a_working_checker(subject: Subject) -> None:
    checker = subject.make()
    try:
        await checker.check(subject.wrong, subject.tools)
        leaving = asyncio.create_task(checker.check(subject.wrong + " ", subject.tools))
        await asyncio.sleep(0)
        leaving.cancel()
        await asyncio.gather(leaving, return_exceptions=True)
        assert await checker.check(subject.wrong, subject.tools)
    finally:
        await checker.close()


async def test_the_typescript_checker_reads_no_files_of_this_machine() -> None:
    checker = TypeScriptChecker()
    code = '/// <reference path="/etc/hosts" />\nimport type { x } from "/etc/passwd"; let y: import("/etc/fstab").Z;'
    try:
        await checker.check(code, TYPESCRIPT.tools)
        names = {file.path for file in psutil.Process(checker.pid).open_files()}
        assert not any(name.startswith("/etc") for name in names)
        assert psutil.Process(checker.pid).environ().keys() <= typescript.ENVIRONMENT.keys()
    finally:
        await checker.close()


async def test_the_python_checker_knows_no_modules_of_this_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A module that it could read would be said to have no such member."""
    (tmp_path / "private.py").write_text("secret = 1\n", encoding="utf-8")
    (tmp_path / "ty").mkdir()
    (tmp_path / "ty" / "ty.toml").write_text('[rules]\nunresolved-reference = "ignore"\n', encoding="utf-8")
    for name in ("PYTHONPATH", "XDG_CONFIG_HOME", "HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.setenv("VIRTUAL_ENV", sys.prefix)
    monkeypatch.chdir(tmp_path)
    checker = PythonChecker()
    try:
        found = await checker.check("import private, orjson\nprivate.nothing\norjson.nothing\nnowhere", PYTHON.tools)
        assert [(one.code, one.start) for one in found] == [("unresolved-reference", 54)]
        assert psutil.Process(checker.pid).environ().keys() <= python.ENVIRONMENT.keys()
    finally:
        await checker.close()


@pytest.mark.parametrize(
    "code",
    [
        "(" * 50_000 + "tools",
        "[" * 20_000 + "]" * 20_000 + "tools",
        "lambda: " * 20_000 + "tools",
        "tools\x00\x7f\u2028",
    ],
    ids=["parentheses", "lists", "lambdas", "characters"],
)
async def test_python_that_overwhelms_the_checker_leaves_a_working_one(code: str) -> None:
    checker = PythonChecker()
    try:
        with suppress(Unavailable):
            await checker.check(code, PYTHON.tools)
        assert [finding.code for finding in await checker.check(PYTHON.wrong, PYTHON.tools)] == [PYTHON.code]
    finally:
        await checker.close()


async def test_ten_thousand_lines_are_checked(checks: CheckerHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_checker, "seconds", lambda size: 280.0)
    lines = [f"const value{number} = {{n: {number}, s: 'x'}};" for number in range(10_000)]
    code = "\n".join([*lines, "return await tools.ledger.entries.addEntry({key: 5})"])
    verdict = await checks.verdict(code)
    assert not verdict.unavailable
    assert [one.line for one in verdict.diagnostics] == [10_001]


@pytest.mark.parametrize("language", ["typescript", "python"])
async def test_a_megabyte_of_code_gets_a_verdict(checks: CheckerHarness, language: str) -> None:
    code = "x = tools.ledger.entries\n" + f"y = {'x' * 100!r}\n" * 10_000
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
    monkeypatch.setattr(typescript, "find_program", lambda: None)
    code = "return await tools.ledger.entries.addEntry({key: 3})"
    assert "no TypeScript checker" in (await checks.verdict(code)).unavailable
    known = checks.checker.find_known(checks.workspace_id, "typescript", code)
    assert known is not None and known.unavailable


async def test_an_installation_without_ty_says_that_python_is_not_checked(
    checks: CheckerHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ty", None)
    code = "await tools.ledger.entries.addEntry(key=3)"
    assert "no Python checker" in (await checks.verdict(code, "python")).unavailable


def test_the_doctor_names_the_checkers_and_the_package_that_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert [(one.language, one.present) for one in checkers.look()] == [("typescript", True), ("python", True)]
    monkeypatch.setitem(sys.modules, "ty", None)
    assert "the package ty" in checkers.look()[1].detail
