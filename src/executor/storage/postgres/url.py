"""Addresses of PostgreSQL databases: read by libpq itself, and shown without what is secret in them."""

from __future__ import annotations

import re
from types import ModuleType
from typing import Any

from executor.errors import InvalidRequest, way_to_install

SCHEMES = ("postgresql://", "postgres://")
ENCODE = "percent-encode characters such as @ : / # in the user name and the password"
_HOST = re.compile(r"[A-Za-z0-9._:,\-]*|/[^@]*")
_NAME = re.compile(r"[^@:/]*")
# libpq's defaults wait for ever, and the server's keep the locks of a client that died without a word.
TRANSACTION = {
    "statement_timeout": "60s",
    "lock_timeout": "15s",
    "idle_in_transaction_session_timeout": "300s",
    "TimeZone": "UTC",
}
_SESSION = (
    *(f"{name}={value}" for name, value in TRANSACTION.items()),
    *("tcp_keepalives_idle=30", "tcp_keepalives_interval=10", "tcp_keepalives_count=3"),
)
_DEFAULTS = {
    "connect_timeout": "10",
    "application_name": "executor",
    "keepalives_idle": "30",
    "keepalives_interval": "10",
    "keepalives_count": "3",
    "tcp_user_timeout": "30000",
}


def driver() -> ModuleType:
    try:
        import psycopg
    except ImportError as error:
        raise InvalidRequest(
            "PostgreSQL needs the extra `cluster`, which is not installed",
            hint=way_to_install("cluster"),
        ) from error
    return psycopg


def parameters(url: str, *, pooled: bool = False) -> dict[str, Any]:
    """The parameters of a connection. Nothing of a URL that can't be read is in the error: it may be the password.

    A pooler takes no options, and may run the next transaction in a session without the prepared statements of this.
    """
    psycopg = driver()
    from psycopg.conninfo import conninfo_to_dict

    try:
        given = conninfo_to_dict(url)
    except psycopg.Error:
        raise InvalidRequest("the PostgreSQL URL can't be read", hint=ENCODE) from None
    if not (_HOST.fullmatch(str(given.get("host") or "")) and _NAME.fullmatch(str(given.get("dbname") or ""))):
        raise InvalidRequest("the host or the database in the PostgreSQL URL is not a name", hint=ENCODE)
    if "," in str(given.get("host") or ""):  # or one that takes no writes might answer first
        given.setdefault("target_session_attrs", "read-write")
    if pooled:
        return {**_DEFAULTS, **given, "client_encoding": "utf8", "prepare_threshold": None}
    session = " ".join(f"-c {setting}" for setting in _SESSION)
    options = f"{session} {given.get('options') or ''}".strip()
    return {**_DEFAULTS, **given, "options": options, "client_encoding": "utf8"}


def address(url: str) -> str:
    """Host, port and database: for people, errors and logs."""
    given = parameters(url)
    host, port = given.get("host") or "local socket", given.get("port")
    return f"PostgreSQL {host}{f':{port}' if port else ''}/{given.get('dbname') or ''}"
