"""What the interpreter lacks is said with a hint, and what the hint advises runs."""

from __future__ import annotations

import re

import pytest

from executor.runtime.python.hints import HINTS, Hint, advice
from executor.runtime.python.runtime import PythonRuntime
from tests.runtime.program_driver import failure_of, first_step

pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest.mark.parametrize("hint", HINTS, ids=lambda hint: hint.pattern[:40])
async def test_what_is_lacking_gets_the_hint_meant_for_it(runtime: PythonRuntime, hint: Hint) -> None:
    failure = await failure_of(runtime, hint.lacking)
    assert failure.hint == hint.advice, failure
    assert failure.details.get("line", 1) >= 1


@pytest.mark.parametrize("hint", HINTS, ids=lambda hint: hint.pattern[:40])
async def test_the_form_that_is_advised_runs(runtime: PythonRuntime, hint: Hint) -> None:
    step = await first_step(runtime, f"{hint.instead}\nNone")
    assert step.failure is None, step.failure


async def test_the_modules_that_the_hint_names_are_there(runtime: PythonRuntime) -> None:
    named = advice("ModuleNotFoundError: No module named 'numpy'").removeprefix("there are ").split(";")[0]
    for module in re.findall(r"\w+", named):
        step = await first_step(runtime, f"import {module}\nNone")
        assert step.failure is None, (module, step.failure)


async def test_an_error_of_which_nothing_is_known_has_no_hint() -> None:
    assert advice("ValueError: anything") == ""
