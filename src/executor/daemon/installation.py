"""The installation record: a private file beside the tokens that says which database belongs here.

Without it, a lost or emptied database would silently become a new installation, and an older copy would run again what
was done already. A record without an organization belongs to a start that has not finished, or to a database that a
person has accepted: the next start takes whatever is there.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from executor.daemon import lock
from executor.errors import DatabaseMissing, DatabaseUnexpected, InvalidRequest
from executor.private_files import write_private
from executor.settings import Settings
from executor.storage import integrity
from executor.storage.integrity import Head
from executor.storage.location import is_empty, sqlite_path

FILE = "installation.json"
SECONDS = 60.0
_checked: set[Path] = set()  # by this process just now, which holds the lock


@dataclass(frozen=True, slots=True)
class Record:
    """`heads` are the last events by workspace, as they were when it was written."""

    organization_id: str = ""
    heads: dict[str, Head] = field(default_factory=dict)


def record_file(settings: Settings) -> Path:
    return settings.data_dir / FILE


def database_of(settings: Settings) -> Path:
    return sqlite_path(settings.database_url, settings.data_dir)


def load(settings: Settings) -> Record | None:
    """None if it does not exist. An unreadable one still shows that there was an installation."""
    try:
        found = json.loads(record_file(settings).read_text(encoding="utf-8"))
        heads = {workspace: (int(head[0]), str(head[1])) for workspace, head in found["heads"].items()}
        return Record(str(found["organization"]), heads)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, IndexError):
        return Record("unreadable")


def save(settings: Settings, record: Record) -> None:
    text: dict[str, Any] = {"organization": record.organization_id, "heads": record.heads}
    settings.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_private(record_file(settings), json.dumps(text) + "\n", durable=True)


def check_beginning(settings: Settings) -> None:
    """Before the daemon makes anything. Tokens without a record are of a version that kept none."""
    path = database_of(settings)
    if load(settings) is None and settings.operator_token_file.exists() and is_empty(path):
        raise missing(settings, f"the database {path} is missing or empty")
    check(settings)
    _checked.add(path)


def check(settings: Settings) -> None:
    """Before anything is opened: refuse a database that is gone, emptied, damaged, older or another one's."""
    path, record = database_of(settings), load(settings)
    if is_empty(path):
        if record and record.organization_id:
            raise missing(settings, f"the database {path} is {'empty' if path.exists() else 'missing'}")
        if record is None:
            save(settings, Record())
        return
    if path not in _checked:
        integrity.check(path)
    _checked.discard(path)
    if record is not None and record.organization_id:
        _compare(settings, path, record)


def begin(settings: Settings) -> None:
    """Accept that there is no database: the next start creates one. Never touches an existing one."""
    path = database_of(settings)
    with lock.acquire(settings.lock_file):
        if not is_empty(path) and integrity.identify(path) is not None:
            raise InvalidRequest(
                f"there is already a database: {path}",
                hint="move it away first; existing databases are never overwritten",
            )
        save(settings, Record())


def accept(settings: Settings) -> None:
    """Accept the database that is there, be it older or of another installation."""
    path = database_of(settings)
    with lock.acquire(settings.lock_file):
        if is_empty(path):
            raise missing(settings, f"there is no database to accept: {path}")
        integrity.check(path)
        save(settings, Record())


def write(settings: Settings) -> None:
    """Note which database this is and how far its log has come."""
    found = integrity.identify(database_of(settings))
    record = Record(found.organization_id, found.heads) if found else Record()
    if record != load(settings):
        save(settings, record)


async def keep(settings: Settings) -> None:
    while True:
        await asyncio.sleep(SECONDS)
        await asyncio.to_thread(write, settings)


def missing(settings: Settings, what: str) -> DatabaseMissing:
    return DatabaseMissing(
        f"{what}, but {settings.data_dir} belongs to an installation that had one",
        hint="restore the file or a backup of it; to start without its executions, policies and "
        "secrets: `executor up --new`",
    )


def _compare(settings: Settings, path: Path, record: Record) -> None:
    found = integrity.identify(path)
    if found is None:
        raise missing(settings, f"the database {path} has been emptied")
    if record.organization_id not in (found.organization_id, "unreadable"):
        raise _unexpected_database(
            f"the database {path} belongs to another installation ({found.organization_id}); this one "
            f"is {record.organization_id}"
        )
    for workspace_id, head in record.heads.items():
        now = found.heads.get(workspace_id, (0, ""))
        if now != head and (now[0] <= head[0] or not integrity.has_event(path, workspace_id, head)):
            raise _unexpected_database(
                f"the database {path} is older than this installation, or its log was rewritten: event "
                f"{head[0]} of workspace {workspace_id} was recorded, but the last one in the database is "
                f"{now[0]}"
            )


def _unexpected_database(what: str) -> DatabaseUnexpected:
    return DatabaseUnexpected(
        what,
        hint="restore the newer file; if you restored this one on purpose, accept it with `executor "
        "up --restored`: calls that it does not know may be sent again",
    )
