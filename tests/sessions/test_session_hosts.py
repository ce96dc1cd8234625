"""What a sandboxed session reaches beyond its model: the hosts of the settings, and nothing else."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.daemon import Daemon
from tests.support.sandbox import needs_sandbox
from tests.support.sessions import Session

pytestmark = needs_sandbox
FETCH = """python3 -c "
import urllib.request
try:
    print(urllib.request.urlopen('http://{host}/', timeout=60).read().decode())
except OSError as error:
    print('refused', error)
" """


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    daemon = Daemon(tmp_path_factory.mktemp("daemon"), EXECUTOR_SESSION_HOSTS="registry.invalid read-only")
    daemon.start()
    yield daemon
    daemon.stop()


def output_of(session: Session, command: str) -> str:
    session.prompt({"run": command})
    return str(session.messages("tool_call")[-1]["data"]["content"][0]["text"])


def test_the_proxy_tells_hosts_of_the_settings_from_others(daemon: Daemon, tmp_path: Path) -> None:
    """The allowed name has no address, so that it gets as far as being resolved and nothing is reached."""
    session = Session(daemon, tmp_path, isolation="sandbox")
    assert "refused HTTP Error 502" in output_of(session, FETCH.format(host="registry.invalid"))
    assert "refused HTTP Error 403" in output_of(session, FETCH.format(host="elsewhere.invalid"))


def test_around_the_proxy_there_is_no_network(daemon: Daemon, tmp_path: Path) -> None:
    session = Session(daemon, tmp_path, isolation="sandbox")
    with socket.create_server(("127.0.0.1", 0)) as outside:
        port = outside.getsockname()[1]
        direct = f"env -u http_proxy -u HTTP_PROXY {FETCH.format(host=f'127.0.0.1:{port}')}"
        assert output_of(session, direct).startswith("refused")


def test_outside_a_sandbox_there_is_no_proxy(daemon: Daemon, tmp_path: Path) -> None:
    session = Session(daemon, tmp_path, isolation="insulated")
    assert output_of(session, "env | grep -ci proxy; true").strip() == "0"
