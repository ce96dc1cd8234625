"""The order of the suite: processes are given one file after the other, and a long one at the end would run alone."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings

from executor.checking import queue as turns
from executor.sources import detection

# How long an example takes says only how busy the machine is. Code is run unchecked when its check takes too long, and
# tests look at what the check found. The address of a source is given more time for the same reason.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")
turns._LEAST_SECONDS, turns._MOST_SECONDS, turns.QUEUE_SECONDS = 20.0, 30.0, 120.0
for look in (detection.resolve, detection.probe):
    look.__kwdefaults__["seconds"] = 120.0

LONGEST = (
    "tests/surfaces/web/test_views.py",
    "tests/attacks/test_canary.py",
    "tests/surfaces/web/",
    "tests/execution/test_runtime_parity.py",
    "tests/sources/mcp/test_transports.py",
    "tests/surfaces/cli/",
    "tests/sessions/",
    "tests/attacks/",
    "tests/chaos/",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=rank)


def rank(item: pytest.Item) -> int:
    return next((at for at, begin in enumerate(LONGEST) if item.nodeid.startswith(begin)), len(LONGEST))
