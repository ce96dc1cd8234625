"""What policies reach: the tools there are now, and the calls that were made."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from sqlalchemy.engine import Connection

from executor.dataclass import dataclass
from executor.execution.builtins import tools
from executor.model.execution import PastCall
from executor.model.identity.actor import Actor
from executor.model.policy import Policy
from executor.policy.decide import Subject
from executor.policy.drafts import Change, changes, counts
from executor.policy.pattern import matches
from executor.storage.catalog import policy_scope
from executor.storage.database import Database

SIMULATION_SECONDS = 10.0
BUILTINS = [(tool.path, tool.effect, tool.source_id) for tool in tools.BUILTINS.values()]


async def match_tools(database: Database, by: Actor, policy: Policy) -> list[str]:
    """The paths of the tools that a policy is about, whatever their arguments will be."""
    namespace = policy.pattern.split(".")[0]
    literal = "" if "*" in namespace else namespace

    def job(c: Connection) -> list[str]:
        heads = [*BUILTINS, *policy_scope.tool_heads(c, by.workspace_id, literal)]
        return [path for path, effect, source_id in heads if is_about(policy, path, effect, source_id)]

    return await database.read(job)


def is_about(policy: Policy, path: str, effect: str, source_id: str) -> bool:
    if policy.effect not in ("", effect) or policy.source_id not in ("", source_id):
        return False
    if policy.retired_at is not None or source_id in policy.excluded:
        return False
    return matches(policy.pattern, path)


async def count_tools(database: Database, by: Actor, policies: Sequence[Policy]) -> dict[str, int]:
    """How many tools each policy covers, by id; one about reads covers only the tools that it was created for."""

    def job(c: Connection) -> dict[str, int]:
        found = counts(policies, [*BUILTINS, *policy_scope.tool_heads(c, by.workspace_id)])
        made_for = {one.id: len(one.made_for.digests) for one in policies if one.made_for and one.is_about_reads}
        return {one: min(count, made_for.get(one, count)) for one, count in found.items()}

    return await database.read(job)


@dataclass(frozen=True, slots=True)
class Simulation:
    """`changed` are the past calls that the other policies decide differently. `next` continues with older ones."""

    changed: list[tuple[PastCall, Change]]
    judged: int
    executions: int
    next: tuple[str, int] | None


async def simulate(
    database: Database,
    by: Actor,
    now: Sequence[Policy],
    then: Sequence[Policy],
    *,
    limit: int,
    before: tuple[str, int] | None,
) -> Simulation:
    """Decide the newest past calls again by `then`, and compare with `now`."""
    past = await database.search(
        lambda c: policy_scope.past_calls(c, by.workspace_id, limit=limit, before=before), SIMULATION_SECONDS
    )
    judgements = await asyncio.to_thread(changes, map(subject_of, past), now, then)
    changed = [(call, one) for call, one in zip(past, judgements, strict=True) if one.differs]
    return Simulation(changed, len(past), past.executions, past.next)


def subject_of(call: PastCall) -> Subject:
    return Subject(call.path, call.effect, call.source_id, call.actor_id, call.arguments)
