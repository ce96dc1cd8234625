"""Policies: an ordered list for each organization, workspace and toolkit. Every change raises the policy revisions.

The approval defaults of sources are policies of the level `source`. Their owner is the workspace, and each names its
source, so that another source of the same namespace has nothing of them.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import asdict, replace
from typing import Any, cast

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from executor.model.identity.actor import Actor
from executor.model.ids import new_id, now_ms
from executor.model.policy import Action, ApprovalDefaults, Condition, Level, MadeFor, Policy
from executor.model.source import Source
from executor.model.tool import Effect
from executor.policy.approval_defaults import find_loosened
from executor.storage.executions import events
from executor.storage.executions.events import By, author
from executor.storage.rows import WORDS, RowMapper, Stored, dump, expect_one, load
from executor.storage.tables.core import organizations, policies, sources, workspaces
from executor.storage.upserts import lock_row

KEPT = ("id", "level", "owner_id", "position", "created_by", "created_at")  # whatever else of a policy is changed


def _dump_made_for(made_for: MadeFor | None) -> str:
    return dump({**asdict(made_for), "digests": sorted(made_for.digests)}) if made_for is not None else ""


def _load_made_for(text: str) -> MadeFor | None:
    if not text:
        return None
    facts = load(text)
    return MadeFor(facts["destination"], frozenset(facts["digests"]), facts["host"], facts.get("basis", "always"))


_conditions = Stored(
    lambda conditions: dump([asdict(one) for one in conditions]),
    lambda text: tuple(Condition(one["path"], one["test"], one["value"]) for one in load(text)),
)
_rows = RowMapper(Policy, conditions=_conditions, made_for=Stored(_dump_made_for, _load_made_for), excluded=WORDS)


def listing(c: Connection, owner_id: str, level: Level = "workspace") -> list[Policy]:
    mine = (policies.c.level == level, policies.c.owner_id == owner_id)
    query = sa.select(policies).where(*mine).order_by(policies.c.position)
    return _rows.every(c.execute(query))


def in_force(c: Connection, workspace_id: str) -> list[Policy]:
    """The organization's first, then the workspace's."""
    return [*listing(c, organization_of(c, workspace_id), "organization"), *listing(c, workspace_id)]


def get(c: Connection, workspace_id: str, policy_id: str) -> Policy | None:
    """One that is in force in the workspace, at any level."""
    return next((policy for policy in in_force(c, workspace_id) if policy.id == policy_id), None)


def lock(c: Connection, workspace_id: str, level: Level = "workspace") -> None:
    """Before the policies of an owner are read in order to change them, or their revision to compare it: the owner's
    row, and that of each workspace whose revision rises."""
    affected = [workspace_id]
    if level == "organization":
        organization_id = organization_of(c, workspace_id)
        lock_row(c, organizations, organization_id)
        affected = _workspaces_of(c, organization_id)
    for one in affected:
        lock_row(c, workspaces, one)


def add(c: Connection, workspace_id: str, draft: Policy, position: int | None = None, *, by: Actor) -> Policy:
    """Insert at `position` (0 is first; the end if None) and move the later ones down."""
    lock(c, workspace_id, draft.level)
    present = listing(c, draft.owner_id, draft.level)
    place = len(present) if position is None else max(0, min(position, len(present)))
    policy = replace(draft, id=new_id("pol"), position=place, created_by=by.id, created_at=now_ms())
    for later in present[place:]:
        _place(c, later.id, later.position + 1)
    c.execute(sa.insert(policies), _rows.values(policy))
    _note_change(c, workspace_id, "policy.added", policy, by)
    return policy


def change(c: Connection, workspace_id: str, policy: Policy, *, by: Actor) -> None:
    """Everything of it but its place and owner."""
    lock(c, workspace_id, policy.level)
    values = {name: value for name, value in _rows.values(policy).items() if name not in KEPT}
    expect_one(c.execute(sa.update(policies).where(policies.c.id == policy.id).values(**values)), f"policy {policy.id}")
    _note_change(c, workspace_id, "policy.changed", policy, by)


def move(c: Connection, workspace_id: str, policy: Policy, position: int, *, by: Actor) -> Policy:
    lock(c, workspace_id, policy.level)
    others = [one for one in listing(c, policy.owner_id, policy.level) if one.id != policy.id]
    place = max(0, min(position, len(others)))
    others.insert(place, policy)
    for index, one in enumerate(others):
        if one.position != index:
            _place(c, one.id, index)
    moved = replace(policy, position=place)
    _note_change(c, workspace_id, "policy.moved", moved, by)
    return moved


def remove(c: Connection, workspace_id: str, policy: Policy, *, by: Actor) -> None:
    lock(c, workspace_id, policy.level)
    c.execute(sa.delete(policies).where(policies.c.id == policy.id))
    for index, one in enumerate(listing(c, policy.owner_id, policy.level)):
        if one.position != index:
            _place(c, one.id, index)
    _note_change(c, workspace_id, "policy.removed", policy, by)


def exclude(c: Connection, source: Source, *, by: By = None) -> list[Policy]:
    """A source that is new inherits no policy that allows: those that cover its namespace don't apply to it."""
    lock(c, source.workspace_id, "organization")
    excluded = [replace(one, excluded=(*one.excluded, source.id)) for one in covering(c, source)]
    for one in excluded:
        _restrain(c, source.workspace_id, one, by)
    return excluded


