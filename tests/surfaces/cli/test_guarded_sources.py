"""`sources add` where nothing can be read without a credential, and what pauses for one: asked for in place."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from executor.surfaces.cli import exit_codes
from tests.connections.oauth.test_login_command import browse
from tests.support.conditions import wait_for
from tests.support.guarded_service import METADATA, TOKEN, GuardedService
from tests.support.loopback import Answer, Authority, listening
from tests.surfaces.cli.conftest import Cli, read_opened
from tests.surfaces.cli.test_call import read_until, terminal

LINK = re.compile(r"http://\S+/oauth/begin/\S+")

PROMPT = "Enter to connect it without): "  # up to its last character: what is typed before that is dropped


@pytest.fixture
def service(shared: Cli) -> Iterator[GuardedService]:
    with listening(GuardedService) as service:
        yield service
    shared("sources", "remove", "box")


@dataclass
class Login:
    """A guarded service and the server that logs in to it, at one address."""

    origin: str

    def __post_init__(self) -> None:
        self.authority = Authority(self.origin)
        self.service = GuardedService(self.origin, self.authority)

    def answer(self, method: str, target: str, body: bytes, headers: dict[str, str]) -> Answer:
        path = urlsplit(target).path
        guarded = path in ("/openapi.json", "/graphql", "/mcp", METADATA) or path.startswith("/api")
        return (self.service if guarded else self.authority).answer(method, target, body, headers)


@pytest.fixture
def login(shared: Cli) -> Iterator[Login]:
    with listening(Login) as login:
        yield login
    shared("sources", "remove", "box")


def test_in_a_terminal_the_credential_is_asked_for_until_it_opens_the_source(
    shared: Cli, service: GuardedService
) -> None:
    words = ("sources", "add", f"{service.origin}/graphql", "--namespace", "box")
    with terminal(shared, *words) as (process, screen):
        asked = read_until(screen, PROMPT)
        assert "answered 401" in asked and f"sent to {service.origin} and nowhere else" in asked
        os.write(screen, b"mistyped\n")
        read_until(screen, PROMPT)
        os.write(screen, f"{TOKEN}\n".encode())
        assert process.stdout is not None
        assert "added box:" in process.stdout.read()
        assert process.wait(60) == exit_codes.COMPLETED
    shown = shared("sources", "show", "box", "--json").json
    assert (shown["kind"], shown["status"], shown["unread"]) == ("graphql", "connected", False)
    assert shared("connections", "list", "--json").json["items"][0]["origin"] == service.origin


def test_a_login_is_begun_in_place(shared: Cli, login: Login, pages: Path) -> None:
    words = ("sources", "add", f"{login.origin}/openapi.json", "--namespace", "box")
    with terminal(shared, *words) as (process, screen):
        seen = read_until(screen, "waiting for your login")
        link = LINK.search(seen)
        assert link, seen
        assert wait_for(lambda: [page for page in read_opened(pages) if link[0] in page])
        assert browse(link[0]) == 200
        assert process.stdout is not None
        assert "added box: 1 tool" in process.stdout.read()
        assert process.wait(60) == exit_codes.COMPLETED


def test_a_script_connects_it_first_or_passes_the_credential_on_standard_input(
    shared: Cli, service: GuardedService
) -> None:
    words = ("sources", "add", f"{service.origin}/graphql", "--namespace", "box")
    added = shared(*words, stdin="")
    assert added.code == exit_codes.COMPLETED, added.err
    assert "executor connections add box" in added.err
    assert shared("connections", "add", "box", stdin=f"{TOKEN}\n").code == exit_codes.COMPLETED
    wait_for(lambda: shared("sources", "show", "box", "--json").json["toolCount"] > 0)
    assert shared("sources", "remove", "box").code == exit_codes.COMPLETED
    added = shared(*words, "--bearer", stdin=f"{TOKEN}\n")
    assert added.code == exit_codes.COMPLETED, added.err
    assert shared("sources", "show", "box", "--json").json["toolCount"] > 0
    assert TOKEN not in added.out + added.err


def test_a_secret_by_name_opens_it(shared: Cli, service: GuardedService) -> None:
    assert shared("secrets", "set", "box-token", stdin=TOKEN).code == exit_codes.COMPLETED
    words = ("sources", "add", f"{service.origin}/openapi.json", "--namespace", "box", "--secret", "box-token")
    assert "--secret needs --bearer" in shared(*words).err
    added = shared(*words, "--bearer")
    assert (added.code, added.out) == (exit_codes.COMPLETED, "added box: 1 tool\n"), added.err
    assert shared("secrets", "remove", "box-token", "--force").code == exit_codes.COMPLETED


def test_a_transport_says_that_it_is_an_mcp_server(shared: Cli, service: GuardedService) -> None:
    words = ("sources", "add", f"{service.origin}/mcp", "--namespace", "box")
    refused = shared(*words, "--transport", "stdio")
    assert refused.code == exit_codes.USAGE and "does not fit" in refused.err
    added = shared(*words, "--transport", "streamable-http", "--bearer", "--json", stdin=f"{TOKEN}\n")
    assert (added.json["kind"], added.json["transport"]) == ("mcp", "http"), added.err
    assert {method for method, _, _ in service.seen} == {"POST"}


# -- calls that pause -------------------------------------------------------------------------------------------------


@pytest.fixture
def waiting(shared: Cli, service: GuardedService) -> str:
    """Code whose call waits for a credential."""
    assert shared("sources", "add", f"{service.origin}/graphql", "--namespace", "box", "--bearer",
                  stdin=f"{TOKEN}\n").code == exit_codes.COMPLETED  # fmt: skip
    assert shared("connections", "remove", "box").code == exit_codes.COMPLETED
    return "return await tools.box.query.me({})"


def find_request(shared: Cli, screen: str) -> dict[str, Any]:
    """The request whose address is on the screen. Other tests of this daemon may have left theirs open."""
    items = shared("approvals", "list", "--json").json["items"]
    [request] = [item for item in items if item["url"] in screen]
    found: dict[str, Any] = request
    return found


@pytest.mark.parametrize("command", ["call", "resume"])
def test_what_pauses_for_a_credential_opens_its_page_and_continues_once_it_is_given_there(
    shared: Cli, waiting: str, pages: Path, command: str
) -> None:
    words = ["call", waiting]
    if command == "resume":
        words = ["resume", "--execution-id", shared("call", waiting, "--json").json["executionId"]]
    with terminal(shared, *words) as (process, screen):
        seen = read_until(screen, "Enter for other choices")
        asked = find_request(shared, seen)
        [page] = wait_for(lambda: read_opened(pages))
        assert f"?to=/connect/{asked['id']}#" in page  # a link that signs the browser in
        given = shared("approvals", "give", asked["id"], stdin=f"{TOKEN}\n")
        assert given.code == exit_codes.COMPLETED, given.err
        os.write(screen, b"\n")
        assert process.wait(60) == exit_codes.COMPLETED
        assert process.stdout is not None
        assert process.stdout.read() == '"Ann"\n'


def test_with_no_open_the_address_is_only_printed(shared: Cli, waiting: str, pages: Path) -> None:
    with terminal(shared, "call", "--no-open", waiting) as (process, screen):
        seen = read_until(screen, "then, to continue")
        assert process.wait(60) == exit_codes.PAUSED
    asked = find_request(shared, seen)
    assert read_opened(pages) == []
    assert shared("executions", "cancel", asked["executionId"]).code == exit_codes.COMPLETED


def test_an_approval_opens_no_browser(shared: Cli, pages: Path) -> None:
    code = 'return await tools.executor.sources.add({url: "https://host.invalid/mcp", namespace: "box"})'
    with terminal(shared, "call", code) as (process, screen):
        read_until(screen, "[leave]")
        os.write(screen, b"d\n\n")
        assert process.wait(60) == exit_codes.DENIED
    assert read_opened(pages) == []
