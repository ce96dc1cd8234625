"""`executor secrets` and `executor connections` as a user runs them, against a real daemon and a real service."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.protected_service import ProtectedService, running
from tests.surfaces.cli.conftest import Cli

CANARY = "cnry-cli-51x9"


@pytest.fixture(scope="module")
def service() -> Iterator[ProtectedService]:
    with running() as server:
        yield server


@pytest.fixture(scope="module")
def cli(tmp_path_factory: pytest.TempPathFactory, service: ProtectedService) -> Iterator[Cli]:
    cli = Cli(tmp_path_factory.mktemp("cli"))
    added = cli("sources", "add", f"{service.url}/openapi.json", "--namespace", "guarded")
    assert added.code == 0, added.err
    yield cli
    cli("down")


def test_a_secret_is_read_from_standard_input_and_never_shown(cli: Cli) -> None:
    done = cli("secrets", "set", "mail", stdin=f"{CANARY}\n")
    assert done.code == 0, done.err
    listed = cli("secrets", "list", "--json")
    assert [one["name"] for one in listed.json["items"]] == ["mail"]
    assert cli("secrets", "rotate", "mail", stdin=f"{CANARY}-2").code == 0
    keyed = cli("secrets", "rotate-key", "--json")
    assert keyed.code == 0 and keyed.json["values"] >= 1, keyed.err
    assert cli("secrets", "remove", "mail").code == 0
    assert CANARY not in done.out + done.err + listed.out + listed.err


def test_no_option_of_the_command_takes_a_value(cli: Cli) -> None:
    for command in (("secrets", "set"), ("secrets", "rotate"), ("connections", "add"), ("approvals", "give")):
        text = cli(*command, "--help").out
        assert "--value" not in text and "--token" not in text and "--password" not in text


def test_a_connection_is_made_listed_shown_and_removed_without_its_value(cli: Cli, service: ProtectedService) -> None:
    made = cli("connections", "add", "guarded", "--way", "login", stdin=f"ann\n{CANARY}\n")
    assert made.code == 0 and service.url in made.err, made.err
    called = cli("call", "--json", "return (await tools.guarded.use.basic({})).url")
    assert called.json["result"] == "/basic", called.out
    shown = cli("connections", "show", "guarded")
    listed = cli("connections", "list", "--json")
    tested = cli("connections", "test", "guarded", "--json")
    assert (tested.code, tested.json["ok"], tested.json["outcome"]) == (0, True, "ok")
    assert cli("connections", "test", "guarded").out.startswith("ok: guarded.use.basic")
    assert CANARY not in "".join((made.out, made.err, shown.out, listed.out, tested.out, called.out))
    assert cli("connections", "remove", "guarded").code == 0
    assert json.loads(cli("connections", "list", "--json").out)["items"] == []


def test_a_test_says_rejected_or_untested_with_the_same_word_and_code_in_both_forms(
    cli: Cli, service: ProtectedService
) -> None:
    service.accepts = {"k-other"}
    assert cli("connections", "add", "guarded", "--way", "token", stdin=f"{CANARY}\n").code == 0
    for outcome, policy in (("rejected", ()), ("untested", ("policies", "add", "guarded.**", "deny"))):
        if policy:
            service.accepts = set()
            assert cli("connections", "add", "guarded", "--way", "token", "--replace", stdin=f"{CANARY}\n").code == 0
            made = cli(*policy, "--json").json
        plain, asked = cli("connections", "test", "guarded"), cli("connections", "test", "guarded", "--json")
        assert (plain.code, asked.code, asked.json["outcome"]) == (1, 1, outcome)
        assert plain.out.startswith(f"{outcome}: ") and plain.err.startswith("hint: ")
        if not policy:
            assert "rejected" in cli("connections", "list").out
    assert cli("policies", "remove", made["id"]).code == 0
    assert cli("connections", "remove", "guarded").code == 0


def test_by_hand_as_header_query_cookie_at_once(cli: Cli, service: ProtectedService) -> None:
    made = cli(
        *("connections", "add", "guarded", "--name", "hand", "--header", "X-Odd", "--query", "k", "--cookie", "c"),
        stdin="one\ntwo\nthree\n",
    )
    assert made.code == 0, made.err
    cli("call", "return (await tools.guarded.use.open({})).url")
    sent = service.calls[-1]
    assert (sent["headers"]["x-odd"], sent["query"]["k"], sent["headers"]["cookie"]) == ("one", "two", "c=three")
    assert cli("connections", "remove", "guarded", "--name", "hand").code == 0


def test_what_a_call_waits_for_is_given_from_the_terminal(cli: Cli) -> None:
    paused = cli("call", "--json", "return (await tools.guarded.use.header({})).url")
    [asked] = paused.json["interactions"]
    assert asked["kind"] == "credential" and "/connect/" in asked["url"]
    assert cli("approvals", "approve", asked["id"]).code != 0
    given = cli("approvals", "give", asked["id"], stdin=f"{CANARY}\n")
    assert given.code == 0, given.err
    done = cli("resume", "--json", "--execution-id", paused.json["executionId"])
    assert done.json["result"] == "/header"
    assert CANARY not in paused.out + given.out + given.err + done.out


def test_nothing_of_it_is_in_the_data_directory_or_the_logs(cli: Cli) -> None:
    found = [path for path in Path(cli.home).rglob("*") if path.is_file() and CANARY.encode() in path.read_bytes()]
    assert found == []
