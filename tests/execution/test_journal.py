"""What a run writes while it goes on."""

from __future__ import annotations

import asyncio
import gc
from dataclasses import replace
from typing import Any

import pytest

from executor.errors import Fenced
from executor.execution.journal.journal import Journal
from tests.execution.conftest import ExecutorHarness


async def test_a_write_of_a_run_that_lost_its_execution_is_refused_and_leaves_no_complaint_behind(
    harness: ExecutorHarness,
) -> None:
    """Whoever waits for it is told; when nobody does any more, the event loop has nothing to complain about."""
    complaints: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context))
    execution = (await harness.run("return 1")).execution
    journal = Journal(harness.executor.database, replace(execution, epoch=execution.epoch + 1))
    journal.note("execution.checked", {})
    with pytest.raises(Fenced):
        await journal.durable()
    journal.note("execution.checked", {})
    left = journal.flush()
    assert left is not None
    await asyncio.wait([left])
    del journal, left
    await harness.run("return 2")  # the writer lets go of the last job only with the next one
    gc.collect()
    assert complaints == []
