"""Places outside that keep secrets: each really asked, by stand-ins where the product itself can't be installed."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import keyring
import pytest
from keyring.backend import KeyringBackend

from executor.daemon.wiring.secrets import asking, token_of
from executor.errors import InvalidRequest, SecretUnavailable
from executor.secrets.master import CURRENT, KeyringKeeper, Master
from executor.secrets.providers.keyring import Keyring
from executor.secrets.providers.onepassword import OnePassword
from executor.secrets.providers.vault import Vault
from executor.secrets.secrets import Secrets
from tests.secrets.conftest import SecretsHarness


class StandInVault(BaseHTTPRequestHandler):
    """Answers as KV version 2 does, for one token and one path."""

    def do_GET(self) -> None:
        if self.headers.get("X-Vault-Token") != "root-token":
            return self.answer(403, {"errors": ["permission denied"]})
        if self.path == "/v1/secret/data/apps/mail":
            return self.answer(200, {"data": {"data": {"token": "from-the-vault"}, "metadata": {"version": 3}}})
        if self.path.startswith("/v1/kv1/"):
            return self.answer(200, {"data": {"token": "version one"}})
        return self.answer(404, {"errors": []})

    def answer(self, status: int, value: Any) -> None:
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: Any) -> None: ...


@pytest.fixture
def address() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), StandInVault)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


async def test_a_field_of_a_vault_is_read_with_the_token_of_a_file(address: str, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("root-token\n")
    vault = Vault(address, token_of(token), asking())
    assert await vault.read("secret/apps/mail#token") == "from-the-vault"
    for reference, said in (
        ("secret/apps/mail#other", "no text"),
        ("secret/none#token", "404"),
        ("kv1/x#token", "not KV"),
    ):
        with pytest.raises(SecretUnavailable, match=said):
            await vault.read(reference)
    token.write_text("another")
    with pytest.raises(SecretUnavailable, match="403"):
        await vault.read("secret/apps/mail#token")


def test_a_reference_can_not_leave_its_mount() -> None:
    vault = Vault("http://vault.example", token_of(None), asking())
    for reference in ("secret/../sys/seal#x", "secret#x", "/secret/a#x", "secret/a", "secret/a?b#x", "secret/%2e/a#x"):
        with pytest.raises(InvalidRequest):
            vault.check(reference)


async def test_a_vault_that_is_down_is_reported_as_such(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("t")
    with pytest.raises(SecretUnavailable, match="can't be reached"):
        await Vault("http://127.0.0.1:9", token_of(tmp_path / "token"), asking()).read("secret/a#b")


STAND_IN_OP = """#!/bin/sh
test "$1 $2" = "read --no-newline" || exit 2
test -z "$EXECUTOR_SECRET_OTHER" || exit 3
case "$3" in
  op://team/mail/token) printf 'from 1password';;
  op://team/slow/token) exec sleep 60;;
  *) echo 'item not found, token=leaked-by-op' >&2; exit 1;;
esac
"""


@pytest.fixture
def op(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A stand-in for the 1Password CLI."""
    program = tmp_path / "op"
    program.write_text(STAND_IN_OP)
    program.chmod(0o755)
    monkeypatch.setenv("EXECUTOR_SECRET_OTHER", "not for children")
    return str(program)


async def test_1password_is_asked_by_its_command_line(op: str) -> None:
    provider = OnePassword(op)
    assert await provider.read("op://team/mail/token") == "from 1password"
    with pytest.raises(SecretUnavailable) as failed:
        await provider.read("op://team/none/token")
    assert "leaked-by-op" not in failed.value.message + failed.value.hint
    with pytest.raises(InvalidRequest):
        provider.check("--help")


async def test_1password_that_waits_for_someone_is_given_up(op: str) -> None:
    with pytest.raises(SecretUnavailable, match="did not answer"):
        await OnePassword(op, seconds=0.3).read("op://team/slow/token")
    with pytest.raises(SecretUnavailable, match="not found"):
        await OnePassword("/nowhere/op").read("op://team/mail/token")


class StandInRing(KeyringBackend):
    """A stand-in for the keyring of the operating system: there is none on a build machine."""

    priority = 1

    def __init__(self) -> None:
        super().__init__()
        self.kept: dict[tuple[str, str], str] = {}

    def get_password(self, service: str, username: str) -> str | None:
        return self.kept.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self.kept[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        del self.kept[service, username]


@pytest.fixture
def ring() -> Iterator[StandInRing]:
    before, ring = keyring.get_keyring(), StandInRing()
    keyring.set_keyring(ring)
    yield ring
    keyring.set_keyring(before)


async def test_the_keyring_keeps_a_value_that_the_database_never_sees(place: SecretsHarness, ring: StandInRing) -> None:
    secrets = Secrets(place.database, place.secrets.sealing, {"keyring": Keyring()})
    made = await secrets.set(place.workspace_id, "mail", "in the ring", by=place.by, provider="keyring")
    assert made.reference == f"{place.workspace_id}/{made.id}" and list(ring.kept.values()) == ["in the ring"]
    assert await secrets.value(place.workspace_id, "mail") == "in the ring"
    await secrets.rotate(place.workspace_id, "mail", "another", by=place.by)
    assert await secrets.value(place.workspace_id, "mail") == "another"
    await secrets.remove(place.workspace_id, "mail", by=place.by)
    assert ring.kept == {}


async def test_no_one_can_point_a_secret_at_another_entry_of_the_keyring(
    place: SecretsHarness, ring: StandInRing
) -> None:
    ring.kept["executor", "ws_other/sec_1"] = "of another workspace"
    secrets = Secrets(place.database, place.secrets.sealing, {"keyring": Keyring()})
    with pytest.raises(InvalidRequest):
        await secrets.set(place.workspace_id, "theirs", by=place.by, provider="keyring", reference="ws_other/sec_1")


def test_the_master_key_can_lie_in_the_keyring(ring: StandInRing, tmp_path: Path) -> None:
    keeper, master = KeyringKeeper(tmp_path), Master.new()
    assert keeper.read(CURRENT) is None
    keeper.write(CURRENT, master)
    assert keeper.read(CURRENT) == master
    keeper.remove(CURRENT)
    assert keeper.read(CURRENT) is None and "key=" not in repr(master)


def test_a_machine_without_a_keyring_says_so(tmp_path: Path) -> None:
    before = keyring.get_keyring()
    from keyring.backends import fail

    keyring.set_keyring(fail.Keyring())
    try:
        with pytest.raises(SecretUnavailable, match="no keyring"):
            KeyringKeeper(tmp_path).read(CURRENT)
    finally:
        keyring.set_keyring(before)
