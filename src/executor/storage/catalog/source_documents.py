"""Documents: the text that each source was last read from, one of each. Compressed, since they may be large."""

from __future__ import annotations

import zlib

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from executor.model.digest import digest_text
from executor.model.ids import now_ms
from executor.model.source import Source, SourceDocument
from executor.storage.tables.core import documents
from executor.storage.upserts import upsert

LEVEL = 3  # a document of 12 MB takes a sixth of a second; more would gain little


def compress_document(content: bytes, media_type: str) -> SourceDocument:
    """Takes its time for a large one: not for the event loop."""
    return SourceDocument(media_type, digest_text(content), len(content), zlib.compress(content, LEVEL), now_ms())


def put(c: Connection, source: Source, document: SourceDocument) -> None:
    row = {
        "source_id": source.id,
        "workspace_id": source.workspace_id,
        "media_type": document.media_type,
        "digest": document.digest,
        "size": document.size,
        "content": document.packed,
        "read_at": document.read_at,
    }
    upsert(c, documents, ("source_id",), row)


def get(c: Connection, workspace_id: str, source_id: str) -> SourceDocument | None:
    mine = (documents.c.source_id == source_id, documents.c.workspace_id == workspace_id)
    row = c.execute(sa.select(documents).where(*mine)).first()
    if row is None:
        return None
    return SourceDocument(row.media_type, row.digest, row.size, row.content, row.read_at)
