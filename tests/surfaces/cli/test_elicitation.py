"""What a server asks during a call, answered on the command line."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from executor.surfaces.cli import exit_codes
from tests.sources.mcp.conftest import SERVERS, listening
from tests.support.conditions import wait_for
from tests.surfaces.cli.conftest import Cli, read_opened
from tests.surfaces.cli.test_call import read_until, run_until_paused, terminal

CHOICE = "[l]eave it for later? [leave] "
ANSWERED = "accept: {'name': 'Ada', 'seats': 3}"


@pytest.fixture(scope="module")
def travel(shared: Cli) -> Iterator[None]:
    with listening([sys.executable, str(SERVERS / "eliciting.py"), "http"]) as url:
        added = shared("sources", "add", f"{url}/mcp", "--namespace", "travel")
        assert added.code == 0, added.err
        policy = shared("policies", "add", "travel.**", "allow", "--json")
        assert policy.code == 0, policy.err
        yield
        shared("policies", "remove", policy.json["id"])
        shared("sources", "remove", "travel")


def ask(cli: Cli, call: str) -> tuple[str, str]:
    view = run_until_paused(cli, f"return await tools.travel.{call}")
    return view["interactions"][0]["id"], view["executionId"]


def result(cli: Cli, execution_id: str) -> Any:
    return cli("resume", "--execution-id", execution_id, "--json").json["result"]


def test_a_paused_call_prints_what_the_server_asks_and_the_command_that_answers(shared: Cli, travel: None) -> None:
    done = shared("call", 'return await tools.travel.book({message: "line one\\n\\u001b[2Kline two"})')
    assert done.code == exit_codes.PAUSED
    assert "  | line one\n" in done.err and "\x1b" not in done.err and "  | seats (integer" in done.err
    assert "approvals answer int_" in done.err and "approvals approve" not in done.err


def test_a_form_is_answered_with_options(shared: Cli, travel: None) -> None:
    asked, execution = ask(shared, "book({})")
    shown = shared("approvals", "show", asked)
    assert "The server says, in its own words:" in shown.out and "approvals answer" in shown.err
    for wrong, said in [(["--set", "seats=many"], "a whole number"), (["--set", "nope=1"], "names no field"),
                        (["--content", "[]"], "not a JSON object"), (["--content", "{"], "not JSON"),
                        (["--set", "name=A", "--set", "seats=3"], "shorter than 2")]:  # fmt: skip
        refused = shared("approvals", "answer", asked, *wrong)
        assert refused.code != 0 and said in refused.err, refused.err
    assert shared("approvals", "answer", asked, "--decline", "--set", "name=Ada").code == exit_codes.USAGE
    assert "not a terminal" in shared("approvals", "answer", asked).err
    done = shared("approvals", "answer", asked, "--set", "name=Ada", "--set", "seats=3", "--json")
    assert done.json["status"] == "approved"
    assert result(shared, execution) == ANSWERED
    assert shared("approvals", "answer", asked, "--cancel", "--json").json["error"]["code"] == "already_settled"


def test_a_page_is_accepted_only_when_someone_says_so(shared: Cli, travel: None) -> None:
    asked, execution = ask(shared, 'visit({url: "https://login.example/x"})')
    assert "https://login.example/x" in shared("approvals", "show", asked).out
    assert shared("approvals", "answer", asked, "--accept", "--json").json["status"] == "approved"
    assert result(shared, execution) == "accept"


def test_a_terminal_prompts_for_each_field(shared: Cli, travel: None) -> None:
    asked, execution = ask(shared, "book({})")
    with terminal(shared, "approvals", "answer", asked, "--no-open") as (process, screen):
        read_until(screen, CHOICE)
        os.write(screen, b"a\n")
        left_out = " (Enter to leave it out): "
        answers = [("name: ", b"Ada\n"), (f"email{left_out}", b"\n"), ("seats (Enter for 2): ", b"x\n"),
                   ("seats (Enter for 2): ", b"3\n"), (f"price{left_out}", b"\n"), ("(Enter for true): ", b"no\n"),
                   (f"meal [v, f]{left_out}", b"v\n"), (f"class [first, second]{left_out}", b"\n"),
                   (f"days [sat, sun], separated by commas{left_out}", b"sat, sun\n")]  # fmt: skip
        for asked_for, text in answers:
            read_until(screen, asked_for)
            os.write(screen, text)
    assert process.returncode == 0
    said = result(shared, execution)
    assert said == "accept: {'name': 'Ada', 'seats': 3, 'window': False, 'meal': 'v', 'days': ['sat', 'sun']}"


@pytest.mark.parametrize("command", ["call", "answer"])
def test_a_page_is_opened_through_a_private_file_and_only_then_accepted(
    shared: Cli, travel: None, pages: Path, command: str
) -> None:
    """The address may hold a token of its own, and everyone can read the arguments of a program."""
    url = "https://login.example/x?one-time=hushhush"
    if command == "call":
        arguments = ["call", f'return await tools.travel.visit({{url: "{url}"}})']
    else:
        asked, execution = ask(shared, f'visit({{url: "{url}"}})')
        arguments = ["approvals", "answer", asked]
    with terminal(shared, *arguments) as (process, screen):
        if command == "answer":
            read_until(screen, "[l]eave it closed? [leave] ")
            os.write(screen, b"o\n")
        read_until(screen, CHOICE)
        os.write(screen, b"a\n")
    assert process.returncode == 0
    opened = wait_for(lambda: read_opened(pages))
    assert len(opened) == 1
    assert not any("hushhush" in one.read_text() for one in pages.iterdir())
    if command == "answer":
        assert "https://login.example/x?one-time=hushhush" in opened[0]
        assert result(shared, execution) == "accept"
    else:
        assert "/approvals/int_" in unquote(opened[0])  # the page that shows who asks, and where it would lead


def test_a_browser_for_texts_does_not_take_the_terminal_from_the_prompt(
    shared: Cli, travel: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("www-browser", "lynx", "w3m", "links", "elinks"):
        (tmp_path / name).write_text(f"#!/bin/sh\ntouch {tmp_path}/taken\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("TERM", "xterm")
    for name in ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    asked, execution = ask(shared, 'visit({url: "https://login.example/x"})')
    with terminal(shared, "approvals", "answer", asked) as (process, screen):
        read_until(screen, "[l]eave it closed? [leave] ")
        os.write(screen, b"o\n")
        assert "could not open a browser" in read_until(screen, CHOICE)
        os.write(screen, b"a\n")
    assert process.returncode == 0 and result(shared, execution) == "accept"
    assert not (tmp_path / "taken").exists()
