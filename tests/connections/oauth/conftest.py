from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.login_harness import LoginHarness, open_harness


@pytest.fixture
async def harness(tmp_path: Path) -> AsyncIterator[LoginHarness]:
    async with open_harness(tmp_path) as harness:
        yield harness
