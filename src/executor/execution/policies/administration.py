"""List, add, change, move, renew and remove policies. Each level has the permission that changing it needs."""

from __future__ import annotations

import json
from dataclasses import asdict, replace

from sqlalchemy.engine import Connection

from executor.errors import Conflict, Forbidden, NotFound
from executor.execution.calls.pipeline import CallPipeline
from executor.execution.policies.always import NEEDED, renew_policy
from executor.model.digest import digest_text
from executor.model.identity.actor import Actor
from executor.model.policy import Level, Policy
from executor.model.source import Source
from executor.storage.catalog import policies
from executor.storage.database import Database


async def list_in_force(database: Database, by: Actor) -> list[Policy]:
    """Those of the organization, then those of the workspace, in the order in which each level's are tried."""
    return await database.read(lambda c: policies.in_force(c, by.workspace_id))


async def list_covering(database: Database, source: Source) -> list[Policy]:
    """Those that allow calls in the namespace of a source, whether or not they apply to it."""
    return await database.read(lambda c: policies.covering(c, source))


async def find(database: Database, by: Actor, policy_id: str) -> Policy:
    return await database.read(lambda c: look_up(c, by, policy_id))


async def find_own(database: Database, by: Actor, policy_id: str) -> Policy:
    """One that the actor may change."""
    return await database.read(lambda c: look_up_own(c, by, policy_id))


async def find_owner(database: Database, by: Actor, level: Level) -> str:
    """The id of the organization or workspace that owns policies of this level."""
    if level != "organization":
        return by.workspace_id
    return await database.read(lambda c: policies.organization_of(c, by.workspace_id))


async def add(database: Database, by: Actor, draft: Policy, position: int | None) -> Policy:
    check_level(by, draft.level)
    return await database.write(lambda c: policies.add(c, by.workspace_id, draft, position, by=by))


def version_of(policy: Policy) -> str:
    """Another one after each edit. Its place is no part of it: that changes when others move."""
    text = json.dumps(asdict(replace(policy, position=0)), sort_keys=True, default=str)
    return digest_text(text)[:32]


async def change(database: Database, by: Actor, policy_id: str, draft: Policy, *, version: str = "") -> Policy:
    """Make it what the draft says. It keeps its place and its level. With a `version`, only if it still has that."""

    def job(c: Connection) -> Policy:
        before = lock_own(c, by, policy_id)
        check_version(before, version)
        kept = {name: getattr(before, name) for name in policies.KEPT}
        if all(getattr(draft, name) == getattr(before, name) for name in ("pattern", "action", "source_id")):
            kept |= {name: getattr(before, name) for name in ("made_for", "excluded", "retired_at")}
        changed = replace(draft, **kept)
        policies.change(c, by.workspace_id, changed, by=by)
        return changed

    return await database.write(job)


async def move(database: Database, by: Actor, policy_id: str, position: int) -> Policy:
    """To another place among those of its level; 0 is first."""
    return await database.write(
        lambda c: policies.move(c, by.workspace_id, lock_own(c, by, policy_id), position, by=by)
    )


async def renew(pipeline: CallPipeline, by: Actor, policy_id: str) -> Policy:
    """Let it hold again: for the tools as they are now, and for every source that its pattern covers now."""
    present = await find_own(pipeline.database, by, policy_id)
    renewed = await renew_policy(pipeline, by.workspace_id, present)

    def job(c: Connection) -> Policy:
        if lock_own(c, by, policy_id) != present:
            raise Conflict("the policy has changed", hint="check it again")
        policies.change(c, by.workspace_id, renewed, by=by)
        return renewed

    return await pipeline.database.write(job)


async def remove(database: Database, by: Actor, policy_id: str, *, version: str = "") -> None:
    def job(c: Connection) -> None:
        present = lock_own(c, by, policy_id)
        check_version(present, version)
        policies.remove(c, by.workspace_id, present, by=by)

    await database.write(job)


def check_version(policy: Policy, version: str) -> None:
    if version and version != version_of(policy):
        raise Conflict(
            "the policy was changed by someone else in the meantime",
            hint="look at it again, then repeat the edit",
            revision=version_of(policy),
        )


def look_up(c: Connection, by: Actor, policy_id: str) -> Policy:
    found = policies.get(c, by.workspace_id, policy_id)
    if found is None:
        raise NotFound(f"there is no policy {policy_id!r}", hint="see `executor policies list`")
    return found


def lock_own(c: Connection, by: Actor, policy_id: str) -> Policy:
    """As it is once the policies of its owner are locked. Others may have moved or removed it since someone looked."""
    policies.lock(c, by.workspace_id, look_up_own(c, by, policy_id).level)
    return look_up_own(c, by, policy_id)


def look_up_own(c: Connection, by: Actor, policy_id: str) -> Policy:
    found = look_up(c, by, policy_id)
    check_level(by, found.level)
    return found


def check_level(by: Actor, level: Level) -> None:
    needed = NEEDED[level]
    if not by.may(needed):
        raise Forbidden(f"policies of the {level} need the permission `{needed}`", hint="ask an administrator")
