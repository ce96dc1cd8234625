"""What holds for the `typescript` runtime holds over HTTP too: its tests, run against a sandbox host."""

from __future__ import annotations

from types import ModuleType

import pytest

from tests.runtime import test_calls, test_console, test_programs

pytestmark = pytest.mark.asyncio(loop_scope="session")
SHARED: tuple[ModuleType, ...] = (test_calls, test_console, test_programs)

for module in SHARED:
    globals().update({name: value for name, value in vars(module).items() if name.startswith("test_")})
