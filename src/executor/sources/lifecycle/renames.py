"""Tools of a connected source get other names or descriptions: from what is stored, without reading the source."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace

from sqlalchemy.engine import Connection

from executor.dataclass import dataclass
from executor.errors import Conflict, NotFound
from executor.model.ids import now_ms
from executor.model.packed import ToolRow
from executor.model.source import Overlay, Source, overlay_of, with_overlay
from executor.model.tool import ALL
from executor.sources.lifecycle import labels, persistence
from executor.sources.lifecycle.labels import GROUP, Labels
from executor.sources.lifecycle.own_names import own_rows, whole
from executor.storage.catalog import source_revisions, sources, tool_versions, tools
from executor.storage.catalog.tools import Differences
from executor.storage.database import Database
from executor.storage.executions.events import By


@dataclass(frozen=True, slots=True)
class Rename:
    """One tool that gets another path. `own` is the one that its source gives it, `digest` the tool's before it."""

    own: str
    old: str
    new: str
    effect: str
    digest: str


@dataclass(frozen=True, slots=True)
class Relabelled:
    source: Source
    renames: tuple[Rename, ...]
    differences: Differences


CheckRenames = Callable[[Connection, Source, Sequence[Rename]], None]
Change = Callable[[Source, Sequence[str]], Overlay]  # from a source and the paths of its tools


def renamed_to(path: str, new: str) -> Change:
    """`path` is that of a tool, or of a group with `.*`; an empty `new` gives it the source's own name back."""

    def change(source: Source, paths: Sequence[str]) -> Overlay:
        overlay, is_group = overlay_of(source.known_keys), path.endswith(GROUP)
        own = own_name(source, overlay, path, paths)
        target = labels.check_path(source.namespace, new) if new else own
        if target.endswith(GROUP) != is_group:
            raise Conflict(f"{path} and {new} are not both a tool or both a group", hint="write `.*` after both groups")
        if new and is_group:
            labels.check_free(new.removesuffix(GROUP), paths)
        elif new:
            labels.check_free(new, [one for one in paths if one not in (path, path + ALL)])
        return labels.with_name(overlay, own, target)

    return change


def described_as(path: str, text: str) -> Change:
    def change(source: Source, paths: Sequence[str]) -> Overlay:
        overlay = overlay_of(source.known_keys)
        return labels.with_description(overlay, own_name(source, overlay, path, paths), text.strip())

    return change


def own_name(source: Source, overlay: Overlay, path: str, paths: Sequence[str]) -> str:
    """The source's own name of a tool or group. Raises NotFound or Conflict."""
    cut = len(source.namespace) + 1
    if path.endswith(GROUP):
        if not any(one.startswith(path[:-1]) for one in paths):
            raise NotFound(f"there is no group {path}", hint="see `executor tools list`")
        own = next((own for own, to in overlay.names.items() if to == path[cut:]), path[cut:])
        if not any(overlay.own_paths.get(one, one)[cut:].startswith(own[:-1]) for one in paths):
            raise Conflict(f"the tools of {path} were renamed one by one", hint="rename them one by one")
        return own
    if path not in paths:
        raise NotFound(f"there is no tool {path}", hint="see `executor tools list`")
    if path.endswith(ALL) and path.removesuffix(ALL) in paths:
        raise Conflict(f"{path} is renamed together with {path.removesuffix(ALL)}", hint="rename or describe that one")
    return overlay.own_paths.get(path, path)[cut:]


async def relabel(database: Database, source: Source, change: Change, check: CheckRenames, *, by: By) -> Relabelled:
    """`check` raises if the policies don't let a tool have its new name; it runs again with the change itself."""
    heads = await database.read(lambda c: tools.head_rows(c, source.id))
    overlay = await asyncio.to_thread(change, source, [row.path for row in heads])
    plain = await database.read(lambda c: own_rows(c, source, heads))
    put = await asyncio.to_thread(labels.put_labels, source.namespace, overlay, [row.path for row in plain])
    renames = tuple(find_renamed(put, heads, plain))
    full = await database.read(lambda c: [put.put_on(whole(c, source, row)) for row in plain if row.path in put.paths])
    await database.write(lambda c: tool_versions.add_tools(c, source.workspace_id, full))
    rows = [put.put_on(row) for row in plain]
    fresh = replace(source, config=with_overlay(source.config, put.to_overlay()), refreshed_at=now_ms())
    differences, other = await database.read(lambda c: tools.differences(c, source.id, rows))
    if not other:
        return Relabelled(source, (), differences)
    generation = await persistence.write_generation(database, fresh, rows)
    entries = await asyncio.to_thread(source_revisions.pack, differences.entries)

    def write(c: Connection) -> bool:
        sources.lock(c, source)
        check(c, source, renames)
        if not sources.relabel(c, fresh, differences, {one.old: one.new for one in renames}, by=by):
            return False
        tools.show(c, fresh, generation)
        source_revisions.add(c, fresh, differences, entries)
        return True

    try:
        stays = await database.write(write)
    finally:
        await persistence.sweep(database, source.id, own=generation)
    if not stays:
        raise persistence.no_source(source.namespace)
    return Relabelled(sources.with_next_revision(fresh), renames, differences)


def find_renamed(put: Labels, heads: Sequence[ToolRow], plain: Sequence[ToolRow]) -> list[Rename]:
    pairs = ((head, own, put.paths.get(own.path, own.path)) for head, own in zip(heads, plain, strict=True))
    return [
        Rename(own.path, head.path, new, head.effect, head.schema_digest)
        for head, own, new in pairs
        if new != head.path
    ]
