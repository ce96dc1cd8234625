"""`executor connections login`, as a person or a script uses it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import urlsplit

import pytest

from tests.api.serving import wait_for
from tests.cli.conftest import Cli
from tests.connections.oauth.test_daemon import with_cookie
from tests.support.authorization import Client
from tests.support.logins import visit
from tests.support.loopback import Authority, Service, listening


@dataclass
class Place:
    cli: Cli
    authority: Authority

    @property
    def words(self) -> tuple[str, ...]:
        return ("connections", "login", "shop", "--allow-server", self.authority.origin)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    cli = Cli(tmp_path_factory.mktemp("cli"))
    with (
        listening(Authority) as authority,
        listening(lambda origin: Service(origin, authority)) as service,
    ):
        added = cli("sources", "add", f"{service.origin}/openapi.json", "--namespace", "shop")
        assert added.code == 0, added.err
        yield Place(cli, authority)
        cli("down")


def browse(link: str) -> int:
    parts = urlsplit(link)
    base = f"{parts.scheme}://{parts.netloc}"
    gone = visit(f"{link}/go")
    back = visit(gone.headers["Location"]).headers["Location"]
    assert back.startswith(base)
    import urllib.request

    headers = with_cookie(Headers(gone.headers["Set-Cookie"]))  # type: ignore[arg-type]
    with urllib.request.urlopen(urllib.request.Request(back, headers=headers)) as answer:
        return int(answer.status)


@dataclass
class Headers:
    cookie: str

    @property
    def headers(self) -> dict[str, str]:
        return {"set-cookie": self.cookie}


def test_a_login_by_browser_prints_the_link_and_waits_until_it_is_done(place: Place) -> None:
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "stdin": subprocess.DEVNULL}
    with place.cli.start(*place.words, **pipes) as process:
        assert process.stdout is not None
        link = process.stdout.readline().strip()
        assert browse(link) == 200
        rest, said = process.communicate(timeout=60)
    assert process.returncode == 0, said
    assert rest.startswith("connected shop (default), sent to http://127.0.0.1:")
    assert "works once" in said


def test_a_login_by_device_shows_the_code_and_asks_until_it_is_done(place: Place) -> None:
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "stdin": subprocess.DEVNULL}
    with place.cli.start(*place.words, "--device", "--name", "tv", **pipes) as process:
        assert process.stdout is not None
        code = process.stdout.readline().strip()
        devices = wait_for(lambda: [one for one in place.authority.ledger.devices.values() if one["user_code"] == code])
        devices[0]["answer"] = "yes"
        rest, said = process.communicate(timeout=60)
    assert process.returncode == 0, said
    assert rest.startswith("connected shop (tv)")


def test_client_credentials_need_nobody_and_take_the_secret_from_standard_input(place: Place) -> None:
    place.authority.ledger.clients["app"] = Client("app", "s3cret", (), "client_secret_basic")
    words = (*place.words, "--client-credentials", "--client-id", "app", "--with-secret", "--name", "robot", "--json")
    done = place.cli(*words, stdin="s3cret\n")
    assert done.code == 0, done.err
    assert json.loads(done.out)["status"] == "ready"
    assert "s3cret" not in done.out + done.err


def test_what_the_server_refuses_is_told_with_a_next_step(place: Place) -> None:
    done = place.cli("connections", "login", "nowhere")
    assert done.code == 1
    assert "no source 'nowhere'" in done.err
