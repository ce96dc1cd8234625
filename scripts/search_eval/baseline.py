"""Plain SQLite FTS5 over the same text: what discovery has to beat."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any

from executor.catalog.search.query.tokenizer import STOP, split

COLUMNS = ("name", "summary", "description", "route", "tags", "parameters")
WEIGHTS = (6.0, 4.0, 1.0, 2.0, 2.0, 0.6)


class Fts5:
    def __init__(self, tools: Sequence[dict[str, Any]]) -> None:
        self._ids = [tool["id"] for tool in tools]
        self._database = sqlite3.connect(":memory:")
        self._database.execute(f"create virtual table f using fts5({', '.join(COLUMNS)}, tokenize='porter unicode61')")
        rows = ((number, *fields(tool)) for number, tool in enumerate(tools, 1))
        insert = f"insert into f(rowid, {', '.join(COLUMNS)}) values (?, ?, ?, ?, ?, ?, ?)"  # noqa: S608 - constants
        self._database.executemany(insert, rows)

    def search(self, query: str, limit: int = 10) -> list[str]:
        words = dict.fromkeys(word for word in split(query) if word not in STOP)
        if not words:
            return []
        match = " OR ".join(f'"{word}"' for word in words)
        rank = f"bm25(f, {', '.join(map(str, WEIGHTS))})"
        found = self._database.execute(
            f"select rowid from f where f match ? order by {rank}, rowid limit ?",  # noqa: S608 - constants
            (match, limit),
        )
        return [self._ids[row[0] - 1] for row in found]


def fields(tool: dict[str, Any]) -> tuple[str, ...]:
    name = tool.get("operationId") or tool.get("name") or tool["id"]
    parameters = [*(one[0] for one in tool.get("params") or ()), *(tool.get("body") or ())]
    texts = (
        name,
        tool.get("summary") or "",
        tool.get("description") or "",
        f"{tool.get('method') or ''} {tool.get('path') or ''}",
        f"{' '.join(map(str, tool.get('tags') or ()))} {tool.get('source') or ''}",
        " ".join(parameters),
    )
    return tuple(" ".join(split(text)) for text in texts)
