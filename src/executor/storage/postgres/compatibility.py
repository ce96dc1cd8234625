"""Which versions can use a schema, so that old and new processes run side by side during an upgrade.

A version is known by the newest revision that it has. A migration notes the oldest version that can use its result, in
a comment, where older versions find it too. The comment is about one revision only.
"""

from __future__ import annotations

import re

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from executor.storage import migrate

_COMMENT = sa.select(sa.func.obj_description(sa.func.to_regclass(migrate.VERSION.name), "pg_class"))
_WORDS = re.compile(r"(\w+) can be used since (\w+)")


def note(c: Connection) -> None:
    """After this version's migrations."""
    words = f"{migrate.HEAD} can be used since {migrate.USABLE_SINCE}"
    c.exec_driver_sql(f"COMMENT ON TABLE {migrate.VERSION.name} IS '{words}'")


def can_use(c: Connection, present: str | None) -> bool:
    """Whether this version can use a schema of this revision: its own, or a newer one that says so."""
    if present in migrate.KNOWN:
        return present == migrate.HEAD
    noted = _WORDS.fullmatch(c.execute(_COMMENT).scalar() or "")
    return noted is not None and noted[1] == present and noted[2] in migrate.KNOWN


def can_be_used_by(revision: str) -> bool:
    """Whether a version that has this revision as its newest can use this version's schema."""
    known = migrate.KNOWN
    return revision in known and known.index(revision) >= known.index(migrate.USABLE_SINCE)
