"""Policies and renamed tools: a new name moves no tool out of a stricter policy or into one that allows."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy.engine import Connection

from executor.errors import Conflict
from executor.model.policy import Policy
from executor.model.source import Source
from executor.model.tool import ALL
from executor.policy.drafts import text
from executor.policy.pattern import matches
from executor.sources.lifecycle.renames import Rename
from executor.storage.catalog import policies

SAID = 5


def check_renames(c: Connection, source: Source, renames: Sequence[Rename], *, inherit_policies: bool = False) -> None:
    """Raises Conflict, which names the policies.

    A policy about the source's own name still applies (see `policy.decide`). One that tightens and is about a name
    that someone gave would be dodged; one that allows, and is not about the present name, would take in what no one
    agreed to, unless that is said with `inherit_policies`. Policies of `always` apply only to the tools that they were
    made for.
    """
    own = [one for one in policies.in_force(c, source.workspace_id) if is_about(one, source)]
    dodged = [one for one in own if one.action != "allow" and any(is_dodged(one, rename) for rename in renames)]
    if dodged:
        raise Conflict(
            f"a policy covers the current name but not the new one: {describe_policies(dodged)}",
            hint="change the pattern of the policy first, then rename",
            rules=[one.id for one in dodged],
        )
    widened = [one for one in own if one.action == "allow" and any(is_widened(one, rename) for rename in renames)]
    if widened and not inherit_policies:
        raise Conflict(
            f"a policy would allow calls under the new name: {describe_policies(widened)}",
            hint="choose another name, narrow the policy, or accept it with `inheritRules`",
            rules=[one.id for one in widened],
        )


def find_ended(policies: Sequence[Policy], source: Source, renames: Sequence[Rename]) -> list[Policy]:
    """Those that allowed the tool under the name that it had, and don't under the one it has now."""
    return [
        one
        for one in policies
        if one.action == "allow"
        and one.retired_at is None
        and is_about(one, source)
        and any(covers(one, rename.old) and is_lost(one, rename) for rename in renames)
    ]


def is_lost(policy: Policy, rename: Rename) -> bool:
    made_for = policy.made_for is not None and rename.digest in policy.made_for.digests
    return made_for or not covers(policy, rename.new)


def is_about(policy: Policy, source: Source) -> bool:
    return policy.source_id in ("", source.id) and not (policy.action == "allow" and source.id in policy.excluded)


def is_dodged(policy: Policy, rename: Rename) -> bool:
    return covers(policy, rename.old) and not covers(policy, rename.new) and not covers(policy, rename.own)


def is_widened(policy: Policy, rename: Rename) -> bool:
    if policy.made_for is not None or policy.retired_at is not None or policy.effect not in ("", rename.effect):
        return False
    return covers(policy, rename.new) and not covers(policy, rename.old)


def covers(policy: Policy, path: str) -> bool:
    return matches(policy.pattern, path) or (path.endswith(ALL) and matches(policy.pattern, path.removesuffix(ALL)))


def describe_policies(policies: Sequence[Policy]) -> str:
    more = f" and {len(policies) - SAID} more" if len(policies) > SAID else ""
    return "; ".join(f"{text(one)} ({one.id})" for one in policies[:SAID]) + more
