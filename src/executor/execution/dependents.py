"""What depends on tools: asked before some of them go."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy.engine import Connection

from executor.errors import Conflict
from executor.model.policy import Policy
from executor.model.source import Source
from executor.policy.pattern import parse_pattern
from executor.policy.visibility import covers
from executor.storage.catalog import policies, source_dependents, tools

SAID = 5


def check_dropped(c: Connection, source: Source, gone: Sequence[str]) -> None:
    """Raises Conflict, which names them, if rules or waiting calls depend on a tool that would go."""
    lost = of_tools(c, source, gone)
    if lost:
        raise Conflict(
            f"policies or pending calls depend on tools that would be removed: {'; '.join(lost[:SAID])}"
            + (f" and {len(lost) - SAID} more" if len(lost) > SAID else ""),
            hint="keep those tools, or confirm their removal (`--yes`, in the API `drop`)",
            dependents=lost,
        )


def of_tools(c: Connection, source: Source, gone: Sequence[str]) -> list[str]:
    """In words: rules of this source that would be about nothing, and calls that wait."""
    if not gone:
        return []
    lost = set(gone)
    staying = [path for path, _, _ in tools.digests(c, source.id) if path not in lost]
    rules = [one for one in policies.in_force(c, source.workspace_id) if source_dependents.names(one, source)]
    found = [
        f"the policy {one.pattern} → {one.action} ({one.id})"
        for one in rules
        if one.retired_at is None and is_about(one, lost) and not is_about(one, staying)
    ]
    waiting = source_dependents.waiting(c, source)
    return found + [f"a pending call of {one.path} ({one.interaction_id})" for one in waiting if one.path in lost]


def is_about(rule: Policy, paths: Sequence[str] | set[str]) -> bool:
    wanted = parse_pattern(rule.pattern)
    return any(covers(wanted, tuple(path.split("."))) for path in paths)
