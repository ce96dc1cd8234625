"""Rules as people write and read them: actors and sources by name or id, what a rule would match, who may make it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy.engine import Connection

from executor.errors import Forbidden, InvalidRequest, NotFound
from executor.execution.builtins import tools
from executor.execution.policies.always import NEEDED
from executor.model.policy import Level, Policy
from executor.model.tool import Tool
from executor.policy.drafts import counts, draft, text
from executor.policy.pattern import matches
from executor.storage.catalog import policies, policy_scope
from executor.surfaces import views
from executor.surfaces.api.context import Context
from executor.surfaces.api.schemas.requests import Rule

SHOWN = 20
IDS = {"actor": "act_", "source": "src_"}


@dataclass(frozen=True, slots=True)
class Names:
    actors: dict[str, str]
    sources: dict[str, str]


async def names(here: Context) -> Names:
    actors = await here.executor.database.read(lambda c: policy_scope.actor_names(c, here.workspace_id))
    sources = await here.executor.catalog.sources(here.workspace_id)
    return Names(actors, {source.id: source.namespace for source in sources})


async def read_rule(here: Context, body: Rule) -> Policy:
    known = await names(here)
    owner = here.workspace_id
    if body.level == "organization":
        owner = await here.executor.database.read(lambda c: policies.organization_of(c, here.workspace_id))
    return draft(
        body.pattern,
        body.action,
        [one.model_dump() for one in body.conditions],
        level=body.level,
        owner_id=owner,
        actor_id=identify("actor", body.actor, known.actors),
        source_id=identify("source", body.source, known.sources),
        effect=body.effect or "",
        note=body.note,
    )


def identify(what: str, given: str, known: dict[str, str]) -> str:
    """The id of what is given by its id or its name. What looks like an id may be of something that is gone."""
    if not given or given in known or given == tools.SOURCE or given.startswith(IDS[what]):
        return given
    found = [one for one, name in known.items() if name == given]
    if len(found) == 1:
        return found[0]
    if found:
        raise InvalidRequest(f"there are {len(found)} {what}s named {given!r}", hint=(f"use one of {', '.join(found)}"))
    raise InvalidRequest(f"there is no {what} {given!r}", hint=(f"available: {', '.join(sorted(known.values()))}"))


def check_may(here: Context, level: Level) -> None:
    needed = NEEDED[level]
    if not here.actor.may(needed):
        raise Forbidden(f"policies of the {level} need the permission `{needed}`", hint="ask an administrator")


async def find_policy(here: Context, policy_id: str) -> Policy:
    return await here.executor.database.read(lambda c: still(c, here, policy_id))


def still(c: Connection, here: Context, policy_id: str) -> Policy:
    """As it is in this transaction: somebody else may have moved or removed it since it was looked at."""
    policy = policies.get(c, here.workspace_id, policy_id)
    if policy is None:
        raise NotFound(f"there is no policy {policy_id!r}", hint="see `executor policies list`")
    return policy


async def existing(here: Context, path: str) -> Tool:
    tool = await here.executor.pipeline.admissions.find(here.workspace_id, path)
    if tool is None:
        near = await here.executor.catalog.nearest(here.workspace_id, path)
        hint = f"did you mean {', '.join(near)}?" if near else "see `executor tools list`"
        raise NotFound(f"there is no tool {path!r}", hint=hint, nearest=near)
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
    """Which of the tools there are now a rule is about, whatever their arguments will be."""
    namespace = rule.pattern.split(".")[0]
    literal = "" if "*" in namespace else namespace

    def job(c: Connection) -> list[str]:
        heads = [*((tool.path, tool.effect, tool.source_id) for tool in tools.BUILTINS.values())]
        heads += policy_scope.tool_heads(c, here.workspace_id, literal)
        return [path for path, effect, source_id in heads if about(rule, path, effect, source_id)]

    paths = await here.executor.database.read(job)
    return {"count": len(paths), "tools": paths[:SHOWN]}


async def count_tools(here: Context, rules: Sequence[Policy]) -> dict[str, int]:
    """How many of the tools there are now each rule is about; one about reads, never more than it was made for."""

    def job(c: Connection) -> dict[str, int]:
        own = [(tool.path, tool.effect, tool.source_id) for tool in tools.BUILTINS.values()]
        found = counts(rules, [*own, *policy_scope.tool_heads(c, here.workspace_id)])
        made_for = {one.id: len(one.made_for.digests) for one in rules if one.made_for and one.is_about_reads}
        return {one: min(count, made_for.get(one, count)) for one, count in found.items()}

    return await here.executor.database.read(job)


def about(rule: Policy, path: str, effect: str, source_id: str) -> bool:
    if rule.effect not in ("", effect) or rule.source_id not in ("", source_id):
        return False
    if rule.retired_at is not None or source_id in rule.excluded:
        return False
    return matches(rule.pattern, path)


def decision_view(decision: Any, rules: Sequence[Policy], known: Names) -> dict[str, Any]:
    """`policy` is the whole rule that decided; a draft has no id."""
    deciding = next((rule for rule in rules if rule.id == decision.policy_id), None) if decision.policy_id else None
    return {
        "action": decision.action,
        "policyId": decision.policy_id or None,
        "reason": decision.reason,
        "policy": view(deciding, known) if deciding else None,
    }
