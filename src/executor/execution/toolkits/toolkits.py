"""The toolkits of a workspace: list, add, change and remove them, and the keys that reach only one of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any

from sqlalchemy.engine import Connection

from executor.errors import Conflict, NotFound
from executor.execution.approvals.settlement import settle_open
from executor.execution.engine import Engine
from executor.execution.toolkits.draft import ToolkitDraft, check_draft, without_repeats
from executor.execution.toolkits.reach import Reach, check_exposed, reach_of, read_heads
from executor.model.digest import digest
from executor.model.execution import Execution
from executor.model.identity.access import Key
from executor.model.identity.actor import Actor
from executor.model.ids import new_id, now_ms
from executor.model.interaction import Interaction
from executor.model.toolkit import Toolkit
from executor.policy.drafts import text
from executor.policy.toolkit_scope import ToolkitScope, scope_of
from executor.storage.catalog import toolkits
from executor.storage.database import Database
from executor.storage.executions import events, interactions
from executor.storage.identity import api_keys, workspaces

MOST = 200
ASKED = ("approval", "credential", "oauth")  # what no one need decide once the call can't be made
OnInsert = Callable[[Connection, Toolkit], None]


class Toolkits:
    def __init__(self, database: Database, engine: Engine) -> None:
        self._database = database
        self._engine = engine

    async def listing(self, by: Actor) -> list[tuple[Toolkit, Reach]]:
        def job(c: Connection) -> list[tuple[Toolkit, Reach]]:
            found = toolkits.listing(c, by.workspace_id)
            heads = read_heads(c, by.workspace_id, found) if found else []
            return [(one, reach_of(one, heads)) for one in found]

        return await self._database.read(job)

    async def show(self, by: Actor, id_or_slug: str) -> tuple[Toolkit, Reach]:
        def job(c: Connection) -> tuple[Toolkit, Reach]:
            found = look_up(c, by, id_or_slug)
            return found, read_reach(c, found)

        return await self._database.read(job)

    async def find(self, by: Actor, id_or_slug: str) -> Toolkit:
        return await self._database.read(lambda c: look_up(c, by, id_or_slug))

    async def add(self, by: Actor, given: ToolkitDraft, on_insert: OnInsert | None = None) -> tuple[Toolkit, Reach]:
        check_draft(given)
        at = now_ms()
        toolkit = Toolkit(new_id("tkt"), by.workspace_id, given.slug, **_fields(given), created_by=by.id,
                          created_at=at, updated_at=at)  # fmt: skip

        def job(c: Connection) -> tuple[Toolkit, Reach]:
            workspaces.lock(c, by.workspace_id)
            present = toolkits.listing(c, by.workspace_id)
            if len(present) >= MOST:
                raise Conflict(f"there are already {MOST} toolkits", hint="remove one with `executor toolkits remove`")
            reach = check_toolkit(c, toolkit)
            toolkits.insert(c, toolkit)
            events.append(c, by.workspace_id, "toolkit.added", _facts(toolkit), by=by)
            if on_insert is not None:
                on_insert(c, toolkit)
            return toolkit, reach

        return await self._database.write(job)

    async def change(
        self,
        by: Actor,
        id_or_slug: str,
        edit: Callable[[ToolkitDraft], ToolkitDraft],
        on_change: OnInsert | None = None,
        *,
        revision: str = "",
    ) -> tuple[Toolkit, Reach]:
        """What it no longer has is denied at once to executions that wait for someone to decide about it. `revision` is
        the one that the change was written for; empty for any."""

        def job(c: Connection) -> tuple[Toolkit, Reach]:
            workspaces.lock(c, by.workspace_id)
            before = look_up(c, by, id_or_slug)
            check_revision(before, revision)
            given = edit(draft_of(before))
            check_draft(given)
            toolkit = replace(before, slug=given.slug, updated_at=now_ms(), **_fields(given))
            reach = check_toolkit(c, toolkit)
            toolkits.change(c, toolkit)
            events.append(c, by.workspace_id, "toolkit.changed", _facts(toolkit), by=by)
            if on_change is not None:
                on_change(c, toolkit)
            return toolkit, reach

        toolkit, reach = await self._database.write(job)
        await self._deny_outside(by, toolkit, scope_of(toolkit), f"the toolkit {toolkit.slug} no longer has this tool")
        return toolkit, reach

    async def remove(self, by: Actor, id_or_slug: str) -> Toolkit:
        """With its keys. Executions in it call nothing more."""
        at = now_ms()

        def job(c: Connection) -> Toolkit:
            workspaces.lock(c, by.workspace_id)
            found = look_up(c, by, id_or_slug)
            toolkits.delete(c, by.workspace_id, found.id)
            for key in api_keys.of_toolkit(c, by.workspace_id, found.id):
                _revoke(c, by, key, at)
            events.append(c, by.workspace_id, "toolkit.removed", {"id": found.id, "slug": found.slug}, by=by)
            return found

        removed = await self._database.write(job)
        await self._deny_outside(by, removed, ToolkitScope(), f"the toolkit {removed.slug} was removed")
        return removed

    async def list_keys(self, by: Actor, id_or_slug: str) -> list[Key]:
        def job(c: Connection) -> list[Key]:
            return api_keys.of_toolkit(c, by.workspace_id, look_up(c, by, id_or_slug).id)

        return await self._database.read(job)

    async def revoke_key(self, by: Actor, id_or_slug: str, key_id: str) -> None:
        at = now_ms()

        def job(c: Connection) -> None:
            toolkit = look_up(c, by, id_or_slug)
            key = next((one for one in api_keys.of_toolkit(c, by.workspace_id, toolkit.id) if one.id == key_id), None)
            if key is None:
                hint = f"see `executor toolkits keys list {toolkit.slug}`"
                raise NotFound(f"the toolkit {toolkit.slug} has no key {key_id[:100]!r}", hint=hint)
            if not _revoke(c, by, key, at):
                raise Conflict(f"key {key_id} is already revoked", hint="there is nothing left to do")

        await self._database.write(job)

    async def _deny_outside(self, by: Actor, toolkit: Toolkit, scope: ToolkitScope, reason: str) -> None:
        def job(c: Connection) -> list[tuple[Interaction, Execution | None]]:
            ids = toolkits.pending_in(c, toolkit.workspace_id, toolkit.id)
            found = [one for id_ in ids if (one := interactions.get(c, toolkit.workspace_id, id_)) is not None]
            outside = [one for one in found if one.kind in ASKED and hides_call(scope, one)]
            return settle_open(c, outside, "denied", by=by, reason=reason)

        await self._engine.settle_by(job)


def hides_call(scope: ToolkitScope, asked: Interaction) -> bool:
    return scope.hides(asked.binding.path, str(asked.prompt.get("effect", "")))


def look_up(c: Connection, by: Actor, id_or_slug: str) -> Toolkit:
    """Someone in a toolkit finds that one alone."""
    found = toolkits.get(c, by.workspace_id, id_or_slug)
    if found is None or by.toolkit_id not in ("", found.id):
        raise NotFound(f"there is no toolkit {id_or_slug[:100]!r}", hint="see `executor toolkits list`")
    return found


def read_reach(c: Connection, toolkit: Toolkit) -> Reach:
    return reach_of(toolkit, read_heads(c, toolkit.workspace_id, [toolkit]))


def check_toolkit(c: Connection, toolkit: Toolkit) -> Reach:
    """Before it is written."""
    other = toolkits.get(c, toolkit.workspace_id, toolkit.slug)
    if other is not None and other.id != toolkit.id:
        raise Conflict(f"there is already a toolkit {toolkit.slug!r}", hint="choose another slug, or change that one")
    reach = read_reach(c, toolkit)
    check_exposed(reach)
    return reach


def revision_of(toolkit: Toolkit) -> str:
    """Another one after each edit, and the same as long as only the tools in it change."""
    policies = [asdict(one) for one in toolkit.policies]
    kept = [toolkit.slug, toolkit.name, toolkit.description, toolkit.patterns, toolkit.pass_through, policies]
    return digest(kept)[:16]


def check_revision(toolkit: Toolkit, expected: str) -> None:
    if expected and expected != (present := revision_of(toolkit)):
        raise Conflict(
            f"the toolkit {toolkit.slug} was changed by someone else in the meantime",
            hint="look at it again, then repeat the change",
            revision=present,
        )


def draft_of(toolkit: Toolkit) -> ToolkitDraft:
    return ToolkitDraft(
        toolkit.slug, toolkit.patterns, toolkit.name, toolkit.description, toolkit.policies, toolkit.pass_through
    )


def _fields(given: ToolkitDraft) -> dict[str, Any]:
    policies = tuple(replace(one, position=number) for number, one in enumerate(given.policies))
    return {
        "name": given.name or given.slug,
        "description": given.description,
        "patterns": without_repeats(given.patterns),
        "policies": policies,
        "pass_through": without_repeats(given.pass_through),
    }


def _facts(toolkit: Toolkit) -> dict[str, Any]:
    kept = ("id", "slug", "name", "patterns", "pass_through")
    facts = {name: value for name, value in asdict(toolkit).items() if name in kept}
    return {**facts, "policies": [text(one) for one in toolkit.policies]}


def _revoke(c: Connection, by: Actor, key: Key, at: int) -> bool:
    """The key, and what it was the token of: an agent of its own."""
    if not api_keys.revoke(c, by.workspace_id, key.id, at):
        return False
    facts = {"agentId": key.actor_id, "keyId": key.id, "name": key.name, "toolkitId": key.toolkit_id}
    events.append(c, by.workspace_id, "agent.revoked", facts, by=by)
    return True
