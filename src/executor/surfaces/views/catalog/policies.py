"""Policies, and what they decide."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NotRequired, cast

from typing_extensions import TypedDict

from executor.execution.names import Names
from executor.model.execution import PastCall
from executor.model.policy import Action, Basis, Decision, Level, Policy, Test
from executor.model.tool import Effect
from executor.policy.drafts import Change, text
from executor.surfaces.views.base import time


class ConditionView(TypedDict):
    path: str
    test: Test
    value: Any


class MadeForView(TypedDict):
    """Where the tools that it was created for sent their calls, and how many they are.

    `basis` says whether it is from `always`, treats tools as `read`s, or trusts a server's `hints`.
    """

    host: str
    tools: int
    basis: Basis


class PolicyView(TypedDict):
    id: str | None
    level: Level
    position: int
    pattern: str
    action: Action
    conditions: list[ConditionView]
    actor: str | None
    actorId: str | None
    source: str | None
    sourceId: str | None
    effect: Effect | None
    note: str
    text: str
    createdBy: str | None
    createdAt: str | None
    madeFor: MadeForView | None
    excluded: list[str]
    excludedNames: list[str]
    retiredAt: str | None
    matches: NotRequired[int | None]
    shadowedBy: NotRequired[str | None]


def policy_view(policy: Policy, known: Names) -> PolicyView:
    actor, source = known.actors.get(policy.actor_id, ""), known.sources.get(policy.source_id, "")
    made_for = policy.made_for
    return {
        "id": policy.id or None,
        "level": policy.level,
        "position": policy.position,
        "pattern": policy.pattern,
        "action": policy.action,
        "conditions": [{"path": one.path, "test": one.test, "value": one.value} for one in policy.conditions],
        "actorId": policy.actor_id or None,
        "sourceId": policy.source_id or None,
        "effect": cast("Effect | None", policy.effect or None),
        "note": policy.note,
        "createdBy": policy.created_by or None,
        "createdAt": time(policy.created_at or None),
        "madeFor": (
            {"host": made_for.host, "tools": len(made_for.digests), "basis": made_for.basis} if made_for else None
        ),
        "excluded": list(policy.excluded),
        "retiredAt": time(policy.retired_at),
        "actor": actor or policy.actor_id or None,
        "source": source or policy.source_id or None,
        "excludedNames": [known.sources.get(one, one) for one in policy.excluded],
        "text": text(policy, actor=actor, source=source),
    }


class PolicyPage(TypedDict):
    items: list[PolicyView]


class JudgementView(TypedDict):
    action: Action
    policyId: str | None
    reason: str
    policy: PolicyView | None


def judgement_view(decision: Decision, policies: Sequence[Policy], known: Names) -> JudgementView:
    """`policy` is the whole policy that decided; a draft has no id."""
    deciding = next((one for one in policies if one.id == decision.policy_id), None) if decision.policy_id else None
    return {
        "action": decision.action,
        "policyId": decision.policy_id or None,
        "reason": decision.reason,
        "policy": policy_view(deciding, known) if deciding else None,
    }


class PolicyStatusView(TypedDict):
    policy: PolicyView
    verdict: Literal["decides", "outdone", "later", "no"]
    why: str
    possible: bool


class OtherwiseView(TypedDict):
    action: Action
    reason: str


class DecisionView(JudgementView):
    """`otherwise` is what happens where no policy decides: by the source's approval default, or by the effect."""

    effect: Effect
    otherwise: OtherwiseView
    rules: list[PolicyStatusView]


class MatchesView(TypedDict):
    count: int
    tools: list[str]


class ChangeView(TypedDict):
    executionId: str
    seq: int
    path: str
    actor: str
    state: str
    at: str
    before: JudgementView
    after: JudgementView


def change_view(
    call: PastCall, one: Change, policies: tuple[Sequence[Policy], Sequence[Policy]], known: Names
) -> ChangeView:
    return {
        "executionId": call.execution_id,
        "seq": call.seq,
        "path": call.path,
        "actor": known.actors.get(call.actor_id, call.actor_id),
        "state": call.state,
        "at": time(call.at),
        "before": judgement_view(one.before, policies[0], known),
        "after": judgement_view(one.after, policies[1], known),
    }


class BeforeAndAfter(TypedDict):
    before: JudgementView
    after: JudgementView


class SimulationView(TypedDict):
    decision: BeforeAndAfter | None
    judged: int
    executions: int
    changed: list[ChangeView]
    next: str | None


class AlwaysView(TypedDict):
    rule: PolicyView
    position: int | None
    matches: MatchesView
