"""What happens to a call: the first policy that matches decides, else the tool's effect."""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

from executor.errors import InvalidRequest
from executor.model.policy import Action, Decision, Policy
from executor.model.tool import Effect
from executor.policy.pattern import matches


def decide(path: str, effect: Effect, policies: Sequence[Policy]) -> Decision:
    """Policies in order; the first match wins. Without one, reads are allowed and all else needs approval."""
    for policy in policies:
        if matches(policy.pattern, path):
            return Decision(policy.action, policy.id, f"policy {policy.pattern} → {policy.action}")
    if effect == "read":
        return Decision("allow", "", "reads are allowed by default")
    what = "a write" if effect == "write" else "a destructive call"
    return Decision("require_approval", "", f"{what} needs approval by default")


def parse_action(text: str) -> Action:
    for action in get_args(Action):
        if text == action:
            return text  # type: ignore[return-value]  # equal to one of the literals
    raise InvalidRequest(f"unknown action {text!r}", hint="use allow, require_approval or deny")
