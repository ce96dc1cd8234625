"""Appending events on PostgreSQL: the server computes their seals, so that no one waits to learn the last one.

The chain is locked by a statement of its own. The next one then sees the seal that the lock waited for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from executor.storage.executions.event_chain import content

LOCK = "SELECT 1 FROM chains WHERE workspace_id = %(workspace)s FOR UPDATE"
# Until the COMMIT, which then does not wait for the server's disk.
LOCK_BRIEFLY = LOCK.replace("1", "set_config('synchronous_commit', 'off', true)", 1)
# Without a chain there is no seal to begin with, and an event without a seal is refused.
APPEND = """
WITH RECURSIVE added AS (
    SELECT * FROM unnest(
        %(executions)s::text[], %(types)s::text[], %(times)s::bigint[], %(data)s::text[], %(actors)s::text[],
        %(origins)s::text[], %(contents)s::text[]
    ) WITH ORDINALITY AS t (execution_id, type, at, data, actor_id, origin, content, n)
), sealed (n, seal) AS (
    SELECT 0::bigint, (SELECT seal::text FROM chains WHERE workspace_id = %(workspace)s)
    UNION ALL
    SELECT added.n, encode(sha256(convert_to(sealed.seal || added.content, 'UTF8')), 'hex')
    FROM sealed JOIN added ON added.n = sealed.n + 1
), written AS (
    INSERT INTO events (workspace_id, execution_id, type, at, data, actor_id, origin, seal)
    SELECT %(workspace)s, execution_id, type, at, data, actor_id, origin, seal
    FROM added JOIN sealed USING (n) ORDER BY n
    RETURNING id
)
UPDATE chains SET seal = (SELECT seal FROM sealed ORDER BY n DESC LIMIT 1), event_id = (SELECT max(id) FROM written)
WHERE workspace_id = %(workspace)s
"""


def send(raw: Any, workspace_id: str, rows: Sequence[dict[str, Any]], *, briefly: bool = False) -> None:
    """In a pipeline. `rows` are of this workspace, in order. `briefly`: something else makes the COMMIT durable."""
    columns = {"executions": "execution_id", "types": "type", "times": "at", "data": "data"}
    columns |= {"actors": "actor_id", "origins": "origin"}
    values = {name: [row[column] for row in rows] for name, column in columns.items()}
    values |= {"contents": [content(row).decode() for row in rows], "workspace": workspace_id}  # type: ignore[dict-item]
    raw.cursor().execute(LOCK_BRIEFLY if briefly else LOCK, {"workspace": workspace_id})
    raw.cursor().execute(APPEND, values)
