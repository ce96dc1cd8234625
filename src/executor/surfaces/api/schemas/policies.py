"""Rules, and what they decide."""

from __future__ import annotations

from typing import Any, Literal

from executor.surfaces.api.schemas.base import Effect, Shape

Action = Literal["allow", "require_approval", "deny"]


class ConditionView(Shape):
    path: str
    test: Literal["equals", "one_of", "matches", "at_most", "at_least"]
    value: Any


class MadeForView(Shape):
    """Where the tools that it was made for sent their calls, and how many they are.

    `basis` tells a rule of `always` from those by which tools are taken for `read`s, or a server's `hints` are trusted.
    """

    host: str
    tools: int
    basis: Literal["always", "read", "hints"] = "always"


class PolicyView(Shape):
    id: str | None
    level: Literal["organization", "workspace", "toolkit"]
    position: int
    pattern: str
    action: Action
    conditions: list[ConditionView]
    actor: str | None
    actor_id: str | None
    source: str | None
    source_id: str | None
    effect: Effect | None
    note: str
    text: str
    created_by: str | None
    created_at: str | None
    made_for: MadeForView | None
    excluded: list[str]
    excluded_names: list[str]
    retired_at: str | None
    matches: int | None = None
    shadowed_by: str | None = None


class PolicyPage(Shape):
    items: list[PolicyView]


class JudgementView(Shape):
    action: Action
    policy_id: str | None
    reason: str
    policy: PolicyView | None


class StandingView(Shape):
    policy: PolicyView
    verdict: Literal["decides", "outdone", "later", "no"]
    why: str
    possible: bool


class DecisionView(JudgementView):
    effect: Effect
    rules: list[StandingView]


class MatchesView(Shape):
    count: int
    tools: list[str]


class ChangeView(Shape):
    execution_id: str
    seq: int
    path: str
    actor: str
    state: str
    at: str
    before: JudgementView
    after: JudgementView


class BeforeAndAfter(Shape):
    before: JudgementView
    after: JudgementView


class SimulationView(Shape):
    decision: BeforeAndAfter | None
    judged: int
    executions: int
    changed: list[ChangeView]
    next: str | None


class AlwaysView(Shape):
    rule: PolicyView
    position: int | None
    matches: MatchesView
