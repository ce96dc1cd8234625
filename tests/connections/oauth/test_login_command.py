"""`executor connections login`, as a person or a script uses it."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from executor.surfaces.cli import exit_codes
from tests.connections.oauth.test_login import with_cookie
from tests.connections.oauth.test_private_keys import new_key
from tests.support.authorization import Client
from tests.support.conditions import wait_for
from tests.support.login_harness import visit
from tests.support.loopback import Answer, Authority, Service, listening
from tests.surfaces.cli.conftest import Cli
from tests.surfaces.cli.test_call import read_until, terminal


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


def test_client_credentials_need_no_one_and_take_the_secret_from_standard_input(place: Place) -> None:
    place.authority.ledger.clients["app"] = Client("app", "s3cret", (), "client_secret_basic")
    words = (*place.words, "--client-credentials", "--client-id", "app", "--with-secret", "--name", "robot", "--json")
    done = place.cli(*words, stdin="s3cret\n")
    assert done.code == 0, done.err
    assert json.loads(done.out)["status"] == "ready"
    assert "s3cret" not in done.out + done.err


def test_a_client_signs_with_the_key_of_a_file(place: Place, tmp_path: Path) -> None:
    private, public = new_key("p256")
    place.authority.ledger.clients["signer"] = Client("signer", public, (), "private_key_jwt")
    file = tmp_path / "key.pem"
    file.write_text(private)
    words = (*place.words, "--client-credentials", "--client-id", "signer", "--name", "signed", "--json")
    done = place.cli(*words, "--key-file", str(file))
    assert done.code == 0, done.err
    assert json.loads(done.out)["status"] == "ready"
    file.write_bytes(b"\xff\xfe")
    assert "not a PEM file" in place.cli(*words, "--key-file", str(file)).err


def test_what_the_server_refuses_is_reported_with_a_next_step(place: Place) -> None:
    done = place.cli("connections", "login", "nowhere")
    assert done.code == 1
    assert "no source 'nowhere'" in done.err


# -- a call that waits for a login -----------------------------------------------------------------------------------

CODE = "return (await tools.cal.me.getMe({})).name"
LINK = re.compile(r"http://\S+/oauth/begin/\S+")


@dataclass
class Calendar:
    """An API and the server that logs in to it, at one address: nothing about the login has to be confirmed."""

    origin: str

    def __post_init__(self) -> None:
        self.authority = Authority(self.origin)
        self.service = Service(self.origin, self.authority)

    def answer(self, method: str, target: str, body: bytes, headers: dict[str, str]) -> Answer:
        is_service = target.startswith(("/api/", "/openapi.json"))
        return (self.service if is_service else self.authority).answer(method, target, body, headers)


@pytest.fixture
def calendar(place: Place, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """The browser of this place only notes the page that it is to show."""
    browser, shown = tmp_path / "browser", tmp_path / "shown"
    browser.write_text(f'#!/bin/sh\nprintf "%s" "$1" > {shown}\n')
    browser.chmod(0o755)
    monkeypatch.setenv("BROWSER", f"{browser} %s")
    with listening(Calendar) as served:
        added = place.cli("sources", "add", f"{served.origin}/openapi.json", "--namespace", "cal")
        assert added.code == 0, added.err
        yield shown
        place.cli("sources", "remove", "cal")


def link_on(screen: int) -> str:
    seen = read_until(screen, "waiting for your login")
    found = LINK.search(seen)
    assert found, seen
    return found[0]


def test_the_command_that_a_waiting_call_names_is_the_one_that_works(place: Place, calendar: Path) -> None:
    waits = place.cli("call", CODE)
    assert waits.code == exit_codes.PAUSED
    commands = [line.split()[1:] for line in waits.err.splitlines() if line.startswith("  executor ")]
    login, _, resume = commands
    assert login[:3] == ["connections", "login", "cal"] and login[3] == "--interaction"
    assert f"/connect/{login[4]}" in waits.err and "approvals give" not in waits.err
    shown = place.cli("approvals", "show", login[4])
    assert f"executor {' '.join(login)}" in shown.err
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "stdin": subprocess.DEVNULL}
    with place.cli.start(*login, **pipes) as process:
        assert process.stdout is not None
        assert browse(process.stdout.readline().strip()) == 200
        rest, said = process.communicate(timeout=60)
    assert process.returncode == 0, said
    assert rest.startswith("connected cal (default)")
    done = place.cli(*resume)
    assert (done.code, done.out) == (exit_codes.COMPLETED, '"Ann"\n'), done.err


def test_giving_a_login_without_a_terminal_names_that_command_and_the_page(place: Place, calendar: Path) -> None:
    [asked] = place.cli("call", "--json", CODE).json["interactions"]
    for words in ((), ("--json",), ("--own",)):
        refused = place.cli("approvals", "give", asked["id"], *words)
        said = refused.out + refused.err
        assert refused.code == exit_codes.USAGE
        assert f"connections login cal --interaction {asked['id']}" in said and asked["url"] in said
        assert "does not say which credential it accepts" not in said
    assert place.cli("approvals", "show", asked["id"], "--json").json["status"] == "pending"


@pytest.mark.parametrize("word", ["g", "go"])
def test_in_a_terminal_the_browser_is_opened_and_the_run_goes_on(place: Place, calendar: Path, word: str) -> None:
    with terminal(place.cli, "call", CODE) as (process, screen):
        read_until(screen, "[g]o to the login")
        os.write(screen, f"{word}\n".encode())
        link = link_on(screen)
        assert wait_for(lambda: calendar.exists() and link in Path(urlsplit(calendar.read_text()).path).read_text())
        assert browse(link) == 200
        assert process.wait(60) == exit_codes.COMPLETED
        assert process.stdout is not None
        assert process.stdout.read() == '"Ann"\n'


def test_approvals_give_in_a_terminal_logs_in_too(place: Place, calendar: Path) -> None:
    view = place.cli("call", "--json", CODE).json
    with terminal(place.cli, "approvals", "give", view["interactions"][0]["id"]) as (process, screen):
        assert browse(link_on(screen)) == 200
        assert process.wait(60) == exit_codes.COMPLETED
    assert place.cli("resume", "--execution-id", view["executionId"]).out == '"Ann"\n'


def test_a_login_whose_interaction_was_denied_meanwhile_is_not_waited_for(place: Place, calendar: Path) -> None:
    with terminal(place.cli, "call", CODE) as (process, screen):
        read_until(screen, "[g]o to the login")
        os.write(screen, b"g\n")
        link_on(screen)
        [asked] = place.cli("approvals", "list", "--source", "cal", "--json").json["items"]
        assert place.cli("approvals", "deny", asked["id"]).code == exit_codes.COMPLETED
        assert "is no longer waiting for a login: denied" in read_until(screen, "hint:")
        process.wait(60)


def test_a_login_server_on_a_private_network_is_confirmed_by_name(place: Place) -> None:
    with (
        listening(Authority) as authority,
        listening(lambda origin: Service(origin, authority)) as service,
    ):
        added = place.cli("sources", "add", f"{service.origin}/openapi.json", "--namespace", "inside")
        assert added.code == 0, added.err
        code = CODE.replace("cal", "inside")
        for answer, code_after in ((b"n\n", exit_codes.PAUSED), (b"y\n", exit_codes.COMPLETED)):
            with terminal(place.cli, "call", code) as (process, screen):
                read_until(screen, "[g]o to the login")
                os.write(screen, b"g\n")
                assert authority.origin in read_until(screen, "is this the right server?")
                os.write(screen, answer)
                if answer == b"y\n":
                    assert browse(link_on(screen)) == 200
                assert process.wait(60) == code_after
        place.cli("sources", "remove", "inside")
