"""Approval defaults of a source: what happens to calls of an effect that no policy decides about."""

from __future__ import annotations

from executor.model.policy import ApprovalDefaults
from executor.model.tool import Effect
from executor.policy.decide import STRICTNESS

WITHOUT: ApprovalDefaults = {"read": "allow", "write": "require_approval", "destructive": "require_approval"}


def find_loosened(before: ApprovalDefaults, after: ApprovalDefaults) -> list[Effect]:
    """The effects whose calls need less than before."""
    was, now = {**WITHOUT, **before}, {**WITHOUT, **after}
    return [effect for effect in WITHOUT if STRICTNESS[now[effect]] < STRICTNESS[was[effect]]]
