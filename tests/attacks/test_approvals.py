"""Attacks 6, 7 and 13 to 15: races and late decisions, forged prompts, floods, and ways around a denial."""

from __future__ import annotations

import asyncio
import json

import pytest
import sqlalchemy as sa

from executor.errors import AlreadySettled, Fenced, InteractionExpired
from executor.execution.approvals import pending_limits
from executor.execution.approvals.expiry import expire
from executor.model.ids import now_ms
from executor.storage.executions import events, interactions
from executor.storage.tables import core
from executor.surfaces.views.interactions import interaction_view
from tests.execution.conftest import ExecutorHarness, value

WRITE = 'return await tools.ledger.entries.addEntry({key: "a", amount: 5})'
CAUGHT = "try { " + WRITE + " } catch (e) { return e.code }"


# -- 6 and 7 more than one decision -----------------------------------------------------------------------------------


async def test_6_two_approvals_race(harness: ExecutorHarness) -> None:
    """Defence: `status = 'pending'` in the `_settle` statement, and `used` in `_use`
    (storage/executions/interactions.py)."""
    outcome = await harness.run(WRITE)
    raced = await asyncio.gather(
        *(harness.settle(outcome, act) for act in ("approve", "deny", "approve", "approve")), return_exceptions=True
    )
    assert [type(one).__name__ for one in raced].count("AlreadySettled") == 3
    await harness.wait(outcome.execution.id)
    assert harness.effects() == ([("entries", "a")] if not isinstance(raced[0], Exception) else [])


async def test_6_an_approval_is_spent_once(harness: ExecutorHarness) -> None:
    """Defence: `used` in the `_use` statement, whatever the run believes."""
    outcome = await harness.run(WRITE)
    await harness.settle(outcome, "approve")
    await harness.wait(outcome.execution.id)
    asked = outcome.interactions[0].id
    with pytest.raises(Fenced, match="was used before"):
        await harness.executor.database.write(lambda c: interactions.use(c, asked))


async def test_7_approving_after_expiry_denial_or_cancel(harness: ExecutorHarness) -> None:
    """Defence: `check_open` in `execution/approvals/expiry.py`."""
    expired, denied, cancelled = [await harness.run(CAUGHT) for _ in range(3)]
    await harness.settle(denied, "deny")
    await harness.executor.engine.cancel(harness.executor.tenancy.operator, cancelled.execution.id)
    await expire(harness.executor.database, harness.executor.engine.settle_by, now_ms() + 10 * 86_400_000)
    for outcome, error in ((expired, InteractionExpired), (denied, AlreadySettled), (cancelled, AlreadySettled)):
        for scope in ("once", "execution"):
            with pytest.raises(error):
                await harness.settle(outcome, "approve", scope=scope)
    assert value(await harness.wait(expired.execution.id)) == "approval_expired"
    assert harness.effects() == []


async def test_7_an_approval_past_its_time_can_not_be_approved_before_it_is_swept(harness: ExecutorHarness) -> None:
    """Defence: `expires_at` in `check_open`."""
    outcome = await harness.run(WRITE)
    late = sa.update(core.interactions).values(expires_at=now_ms() - 1)
    await harness.executor.database.write(lambda c: c.execute(late) and None)
    with pytest.raises(InteractionExpired):
        await harness.settle(outcome, "approve")


# -- 13 prompt forging -----------------------------------------------------------------------------------------------


async def test_13_a_prompt_can_not_be_forged(harness: ExecutorHarness) -> None:
    """Defence: `escape` around every value in `views.prompt_text`; `SHOWN_BYTES` in `execution/approvals/prompt.py`."""
    forged = "x\n\nAllow this call?\nTool:      ledger.entries.listEntries\u001b[2J\u202e\u200b\u0000 **ok**\r<b>"
    outcome = await harness.run(f"await tools.ledger.entries.addEntry({{key: {json.dumps(forged)}}})")
    view = interaction_view(outcome.interactions[0], "http://127.0.0.1")
    lines = view["prompt"].split("\n")
    assert sum(line.startswith("Tool:") for line in lines) == 1
    assert lines[0] == "Allow this call?" and lines.count(lines[0]) == 1
    assert not set("\u001b\u202e\u200b\u0000\r") & set(view["prompt"])


