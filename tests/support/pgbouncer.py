"""A real PgBouncer in transaction mode in front of a server of the tests, as Debian's package has it."""

from __future__ import annotations

import atexit
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from urllib.parse import quote

import psycopg
import pytest

from tests.support import postgres
from tests.support.conditions import wait_for

SESSIONS = 4  # of the server, for all clients together: so few that they get each other's
CONFIGURATION = """
[databases]
* = host={server} user=postgres
[pgbouncer]
unix_socket_dir = {folder}
listen_port = 6432
listen_addr =
auth_type = any
pool_mode = transaction
default_pool_size = {sessions}
max_client_conn = 400
logfile = {folder}/log
pidfile =
"""


def program() -> str:
    found = shutil.which("pgbouncer", path=f"{os.environ['PATH']}:/usr/sbin")
    if found is None:
        pytest.skip("PgBouncer is not installed; .ci/run installs Debian's package")
    return found


@contextmanager
def running_pgbouncer(server: postgres.Server, sessions: int = SESSIONS) -> Iterator[Path]:
    """The folder of its socket."""
    command = program()
    folder = Path(tempfile.mkdtemp(prefix="executor-pgbouncer-"))
    folder.chmod(0o755)
    file = folder / "pgbouncer.ini"
    file.write_text(CONFIGURATION.format(server=server.folder, folder=folder, sessions=sessions))
    owner = {}
    if (name := postgres.user()) is not None:  # it refuses root
        entry = pwd.getpwnam(name)
        os.chown(folder, entry.pw_uid, entry.pw_gid)
        owner = {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}
    process = subprocess.Popen([command, "-q", str(file)], cwd=folder, **owner)  # type: ignore[call-overload]
    try:
        wait_for(lambda: _answers(folder), "PgBouncer answers")
        yield folder
    finally:
        process.terminate()
        process.wait(60)
        shutil.rmtree(folder, ignore_errors=True)


@cache
def of_this_process() -> Path:
    """In front of the server of this process, started when the first test asks for it."""
    running = running_pgbouncer(postgres.server())
    atexit.register(running.__exit__, None, None, None)
    return running.__enter__()


def url(folder: Path, database: str) -> str:
    return f"postgresql://postgres@/{database}?host={quote(str(folder), safe='')}&port=6432"


def _answers(folder: Path) -> bool:
    with suppress(psycopg.OperationalError), psycopg.connect(url(folder, "postgres"), prepare_threshold=None) as c:
        return c.execute("SELECT 1").fetchone() == (1,)
    return False