def covering(c: Connection, source: Source) -> list[Policy]:
    """Policies in force that would allow calls of a source because of its namespace alone."""
    return [one for one in in_force(c, source.workspace_id) if names_namespace(one, source.namespace)]


def names_namespace(policy: Policy, namespace: str) -> bool:
    """A policy for one source is for none that comes later."""
    is_open = policy.action == "allow" and not policy.source_id and policy.retired_at is None
    return is_open and policy.pattern.partition(".")[0] in (namespace, "*", "**")


def retire(c: Connection, source: Source, *, by: By = None) -> list[Policy]:
    """The source is gone: policies that allowed calls of nothing else hold no longer; others forget it."""
    lock(c, source.workspace_id, "organization")
    _remove_approval_defaults(c, source)
    ended = []
    for policy in in_force(c, source.workspace_id):
        rest = replace(policy, excluded=tuple(one for one in policy.excluded if one != source.id))
        if is_made_for(c, policy, source):
            ended.append(replace(rest, retired_at=now_ms()))
            for affected in _affected_workspaces(c, source.workspace_id, policy):
                _restrain(c, affected, ended[-1], by)
        elif rest != policy:
            _restrain(c, source.workspace_id, rest, by)
    return ended


def is_made_for(c: Connection, policy: Policy, source: Source) -> bool:
    """A policy of the organization is also for sources of that namespace in its other workspaces."""
    if policy.action != "allow" or policy.retired_at is not None:
        return False
    if policy.source_id:
        return policy.source_id == source.id
    if policy.pattern.partition(".")[0] != source.namespace:
        return False
    if policy.level != "organization":
        return True
    elsewhere = sa.select(sources.c.id).join(workspaces, workspaces.c.id == sources.c.workspace_id)
    alike = (workspaces.c.organization_id == policy.owner_id, sources.c.namespace == source.namespace)
    return c.execute(elsewhere.where(*alike, sources.c.id != source.id).limit(1)).first() is None


def _restrain(c: Connection, workspace_id: str, policy: Policy, by: By) -> None:
    """What it applies to, and nothing of its wording."""
    values = {"excluded": dump(list(policy.excluded)), "retired_at": policy.retired_at}
    c.execute(sa.update(policies).where(policies.c.id == policy.id).values(**values))
    _raise_revision(c, workspace_id)
    events.append(c, workspace_id, "policy.restrained", _facts(policy), by=by)


