"""What PostgreSQL's SQLSTATEs mean here. The words of a failed connection are not passed on: they may quote its URL."""

from __future__ import annotations

from typing import Any

from sqlalchemy.exc import DataError, DBAPIError, OperationalError

from executor.errors import Collision, InvalidRequest, StorageDamaged, StorageError, StorageFull

LOST = ("08", "57P0", "25P03")  # the connection broke, the server stops or starts, or it ended a frozen transaction
AGAIN = ("40001", "40P01")  # serialization failure, deadlock
CANCELLED = "57014"
LOCKED = "55P03"
_DOCTOR = "run `executor doctor`"
_WORDS: dict[str, tuple[str, str]] = {
    "28": ("PostgreSQL refused the user or the password", "check the user and the password in EXECUTOR_DATABASE_URL"),
    "3D": ("the database of the PostgreSQL URL does not exist", "create it with `createdb`; see docs/postgresql.md"),
    "53300": ("PostgreSQL has no free connection", "raise max_connections, or close other clients"),
    "42501": ("the PostgreSQL user lacks a right", "grant it the schema: GRANT ALL ON SCHEMA public TO that user"),
    "42P01": ("the database has no tables of Executor", "run `executor db migrate`"),
    "3F000": ("the PostgreSQL user has no schema to create tables in", "grant it USAGE and CREATE on a schema"),
    "25006": ("PostgreSQL takes no writes: it is read-only or a standby", "connect to the primary server"),
    LOCKED: ("another session of PostgreSQL held a lock for too long", _DOCTOR),
    "pooler": (
        "the PostgreSQL URL leads to a pooler such as PgBouncer",
        "set EXECUTOR_DATABASE_DIRECT_URL to the address of the server itself, for what needs a session of its own",
    ),
    CANCELLED: ("PostgreSQL ended a statement that took too long", _DOCTOR),
}
POOLER = _WORDS["pooler"]
_REFUSED = {
    "authentication failed": "28",
    "no password supplied": "28",
    "no pg_hba.conf entry": "28",
    'role "': "28",
    'database "': "3D",
    "unsupported startup parameter": "pooler",
    "too many c": "53300",  # clients, or connections
}
LOST_WORDS = ("the connection to PostgreSQL was lost or can't be made", "check that the server runs and is reachable")


def sqlstate(error: BaseException | None) -> str:
    return getattr(getattr(error, "orig", error), "sqlstate", None) or ""


def is_lost(error: DBAPIError) -> bool:
    state = sqlstate(error)
    return error.connection_invalidated or state.startswith(LOST) or (not state and isinstance(error, OperationalError))


def storage_error(error: DBAPIError, where: str = "") -> Exception:
    """`where` is the server for people, if it is known: part of what is said when it can't be reached."""
    state, original = sqlstate(error), error.orig
    if state in AGAIN:
        return Collision("another transaction was in the way", hint="try again")
    if is_lost(error):
        message, hint = _connection_words(original)
        return StorageError(f"{message}: {where}" if where else message, hint=hint)
    if state == "53100":
        return StorageFull("the disk of the PostgreSQL server is full", hint="free some space; nothing was lost")
    if state in ("XX001", "XX002"):
        return StorageDamaged("PostgreSQL found damage in its files", hint="restore a backup; see docs/backup.md")
    for begin, (message, hint) in _WORDS.items():
        if state.startswith(begin):
            return StorageError(message, hint=hint)
    if isinstance(error, DataError):
        return _invalid(original)
    if isinstance(error, OperationalError):
        return StorageError(f"PostgreSQL refused: {_primary(original)}", hint=_DOCTOR)
    return error


def _connection_words(original: Any) -> tuple[str, str]:
    """Of a connection that was refused, libpq has no SQLSTATE, only the server's words."""
    words = str(original)
    for part, state in _REFUSED.items():
        if part in words:
            return _WORDS[state]
    return LOST_WORDS


def _invalid(original: Any) -> InvalidRequest:
    if "NUL" in str(original):
        return InvalidRequest("the character NUL (U+0000) can't be stored in a text", hint="leave it out")
    return InvalidRequest(f"a value can't be stored: {_primary(original)}", hint="use a smaller number or another text")


def _primary(original: Any) -> str:
    return str(getattr(getattr(original, "diag", None), "message_primary", None) or "no reason given")
