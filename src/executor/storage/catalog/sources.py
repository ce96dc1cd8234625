"""Sources: one row per connected thing. Every change raises the workspace's catalog revision and is an event."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from executor.errors import Conflict
from executor.model.known_keys import KnownConfig
from executor.model.source import HOSTED, OVERLAY, Choice, Source, call_address, hosted_as, overlay_of
from executor.model.tool import Skipped
from executor.storage.catalog.tools import Differences
from executor.storage.executions import events
from executor.storage.executions.events import By
from executor.storage.rows import JSON, RowMapper, Stored, dump, load
from executor.storage.tables.core import sources, workspaces
from executor.storage.upserts import lock_row

MOST_LISTED = 50
_skipped = Stored(
    lambda skipped: dump([[one.where, one.reason] for one in skipped]),
    lambda text: tuple(Skipped(where, reason) for where, reason in load(text)),
)
_rows = RowMapper(Source, config=JSON, skipped=_skipped)


def insert(c: Connection, source: Source, *, by: By = None) -> None:
    c.execute(sa.insert(sources), _rows.values(source))
    note_change(c, source, "source.added", by=by)


def with_commands(c: Connection) -> list[str]:
    """Namespaces of sources that are started as commands, of all workspaces."""
    found = c.execute(sa.select(sources.c.namespace, sources.c.config).where(sources.c.kind == "mcp"))
    return sorted({row.namespace for row in found if load(row.config).get("command")})


def lock(c: Connection, source: Source) -> bool:
    """Before the workspace, whose revision changes with it. False if the source is gone."""
    return lock_row(c, sources, source.id)


def replace(
    c: Connection,
    source: Source,
    differences: Differences | None = None,
    *,
    choice: Choice | None = None,
    by: By = None,
) -> bool:
    """False if it is gone. `differences` are what reading it again changed, or another `choice` of its tools.

    Raises Conflict if someone else has changed it since it was read.
    """
    if not _write(c, source):
        return False
    more = summarize(differences) if differences is not None else {}
    if choice is not None:
        more |= {"include": list(choice.include), "exclude": list(choice.exclude)}
    note_change(c, source, "source.refreshed" if choice is None else "source.chosen", more, by=by)
    return True


def edit(
    c: Connection, source: Source, settings: Sequence[str], differences: Differences | None = None, *, by: By = None
) -> None:
    """`settings` names those that people changed. Of their values, the name, where calls go and which changes are
    reviewed are noted."""
    _write(c, source)
    chosen = {"review": source.known_keys.get("review")} if "review" in settings else {}
    more = summarize(differences) if differences is not None else {}
    note_change(
        c,
        source,
        "source.edited",
        {"settings": list(settings), "name": source.name, "host": host_of(source.known_keys), **chosen, **more},
        by=by,
    )


def note_held(c: Connection, source: Source, paths: Sequence[str]) -> None:
    """The server changed these tools, and no one has looked at that yet."""
    note_change(c, source, "source.held", {"held": {"count": len(paths), "paths": list(paths[:MOST_LISTED])}})


def accept(c: Connection, source: Source, paths: Sequence[str], *, by: By = None) -> bool:
    """Someone has reviewed what the server made of these tools. False if the source is gone."""
    if not _write(c, source):
        return False
    more = {"accepted": {"count": len(paths), "paths": list(paths[:MOST_LISTED])}}
    note_change(c, source, "source.review_accepted", more, by=by)
    return True


def list_hosted(c: Connection) -> list[Source]:
    """Of all workspaces: those whose service the daemon runs itself."""
    query = sa.select(sources).where(sources.c.config.contains(f'"{HOSTED}":"', autoescape=True))
    return [source for source in map(_rows.noun, c.execute(query)) if hosted_as(source)]


def own_paths(c: Connection, workspace_id: str) -> dict[str, str]:
    """The paths that sources give to tools which people renamed, by the ones that these have here."""
    query = sa.select(sources.c.config).where(sources.c.workspace_id == workspace_id)
    overlaid = c.execute(query.where(sources.c.config.contains(f'"{OVERLAY}":', autoescape=True))).scalars()
    return {path: own for config in overlaid for path, own in overlay_of(load(config)).own_paths.items()}


def relabel(c: Connection, source: Source, differences: Differences, renamed: dict[str, str], *, by: By = None) -> bool:
    """Its tools have other names or descriptions. False if it is gone."""
    if not _write(c, source):
        return False
    names = {"renamed": dict(list(renamed.items())[:MOST_LISTED]), "reworded": list(differences.reworded[:MOST_LISTED])}
    note_change(c, source, "source.relabelled", names, by=by)
    return True


def rewrite(c: Connection, source: Source) -> None:
    """The same source, kept in another way: nothing that anyone would see has changed."""
    same = (sources.c.id == source.id, sources.c.revision == source.revision)
    rewritten = {"config": dump(source.config), "revision": source.revision + 1}
    if c.execute(sa.update(sources).where(*same).values(**rewritten)).rowcount != 1:
        raise changed_meanwhile(source)


def _write(c: Connection, source: Source) -> bool:
    """The whole row, if it is still the one that `source` was read from. False if it is gone."""
    mine = (sources.c.id == source.id, sources.c.workspace_id == source.workspace_id)
    values = {**_rows.values(source), "revision": source.revision + 1}
    if c.execute(sa.update(sources).where(*mine, sources.c.revision == source.revision).values(values)).rowcount:
        return True
    if c.execute(sa.select(sources.c.id).where(*mine)).first() is not None:
        raise changed_meanwhile(source)
    return False


def with_next_revision(source: Source) -> Source:
    """As it is after it was written."""
    return dataclasses.replace(source, revision=source.revision + 1)


def changed_meanwhile(source: Source) -> Conflict:
    return Conflict(f"{source.namespace} was changed by someone else in the meantime", hint="try it again")


def summarize(differences: Differences) -> dict[str, Any]:
    """For an event: how many, and the first of each."""
    parts = {"added": differences.added, "removed": differences.removed, "changed": differences.changed}
    return {name: {"count": len(paths), "paths": list(paths[:MOST_LISTED])} for name, paths in parts.items()}


def delete(c: Connection, workspace_id: str, id_or_namespace: str, *, by: By = None) -> Source | None:
    """Its tools and definitions go with it."""
    source = get(c, workspace_id, id_or_namespace)
    if source is not None:
        c.execute(sa.delete(sources).where(sources.c.id == source.id))
        note_change(c, source, "source.removed", by=by)
    return source


def get(c: Connection, workspace_id: str, id_or_namespace: str) -> Source | None:
    if not id_or_namespace.isascii():  # ids and namespaces are; other text may not even be storable
        return None
    named = sa.or_(sources.c.id == id_or_namespace, sources.c.namespace == id_or_namespace)
    return _rows.first(c.execute(sa.select(sources).where(sources.c.workspace_id == workspace_id, named)))


def by_id(c: Connection, source_id: str) -> Source | None:
    return _rows.first(c.execute(sa.select(sources).where(sources.c.id == source_id)))


def listing(c: Connection, workspace_id: str) -> list[Source]:
    query = sa.select(sources).where(sources.c.workspace_id == workspace_id).order_by(sources.c.namespace)
    return _rows.every(c.execute(query))


def titles(c: Connection, workspace_id: str) -> dict[str, tuple[str, str]]:
    """By namespace: the title, and the host that calls go to, empty where it has none."""
    columns = (sources.c.namespace, sources.c.name, sources.c.config)
    rows = c.execute(sa.select(*columns).where(sources.c.workspace_id == workspace_id))
    return {row.namespace: (row.name, host_of(load(row.config))) for row in rows}


def host_of(config: KnownConfig) -> str:
    try:
        return urlsplit(call_address(config)).hostname or ""
    except ValueError:  # no address, but a command or a file
        return ""


def everywhere(c: Connection) -> list[Source]:
    """Of all workspaces: for the daemon's own maintenance, never for an answer to someone."""
    return _rows.every(c.execute(sa.select(sources).order_by(sources.c.id)))


def note_change(c: Connection, source: Source, type: str, more: dict[str, Any] | None = None, *, by: By = None) -> None:
    raised = sa.update(workspaces).where(workspaces.c.id == source.workspace_id)
    c.execute(raised.values(catalog_revision=workspaces.c.catalog_revision + 1))
    data = {
        "id": source.id,
        "namespace": source.namespace,
        "kind": source.kind,
        "status": source.status,
        "tools": source.tool_count,
        "skipped": len(source.skipped),
        "error": source.error,
        **(more or {}),
    }
    events.append(c, source.workspace_id, type, data, by=by)
