"""A resumed execution sees of chance, time, order and addresses what it saw before."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from tests.execution.conftest import ExecutorHarness, value
from tests.runtime.python.test_determinism import LOOK


async def test_a_resumed_execution_sees_what_it_saw_before(
    reopen: Callable[[], Awaitable[ExecutorHarness]],
) -> None:
    harness = await reopen()
    code = f"{LOOK}\nimport json\nseen = json.dumps(await look())\nprint(seen)\n"
    code += "await tools.ledger.transfers.transfer(key=seen[:50])\n[seen, len(await look())]"
    outcome = await harness.run(code, language="python", runtime="python", limits=harness.executor.limits)
    assert outcome.execution.status == "paused"
    before = outcome.logs[0].text
    harness = await reopen()
    await harness.settle(outcome, "approve")
    finished = await harness.wait(outcome.execution.id)
    assert value(finished) == [before, 6]
    assert (await harness.executor.engine.replay(harness.executor.tenancy.operator, outcome.execution.id)).matches
