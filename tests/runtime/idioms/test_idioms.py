"""Every idiom runs and gives what the language gives, or is refused with a hint. Figures: docs/runtimes.md."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from executor.runtime.protocol import Step
from executor.runtime.python import image
from executor.runtime.python.runtime import PythonRuntime
from executor.runtime.typescript.runtime import TypeScriptRuntime
from tests.runtime.idioms import python, python_programs, typescript, typescript_programs
from tests.runtime.idioms.tools import new_tools
from tests.runtime.idioms.typescript import HINT
from tests.runtime.program_driver import drive

pytestmark = pytest.mark.asyncio(loop_scope="session")
LEAST = 300
DOCUMENT = Path(__file__).parents[3] / "docs" / "runtimes.md"


TYPESCRIPT = typescript.IDIOMS | typescript_programs.PROGRAMS
PYTHON = python.IDIOMS | python_programs.PROGRAMS


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def interpreter() -> AsyncIterator[PythonRuntime]:
    started = PythonRuntime(workers=1, slots=2, cache_dir=image.BESIDE)
    await started.start()
    yield started
    await started.close()


def check(step: Step, expected: object) -> None:
    if expected is HINT:
        assert step.failure is not None, step.value
        assert step.failure.hint, step.failure
    else:
        assert step.failure is None, step.failure
        assert json.loads(step.value or "null") == expected


@pytest.mark.parametrize(("code", "expected"), TYPESCRIPT.items(), ids=list(TYPESCRIPT))
async def test_an_idiom_of_typescript_runs_or_is_refused_with_a_hint(
    runtime: TypeScriptRuntime, code: str, expected: object
) -> None:
    check((await drive(runtime, code, new_tools()))[-1], expected)


@pytest.mark.parametrize(("code", "expected"), PYTHON.items(), ids=list(PYTHON))
async def test_an_idiom_of_python_runs_or_is_refused_with_a_hint(
    interpreter: PythonRuntime, code: str, expected: object
) -> None:
    check((await drive(interpreter, code, new_tools()))[-1], expected)


@pytest.mark.parametrize(
    ("language", "idioms"),
    [("TypeScript", TYPESCRIPT), ("Python", PYTHON)],
    ids=["typescript", "python"],
)
async def test_there_are_enough_idioms_and_the_figures_are_documented(language: str, idioms: dict[str, object]) -> None:
    refused = sum(expected is HINT for expected in idioms.values())
    assert len(idioms) >= LEAST
    row = f"| {language} | {len(idioms)} | {len(idioms) - refused} | {refused} |"
    assert row in DOCUMENT.read_text(encoding="utf-8")
