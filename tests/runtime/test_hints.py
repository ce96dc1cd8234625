"""An error of the engine comes with what to write instead."""

from __future__ import annotations

import pytest

from executor.runtime.javascript.hints import HINTS, Hint
from executor.runtime.typescript.runtime import TypeScriptRuntime
from tests.runtime.program_driver import failure_of

pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest.mark.parametrize("hint", HINTS, ids=lambda hint: hint.pattern[:40])
async def test_what_is_lacking_gets_the_hint_meant_for_it(runtime: TypeScriptRuntime, hint: Hint) -> None:
    failure = await failure_of(runtime, f"return {hint.lacking}")
    assert (failure.code, failure.hint) == ("code_error", hint.advice), failure


async def test_an_error_of_the_code_itself_has_no_hint(runtime: TypeScriptRuntime) -> None:
    assert (await failure_of(runtime, "throw new Error('x is not defined')")).hint == ""
