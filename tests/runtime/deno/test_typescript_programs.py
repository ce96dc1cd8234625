"""What holds for the `typescript` runtime holds here too: its tests, run against Deno."""

from __future__ import annotations

from types import ModuleType

import pytest

from tests.runtime import test_calls, test_console, test_hostile, test_locale, test_programs, test_values, test_web_api

pytestmark = pytest.mark.asyncio(loop_scope="session")
SHARED: tuple[ModuleType, ...] = (
    test_calls,
    test_console,
    test_hostile,
    test_locale,
    test_programs,
    test_values,
    test_web_api,
)
LEFT_OUT = {
    "test_a_syntax_error_tells_the_line_and_column_as_submitted": "V8 points at another word; see test_places",
    "test_columns_of_the_first_line_are_those_of_the_user": "V8 points at `new`; see test_places",
    "test_logs_before_an_endless_loop_are_seen": "what a step logs is lost when its process is ended",
    "test_cpu_time_adds_up_over_the_steps": "its loop takes V8 no time; see test_sandbox",
    "test_an_answer_too_large_for_the_memory_ends_that_execution": "there is room for it here; see test_sandbox",
    "test_code_too_deep_is_an_error_and_no_crash": "asks for the same worker; see test_sandbox",
    "test_a_result_nested_without_measure_is_refused": "asks for the same worker; see test_sandbox",
    "test_what_the_host_cannot_read_ends_its_program_and_not_the_worker": "no worker is shared; see test_sandbox",
}

for module in SHARED:
    globals().update({name: value for name, value in vars(module).items() if name.startswith("test_")})
for name in LEFT_OUT:
    del globals()[name]