def distrust(c: Connection, source: Source, digests: Collection[str]) -> None:
    """A server says something else about these tools than when someone trusted its hints: then that is over."""
    if digests:
        lock(c, source.workspace_id, "organization")
    for policy in in_force(c, source.workspace_id) if digests else ():
        made_for = policy.made_for
        if policy.source_id != source.id or made_for is None or made_for.basis != "hints":
            continue
        kept = made_for.digests - set(digests)
        if kept != made_for.digests:
            rest = replace(policy, made_for=replace(made_for, digests=kept))
            c.execute(
                sa.update(policies).where(policies.c.id == policy.id).values(made_for=_dump_made_for(rest.made_for))
            )
            _raise_revision(c, source.workspace_id)
            events.append(c, source.workspace_id, "policy.restrained", _facts(rest))


def approval_defaults(c: Connection, source: Source) -> ApprovalDefaults:
    own = [one for one in listing(c, source.workspace_id, "source") if one.source_id == source.id]
    return {cast("Effect", one.effect): one.action for one in own}


def put_approval_defaults(c: Connection, source: Source, defaults: ApprovalDefaults, *, by: By = None) -> None:
    """Instead of those it has. The event names both."""
    lock(c, source.workspace_id)
    before = approval_defaults(c, source)
    if before == defaults:
        return
    _remove_approval_defaults(c, source)
    for effect, action in defaults.items():
        c.execute(sa.insert(policies), _rows.values(_approval_default(source, effect, action, author(by)[0])))
    _raise_revision(c, source.workspace_id)
    facts: dict[str, Any] = {"id": source.id, "namespace": source.namespace}
    facts |= {"before": dict(before), "after": dict(defaults), "loosened": find_loosened(before, defaults)}
    events.append(c, source.workspace_id, "source.defaults", facts, by=by)


def _approval_default(source: Source, effect: Effect, action: Action, by: str) -> Policy:
    return Policy(
        new_id("pol"),
        "source",
        source.workspace_id,
        0,
        f"{source.namespace}.**",
        action,
        source_id=source.id,
        effect=effect,
        created_by=by,
        created_at=now_ms(),
    )


def _remove_approval_defaults(c: Connection, source: Source) -> None:
    t = policies.c
    own = (t.level == "source", t.owner_id == source.workspace_id, t.source_id == source.id)
    c.execute(sa.delete(policies).where(*own))


def revision(c: Connection, workspace_id: str) -> int:
    query = sa.select(workspaces.c.policy_revision).where(workspaces.c.id == workspace_id)
    return int(c.execute(query).scalar_one())


def organization_of(c: Connection, workspace_id: str) -> str:
    return str(c.execute(sa.select(workspaces.c.organization_id).where(workspaces.c.id == workspace_id)).scalar_one())


def _place(c: Connection, policy_id: str, position: int) -> None:
    c.execute(sa.update(policies).where(policies.c.id == policy_id).values(position=position))


def _note_change(c: Connection, workspace_id: str, type: str, policy: Policy, by: Actor) -> None:
    """A policy of the organization changes every workspace of it; each one's revision and events say so."""
    for affected in _affected_workspaces(c, workspace_id, policy):
        _raise_revision(c, affected)
        events.append(c, affected, type, _facts(policy), by=by)


def _raise_revision(c: Connection, workspace_id: str) -> None:
    raised = sa.update(workspaces).where(workspaces.c.id == workspace_id)
    c.execute(raised.values(policy_revision=workspaces.c.policy_revision + 1))


def _facts(policy: Policy) -> dict[str, Any]:
    """For an event: all of a policy but what is empty, and of many tools their number alone."""
    facts = {name: value for name, value in asdict(policy).items() if value not in ("", (), None)}
    if policy.made_for is not None:
        facts["made_for"] = {**facts["made_for"], "digests": len(policy.made_for.digests)}
    return {name: value for name, value in facts.items() if name != "created_at"}


def _affected_workspaces(c: Connection, workspace_id: str, policy: Policy) -> list[str]:
    return [workspace_id] if policy.level != "organization" else _workspaces_of(c, policy.owner_id)


def _workspaces_of(c: Connection, organization_id: str) -> list[str]:
    """Always in the same order, so that two who lock them don't wait for each other."""
    mine = workspaces.c.organization_id == organization_id
    return list(c.execute(sa.select(workspaces.c.id).where(mine).order_by(workspaces.c.id)).scalars())
