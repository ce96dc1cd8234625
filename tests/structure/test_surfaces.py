"""Surfaces don't query. Import contracts keep storage and SQLAlchemy out of them; this keeps transactions out."""

from __future__ import annotations

import re
from pathlib import Path

import executor

SURFACES = Path(executor.__path__[0]) / "surfaces"
TRANSACTION = re.compile(r"\bdatabase\s*\.\s*(read|write|search|scan|engine)\b")


def test_no_surface_runs_a_transaction() -> None:
    found = [
        f"{path.relative_to(SURFACES)}: {match.group()}"
        for path in sorted(SURFACES.rglob("*.py"))
        for match in TRANSACTION.finditer(path.read_text(encoding="utf-8"))
    ]
    assert not found


def test_a_transaction_is_recognised() -> None:
    assert TRANSACTION.search("await here.executor.database.read(job)")
    assert not TRANSACTION.search("await history.find(here.executor.database, here.actor, execution_id)")
