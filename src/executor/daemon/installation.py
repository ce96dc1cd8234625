"""The installation record: a private file beside the tokens that says which database belongs here.

Without it, a lost or emptied database would silently become a new installation, and an older copy would run again what
was done already. A record without an organization belongs to a start that has not finished, or to a database that a
person has accepted: the next start takes whatever is there.
"""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from dataclasses import field
from pathlib import Path
from typing import Any

from executor.daemon import lock
from executor.dataclass import dataclass
from executor.errors import DatabaseMissing, DatabaseUnexpected, InvalidRequest, StorageError
from executor.private_files import write_private
from executor.settings import Settings
from executor.storage.integrity import Head
from executor.storage.location import Location, find, is_postgres

FILE = "installation.json"
SECONDS = 60.0
_checked: set[Location] = set()  # by this process just now, which holds the lock


@dataclass(frozen=True, slots=True)
class Record:
    """`heads` are the last events by workspace, as they were when it was written; `database` is for people."""

    organization_id: str = ""
    heads: dict[str, Head] = field(default_factory=dict)
    database: str = ""


def record_file(settings: Settings) -> Path:
    return settings.data_dir / FILE


def database_of(settings: Settings) -> Location:
    return find(settings.database_url, settings.data_dir, settings.database_direct_url)


def load(settings: Settings) -> Record | None:
    """None if it does not exist. An unreadable one still shows that there was an installation."""
    try:
        found = json.loads(record_file(settings).read_text(encoding="utf-8"))
        heads = {workspace: (int(head[0]), str(head[1])) for workspace, head in found["heads"].items()}
        return Record(str(found["organization"]), heads, str(found.get("database", "")))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, IndexError):
        return Record("unreadable")


def save(settings: Settings, record: Record) -> None:
    text: dict[str, Any] = {"organization": record.organization_id, "heads": record.heads, "database": record.database}
    settings.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_private(record_file(settings), json.dumps(text) + "\n", durable=True)


def check_beginning(settings: Settings, *, writes: bool = True) -> None:
    """Before the daemon makes anything. Tokens without a record are of a version that kept none.

    Without `writes` it only says what a start would refuse.
    """
    database = database_of(settings)
    if load(settings) is None and settings.operator_token_file.exists() and database.is_empty():
        raise missing(settings, f"the database {database} is missing or empty")
    check(settings, writes=writes)
    if writes:
        _checked.add(database)


def check(settings: Settings, *, writes: bool = True) -> None:
    """Before anything is opened: refuse a database that is gone, emptied, damaged, older or another one's."""
    database, record = database_of(settings), load(settings)
    if database.is_empty():
        if record and record.organization_id:
            raise missing(settings, f"the database {database} is missing or empty")
        if record is None and writes:
            save(settings, Record())
        return
    if database not in _checked:
        database.check()
    _checked.discard(database)
    if record is not None and record.organization_id:
        _compare(settings, database, record)


def begin(settings: Settings) -> None:
    """Accept that there is no database: the next start creates one. Never touches an existing one."""
    database = database_of(settings)
    with lock.acquire(settings.lock_file):
        if not database.is_empty() and database.identify() is not None:
            raise InvalidRequest(
                f"there is already a database: {database}",
                hint="move it away first; existing databases are never overwritten",
            )
        save(settings, Record())


def accept(settings: Settings) -> None:
    """Accept the database that is there, be it older or of another installation."""
    database = database_of(settings)
    with lock.acquire(settings.lock_file):
        if database.is_empty():
            raise missing(settings, f"there is no database to accept: {database}")
        database.check()
        save(settings, Record())


def write(settings: Settings) -> None:
    """Note which database this is and how far its log has come."""
    database = database_of(settings)
    found = database.identify()
    record = Record(found.organization_id, found.heads, str(database)) if found else Record()
    if record != load(settings):
        save(settings, record)


async def keep(settings: Settings) -> None:
    while True:
        await asyncio.sleep(SECONDS)
        with suppress(StorageError):  # a server may be away for a while
            await asyncio.to_thread(write, settings)


def missing(settings: Settings, what: str) -> DatabaseMissing:
    file = find("", settings.data_dir)
    if is_postgres(settings.database_url) and not file.is_empty():
        return DatabaseMissing(
            f"{what}, but this installation has its data in {file}",
            hint="to copy it: `executor db copy`; to start without its executions, policies and secrets: "
            "`executor up --new`",
        )
    return DatabaseMissing(
        f"{what}, but {settings.data_dir} belongs to an installation that had one",
        hint="restore it or a backup of it; to start without its executions, policies and secrets: `executor up --new`",
    )


def _compare(settings: Settings, database: Location, record: Record) -> None:
    found = database.identify()
    if found is None:
        raise missing(settings, f"the database {database} has been emptied")
    if record.organization_id not in (found.organization_id, "unreadable"):
        raise _unexpected_database(
            f"the database {database} belongs to another installation ({found.organization_id}); this one "
            f"is {record.organization_id}"
        )
    for workspace_id, head in record.heads.items():
        now = found.heads.get(workspace_id, (0, ""))
        if now != head and (now[0] <= head[0] or not database.has_event(workspace_id, head)):
            raise _older(database, record, f"event {head[0]} of workspace {workspace_id}", now[0])


def _older(database: Location, record: Record, event: str, last: int) -> DatabaseUnexpected:
    if record.database and record.database != str(database):
        return DatabaseUnexpected(
            f"this installation last ran with another database, {record.database}, and what it did there is missing in "
            f"{database}: {event} was recorded, but the last one here is {last}",
            hint="set EXECUTOR_DATABASE_URL as it was; to continue here without what was done there: `executor up "
            "--restored`: calls that this database does not know may be sent again",
        )
    return _unexpected_database(
        f"the database {database} is older than this installation, or its log was rewritten: {event} was recorded, but "
        f"the last one in the database is {last}"
    )


def _unexpected_database(what: str) -> DatabaseUnexpected:
    return DatabaseUnexpected(
        what,
        hint="restore the newer file; if you restored this one on purpose, accept it with `executor "
        "up --restored`: calls that it does not know may be sent again",
    )