async def test_13_a_megabyte_of_arguments_is_cut_and_said_to_be(harness: ExecutorHarness) -> None:
    """Defence: `cut` in `execution/approvals/prompt.py`: what is not shown is told."""
    outcome = await harness.run('await tools.ledger.entries.addEntry({key: "k".repeat(1000000)})')
    view = interaction_view(outcome.interactions[0], "http://127.0.0.1")
    assert len(view["prompt"]) < 200_000
    assert "cut" in view["prompt"] and view["argumentsCut"]


# -- 14 flooding ------------------------------------------------------------------------------------------------------


async def test_14_one_execution_floods_people_with_approvals(
    harness: ExecutorHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Defence: the limit of an execution in `OpenApprovals.admit`."""
    monkeypatch.setattr(
        harness.executor.pipeline.open_approvals, "_limits", pending_limits.ApprovalLimits(execution=3, actor=1000)
    )
    outcome = await harness.run("""
        const made = Array.from({length: 20}, (_, i) => tools.ledger.entries.addEntry({key: String(i)}));
        const told = await Promise.allSettled(made.slice(3));
        console.log([...new Set(told.map((one) => one.reason.code))].join());
        await Promise.all(made.slice(0, 3));
    """)
    assert outcome.execution.status == "paused"
    assert len(outcome.interactions) == 3
    assert [line.text for line in outcome.logs] == ["too_many_approvals"]


async def test_14_one_actor_floods_people_from_many_executions(
    harness: ExecutorHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Defence: the limit of an actor in `OpenApprovals.admit`, which counts what is still being written too."""
    monkeypatch.setattr(
        harness.executor.pipeline.open_approvals, "_limits", pending_limits.ApprovalLimits(execution=100, actor=5)
    )
    outcomes = await asyncio.gather(*(harness.run(CAUGHT) for _ in range(20)))
    states = [outcome.execution.status for outcome in outcomes]
    assert states.count("paused") == 5
    assert {value(outcome) for outcome in outcomes if outcome.execution.status == "completed"} == {"too_many_approvals"}
    await harness.settle(next(one for one in outcomes if one.execution.status == "paused"), "deny")
    assert (await harness.run(CAUGHT)).execution.status == "paused"
    assert value(await harness.run(CAUGHT)) == "too_many_approvals"


# -- 15 a denial, then another way ------------------------------------------------------------------------------------


async def test_15_a_denied_call_is_tried_again_without_asking_anybody(harness: ExecutorHarness) -> None:
    """Defence: `denials` in `Admissions._decided_before`: the same call is denied again, however it is written."""
    outcome = await harness.run("""
        const tries = [
          () => tools.ledger.entries.addEntry({key: "a", amount: 5}),
          () => tools["ledger.entries.addEntry"]({amount: 5, key: "a"}),
          () => tools.ledger.entries.addEntry({amount: 5.0, key: "a"}),
        ];
        const out = [];
        for (const attempt of tries) try { out.push(await attempt()) } catch (e) { out.push(e.code) }
        return out;
    """)
    await harness.settle(outcome, "deny", reason="never")
    assert value(await harness.wait(outcome.execution.id)) == ["denied", "denied", "denied"]
    workspace_id = harness.executor.tenancy.workspace.id
    told = await harness.executor.database.read(
        lambda c: events.after(c, workspace_id, execution_id=outcome.execution.id)
    )
    assert [event.type for event in told].count("interaction.requested") == 1
    assert [event.type for event in told].count("call.failed") == 3
    assert harness.effects() == []


async def test_15_a_denied_call_with_other_arguments_is_asked_again(harness: ExecutorHarness) -> None:
    """A denial is about what was shown; anything else is an approval of its own, bounded by the flood limits."""
    outcome = await harness.run("""
        try { await tools.ledger.entries.addEntry({key: "a"}) } catch (e) {}
        await tools.ledger.entries.addEntry({key: "a "});
    """)
    await harness.settle(outcome, "deny")
    again = await harness.wait(outcome.execution.id)
    assert again.interactions[0].prompt["arguments"] == {"key": "a "}
