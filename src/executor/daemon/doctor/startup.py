"""What `executor up` would refuse, found out by the very functions that refuse it, without changing anything."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from executor.daemon import control, data_files, installation
from executor.daemon.doctor.check import Check
from executor.daemon.session_settings import check_hosts
from executor.daemon.wiring.secrets import master_keys_of
from executor.errors import DataDirectoryLocked, ExecutorError, InvalidRequest
from executor.identity.local_tokens import read_token
from executor.network.addresses import parse
from executor.settings import Settings
from executor.storage.location import SqliteFile

KEY_PLACES = {
    "file": "the data directory",
    "keyring": "the keyring",
    "shared": "what every process is given",
    "vault": "the vault",
}


def check_installation(settings: Settings) -> Iterator[Check]:
    """Whether this is the database that belongs here."""
    try:
        location = installation.database_of(settings)
    except InvalidRequest:  # which another check reports
        return
    if isinstance(location, SqliteFile):
        check_place(location.path)
    installation.check_beginning(settings, writes=False)
    yield Check("installation", "ok", "the database belongs to this data directory")


def check_place(path: Path) -> None:
    """As it is opened at a start. Raises OSError."""
    if path.exists():
        os.close(os.open(path, os.O_RDWR))
        return
    folder = next(one for one in path.parents if one.exists())
    if not folder.is_dir() or not os.access(folder, os.W_OK | os.X_OK):
        raise data_files.unusable(path.parent, "EXECUTOR_DATABASE_URL", PermissionError(13, "Permission denied"))


def check_tokens(settings: Settings) -> Iterator[Check]:
    for file in (settings.operator_token_file, settings.agent_token_file):
        try:
            if read_token(file) is not None:
                yield Check(file.name, "ok", "readable only by you")
        except ExecutorError as error:
            yield Check(file.name, "failure", error.message, error.hint)


def check_keys(settings: Settings) -> Iterator[Check]:
    """The key of the secrets. One that does not exist is created by the first secret."""
    master_keys_of(settings).has("")  # reads what is there
    yield Check("secret key", "ok", f"kept in {KEY_PLACES[settings.secrets_key]}")


def check_shared_state(settings: Settings) -> Iterator[Check]:
    """Files of the state directory that a start writes, and no other daemon's."""
    data_files.check_state_dir(settings)
    if settings.log_file.exists() or settings.log_file.is_symlink():
        os.close(os.open(settings.log_file, os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW))
    yield Check("log file", "ok", str(settings.log_file))


def check_session_hosts(settings: Settings) -> Iterator[Check]:
    check_hosts(settings)
    if settings.session_hosts:
        yield Check("session_hosts", "ok", ", ".join(settings.session_hosts))


def check_issuers(settings: Settings) -> Iterator[Check]:
    written = {
        "mcp_issuer": settings.mcp_issuer,
        "mcp_jwks_url": settings.mcp_jwks_url,
        "oidc_issuer": settings.oidc_issuer,
    }
    for name, url in written.items():
        if not url:
            continue
        try:
            parse(url)
            yield Check(name, "ok", url)
        except ExecutorError as error:
            yield Check(name, "failure", error.message, error.hint)


def check_lock(settings: Settings) -> Iterator[Check]:
    if control.look(settings).pid == 0:
        raise DataDirectoryLocked(
            f"the data directory {settings.data_dir} is in use by a process that can't be seen from here",
            hint="if a container or another machine uses it, give each daemon its own EXECUTOR_DATA_DIR",
        )
    yield Check("lock", "ok", "the data directory is in use by no one else")
