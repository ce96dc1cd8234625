"""A PostgreSQL server for the tests of one process, and databases in it that are made from a migrated one.

Debian's packages, as any user; in a temporary directory, on a Unix socket, without fsync. Its order of texts is that of
a language (ICU, if the server has it), so that a comparison which depends on it is found.
"""

from __future__ import annotations

import atexit
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote
from uuid import uuid4

import psycopg
import pytest

from executor.storage.postgres.server import PostgresServer
from executor.storage.tables.core import metadata

PLACES = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda place: int(place.parent.name), reverse=True)
CRASH = signal.SIGQUIT
QUICK = ("fsync=off", "full_page_writes=off", "max_connections=200", "wal_retrieve_retry_interval=200ms")


def binary(name: str) -> str:
    found = next((str(place / name) for place in PLACES if (place / name).exists()), None) or shutil.which(name)
    if found is None:
        pytest.skip("PostgreSQL is not installed; .ci/run installs Debian's packages")
    return found


def user() -> str | None:
    """Whom to run it as: PostgreSQL refuses root."""
    if os.geteuid() != 0:
        return None
    names = {entry.pw_name for entry in pwd.getpwall()}
    return "postgres" if "postgres" in names else "nobody"


class Server:
    """`source` is the server that this one copies and follows, as a standby. With a `host`, it listens there too."""

    def __init__(self, source: Server | None = None, *, host: str = "", port: int = 5432) -> None:
        self.host, self.port = host, port
        self.settings = (*QUICK, f"listen_addresses={host}", f"port={port}")
        self.folder = Path(tempfile.mkdtemp(prefix="executor-pg-"))
        self.owner = user()
        self._as: dict[str, Any] = {"cwd": self.folder, "env": {"PATH": os.environ["PATH"], "LC_ALL": "C"}}
        if self.owner is not None:
            entry = pwd.getpwnam(self.owner)
            os.chown(self.folder, entry.pw_uid, entry.pw_gid)
            self._as |= {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}
        self.folder.chmod(0o755)  # clients of other users reach the socket
        self.process: subprocess.Popen[bytes] | None = None
        self._initialize() if source is None else self._copy(source)
        self.start()

    def _initialize(self) -> None:
        base = [binary("initdb"), "-D", "data", "-U", "postgres", "--auth=trust", "--encoding=UTF8", "--no-sync"]
        for locale in (["--locale-provider=icu", "--icu-locale=en-US", "--locale=C"], ["--locale=C"]):
            done = subprocess.run([*base, *locale], capture_output=True, check=False, **self._as)
            if done.returncode == 0:
                with (self.folder / "data" / "pg_hba.conf").open("a") as rules:
                    rules.write(f"host all all {self.host}/24 trust\n" if self.host else "")
                return
        raise AssertionError(f"initdb failed: {done.stderr.decode()}")

    def _copy(self, source: Server) -> None:
        """Of what is there, and with the order to follow what comes."""
        self._run(*source.copy_command(), "-D", "data", "-R")

    def copy_command(self) -> list[str]:
        where = ["-h", str(self.folder), "-p", str(self.port), "-U", "postgres"]
        return [binary("pg_basebackup"), *where, "--wal-method=stream", "--checkpoint=fast", "--no-sync"]

    def _run(self, *command: str) -> None:
        subprocess.run(command, check=True, capture_output=True, **self._as)

    def follow(self, source: Server) -> None:
        """From now on a standby, whatever it was before."""
        self.stop(CRASH)
        shutil.rmtree(self.folder / "data")
        self._copy(source)
        self.start()

    def back_up(self, folder: str) -> None:
        """A base backup, in its folder."""
        self._run(*self.copy_command(), "-D", folder)

    def restore(self, folder: str, *settings: str) -> None:
        """Replace everything by a base backup, then replay the log as `settings` say."""
        self.stop()
        shutil.rmtree(self.folder / "data")
        self._run("cp", "-a", folder, "data")
        self._run("touch", "data/recovery.signal")
        with (self.folder / "data" / "postgresql.auto.conf").open("a") as file:
            file.writelines(f"{setting}\n" for setting in settings)
        self.start()

    def start(self) -> None:
        settings = [word for setting in self.settings for word in ("-c", setting)]
        command = [binary("postgres"), "-D", "data", "-k", str(self.folder), *settings]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, **self._as)
        ends = time.monotonic() + 120
        while True:
            try:
                self.execute("SELECT 1")
                return
            except psycopg.OperationalError:
                assert time.monotonic() < ends and self.process.poll() is None, (self.folder / "log").read_text()
                time.sleep(0.05)

    def stop(self, how: int = signal.SIGINT) -> None:
        """At once by default: sessions are ended. `CRASH` ends it without a word to anyone."""
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(how)
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(60)

    def remove(self) -> None:
        self.stop(signal.SIGQUIT)
        shutil.rmtree(self.folder, ignore_errors=True)

    def url(self, database: str, role: str = "postgres", password: str = "") -> str:
        secret = f":{quote(password, safe='')}" if password else ""
        return f"postgresql://{role}{secret}@/{database}?host={quote(str(self.folder), safe='')}&port={self.port}"

    def client_url(self, database: str) -> str:
        """For processes that may be on other machines."""
        return f"postgresql://postgres@{self.host}:{self.port}/{database}" if self.host else self.url(database)

    def execute(self, statement: str, database: str = "postgres") -> list[tuple[Any, ...]]:
        with psycopg.connect(self.url(database), autocommit=True) as connection:
            done = connection.execute(statement.encode())
            return done.fetchall() if done.description else []

    def create(self, template: str = "template0") -> str:
        """A database of its own, by default without tables. It takes about a second."""
        name = f"test_{uuid4().hex[:12]}"
        self.execute(f"CREATE DATABASE {name} TEMPLATE {template}")
        return name

    def create_migrated(self) -> str:
        """A database of its own, with this version's tables."""
        return self.create(_migrate_once(self, "template"))

    def blank(self) -> str:
        """The database that tests of this process share which make tables themselves."""
        name = _scratch(self)
        self.execute("DROP SCHEMA public CASCADE; CREATE SCHEMA public", name)
        return name

    def clear_shared(self) -> str:
        """The database that tests of this process share, with this version's tables and nothing in them."""
        name = _migrate_once(self, "shared")
        tables = [table.name for table in metadata.sorted_tables]
        deletes = [f"DELETE FROM {table}" for table in tables]  # noqa: S608 - own names
        self.execute("; ".join(["SET session_replication_role = replica", *deletes]), name)
        self.execute("ALTER SEQUENCE events_id_seq RESTART", name)
        return name


@cache
def _scratch(server: Server) -> str:
    return server.create()


@cache
def _migrate_once(server: Server, purpose: str) -> str:
    name = server.create()
    PostgresServer(server.url(name)).migrate()
    return name


@cache
def server() -> Server:
    """Of this process, started when the first test asks for it."""
    made = Server()
    atexit.register(made.remove)
    return made
