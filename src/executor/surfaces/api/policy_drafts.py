"""Rules as people write and read them: with actors and sources by their names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from executor.errors import NotFound
from executor.execution.names import Names, identify, read_names
from executor.execution.policies import reach
from executor.execution.policies.administration import find_owner
from executor.model.policy import Policy
from executor.model.tool import Tool
from executor.policy.drafts import draft, text
from executor.surfaces import views
from executor.surfaces.api.context import Context
from executor.surfaces.api.schemas.requests import Rule

SHOWN = 20


async def names(here: Context) -> Names:
    return await read_names(here.executor.database, here.workspace_id)


async def read_rule(here: Context, body: Rule) -> Policy:
    known = await names(here)
    return draft(
        body.pattern,
        body.action,
        [one.model_dump() for one in body.conditions],
        level=body.level,
        owner_id=await find_owner(here.executor.database, here.actor, body.level),
        actor_id=identify("actor", body.actor, known.actors),
        source_id=identify("source", body.source, known.sources),
        effect=body.effect or "",
        note=body.note,
    )


async def existing(here: Context, path: str) -> Tool:
    tool = await here.executor.pipeline.admissions.find(here.workspace_id, path)
    if tool is None:
        near = await here.executor.catalog.nearest(here.workspace_id, path)
        hint = f"did you mean {', '.join(near)}?" if near else "`executor tools list` shows what there is"
        raise NotFound(f"no tool {path!r} here", hint=hint, nearest=near)
    return tool


def view(policy: Policy, known: Names) -> dict[str, Any]:
    actor, source = known.actors.get(policy.actor_id, ""), known.sources.get(policy.source_id, "")
    return {
        **views.policy_view(policy),
        "actor": actor or policy.actor_id or None,
        "source": source or policy.source_id or None,
        "excludedNames": [known.sources.get(one, one) for one in policy.excluded],
        "text": text(policy, actor=actor, source=source),
    }


async def match_tools(here: Context, rule: Policy) -> dict[str, Any]:
    paths = await reach.match_tools(here.executor.database, here.actor, rule)
    return {"count": len(paths), "tools": paths[:SHOWN]}


def decision_view(decision: Any, rules: Sequence[Policy], known: Names) -> dict[str, Any]:
    """`policy` is the whole rule that decided; a draft has no id."""
    deciding = next((rule for rule in rules if rule.id == decision.policy_id), None) if decision.policy_id else None
    return {
        "action": decision.action,
        "policyId": decision.policy_id or None,
        "reason": decision.reason,
        "policy": view(deciding, known) if deciding else None,
    }
