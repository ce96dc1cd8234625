"""Model keys as a user sets them: over the API and the CLI of a real daemon, whose proxy then uses them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.surfaces.cli.conftest import Cli

CANARY = "sk-cnry-model-77a1"


@pytest.fixture(scope="module")
def cli(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cli]:
    cli = Cli(tmp_path_factory.mktemp("cli"))
    yield cli
    cli("down")


def test_a_key_is_set_listed_and_removed_and_never_shown(cli: Cli) -> None:
    made = cli("sessions", "keys", "set", "anthropic", stdin=f"{CANARY}\n")
    assert made.code == 0 and "https://api.anthropic.com" in made.out, made.err
    own = cli("sessions", "keys", "set", "anthropic", "--own", "--json", stdin=f"{CANARY}-own\n")
    assert own.json["scope"] == "actor" and own.json["secret"] is None
    listed = cli("sessions", "keys", "list", "--json")
    assert [(one["provider"], one["scope"]) for one in listed.json["items"]] == [
        ("anthropic", "workspace"),
        ("anthropic", "actor"),
    ]
    shown = cli("sessions", "keys", "list")
    assert cli("sessions", "keys", "rm", "anthropic", "--own").code == 0
    again = cli("sessions", "keys", "rm", "anthropic", "--own")
    assert again.code != 0 and "no anthropic key" in again.err
    assert cli("secrets", "list", "--json").json["items"] == [], "it is no secret that anyone named"
    assert CANARY not in "".join(one.out + one.err for one in (made, own, listed, shown, again))


def test_a_stored_secret_may_be_the_key(cli: Cli) -> None:
    assert cli("secrets", "set", "google", stdin=CANARY).code == 0
    made = cli("sessions", "keys", "set", "gemini", "--secret", "google", "--json")
    assert made.json["secret"] == "google", made.err
    assert cli("secrets", "remove", "google").code != 0
    assert cli("sessions", "keys", "set", "gemini", "--secret", "missing").code != 0
    assert cli("sessions", "keys", "list", "--json").json["items"][-1]["secret"] == "google", "the old one is kept"


def test_a_value_is_never_an_argument(cli: Cli) -> None:
    assert cli("sessions", "keys", "set", "anthropic", CANARY).code == 2
    text = cli("sessions", "keys", "set", "--help").out
    assert "--value" not in text and "--key" not in text
    assert cli("sessions", "keys", "set", "mistral", stdin="x").code == 2
    assert cli("sessions", "keys", "set", "openai", stdin="\n").code != 0
    assert cli("sessions", "keys", "set", "openai", stdin="two words\n").code != 0


def test_nothing_of_it_is_in_the_data_directory_or_the_logs(cli: Cli) -> None:
    found = [path for path in Path(cli.home).rglob("*") if path.is_file() and CANARY.encode() in path.read_bytes()]
    assert found == []
