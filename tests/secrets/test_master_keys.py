"""Master keys that several processes share: given to each of them, or in a vault."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from cryptography.exceptions import InvalidTag

from executor.daemon.wiring.secrets import master_keys_of, secrets_of
from executor.errors import Conflict, ExecutorError, SecretUnavailable
from executor.secrets.envelope import cipher
from executor.secrets.master import Master
from executor.secrets.secrets import Secrets
from executor.secrets.shared_keys import read_shared_keys
from executor.settings import Settings
from executor.storage.tables.access import data_keys
from tests.secrets.conftest import SecretsHarness

TOKEN = "root-token"
ONE, TWO = (base64.b64encode(bytes([number]) * 32).decode() for number in (1, 2))


class StandInTransit(BaseHTTPRequestHandler):
    """Seals as the transit engine does, with versions and associated data. Vault itself can't be installed here."""

    versions: list[bytes]
    asked: list[str]

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])) or b"{}")
        self.asked.append(self.path)
        if self.headers.get("X-Vault-Token") != TOKEN:
            self.answer(403, {"errors": ["permission denied"]})
        elif self.path == "/v1/transit/keys/executor/rotate":
            self.versions.append(bytes([len(self.versions) + 1]) * 32)
            self.answer(204, None)
        elif self.path == "/v1/transit/encrypt/executor":
            self.answer(200, {"data": {"ciphertext": self.seal(body)}})
        elif self.path == "/v1/transit/decrypt/executor":
            self.open(body)
        else:
            self.answer(404, {"errors": []})

    def seal(self, body: Any) -> str:
        bound = base64.b64decode(body["associated_data"])
        sealed = cipher(self.versions[-1]).encrypt(b"0" * 12, base64.b64decode(body["plaintext"]), bound)
        return f"vault:v{len(self.versions)}:{base64.b64encode(sealed).decode()}"

    def open(self, body: Any) -> None:
        _, version, sealed = body["ciphertext"].split(":")
        key, bound = self.versions[int(version[1:]) - 1], base64.b64decode(body["associated_data"])
        try:
            plain = cipher(key).decrypt(b"0" * 12, base64.b64decode(sealed), bound)
        except InvalidTag:
            self.answer(400, {"errors": ["invalid ciphertext"]})
        else:
            self.answer(200, {"data": {"plaintext": base64.b64encode(plain).decode()}})

    def answer(self, status: int, value: Any) -> None:
        body = b"" if value is None else json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: Any) -> None: ...


@pytest.fixture
def vault() -> Iterator[str]:
    StandInTransit.versions, StandInTransit.asked = [b"\x01" * 32], []
    server = ThreadingHTTPServer(("127.0.0.1", 0), StandInTransit)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


@pytest.fixture
def settings(place: SecretsHarness) -> Settings:
    return replace(Settings.load({}), data_dir=place.folder)


def with_keys(settings: Settings, *keys: str) -> Settings:
    file = settings.data_dir / "master.keys"
    file.write_text("\n".join(keys) + "\n")
    file.chmod(0o640)
    return replace(settings, secrets_key="shared", secrets_key_file=file)


def in_vault(settings: Settings, address: str, token: str = TOKEN) -> Settings:
    file = settings.data_dir / "vault.token"
    file.write_text(token)
    return replace(settings, secrets_key="vault", vault_url=address, vault_token_file=file)


async def start(place: SecretsHarness, settings: Settings) -> Secrets:
    """As a process that starts does."""
    secrets = secrets_of(settings, place.database)
    await secrets.finish_rotation()
    return secrets


async def masters(place: SecretsHarness) -> set[str]:
    return await place.database.read(lambda c: set(c.execute(sa.select(data_keys.c.master_id)).scalars()))


async def test_two_processes_with_the_same_keys_read_each_others_secrets(
    place: SecretsHarness, settings: Settings
) -> None:
    shared = with_keys(settings, ONE)
    one, two = await start(place, shared), await start(place, shared)
    await one.set(place.workspace_id, "mail", "first", by=place.by)
    assert await two.value(place.workspace_id, "mail") == "first"
    assert await masters(place) == {Master.of(b"\x01" * 32).id}
    assert not (place.folder / "secret.key").exists()


async def test_a_key_is_replaced_while_processes_run_and_none_loses_a_value(
    place: SecretsHarness, settings: Settings
) -> None:
    old = await start(place, with_keys(settings, ONE))
    await old.set(place.workspace_id, "mail", "first", by=place.by)
    new = await start(place, with_keys(settings, TWO, ONE))
    await new.set(place.workspace_id, "more", "second", by=place.by)  # before the rotation: with the key that both have
    assert await old.value(place.workspace_id, "more") == "second"
    other = await start(place, with_keys(settings, TWO, ONE))
    assert await new.rotate_key(by=place.by) == 2
    assert await masters(place) == {Master.of(b"\x02" * 32).id}
    assert await other.value(place.workspace_id, "mail") == "first"
    assert await (await start(place, with_keys(settings, TWO))).value(place.workspace_id, "more") == "second"
    with pytest.raises(Conflict, match="in use already"):
        await new.rotate_key(by=place.by)


async def test_a_process_without_a_key_that_others_use_does_not_start(
    place: SecretsHarness, settings: Settings
) -> None:
    one = await start(place, with_keys(settings, ONE))
    await one.set(place.workspace_id, "mail", "first", by=place.by)
    with pytest.raises(SecretUnavailable, match="does not have"):
        await start(place, with_keys(settings, TWO))


@pytest.mark.parametrize("where", ["shared", "vault"])
async def test_what_a_file_had_sealed_is_read_until_a_rotation_moves_it(
    place: SecretsHarness, settings: Settings, vault: str, where: str
) -> None:
    await place.secrets.set(place.workspace_id, "mail", "first", by=place.by)
    moved = await start(place, with_keys(settings, ONE) if where == "shared" else in_vault(settings, vault))
    assert await moved.value(place.workspace_id, "mail") == "first"
    await moved.set(place.workspace_id, "more", "second", by=place.by)
    assert await moved.rotate_key(by=place.by) == 2
    (place.folder / "secret.key").unlink()
    again = await start(place, with_keys(settings, ONE) if where == "shared" else in_vault(settings, vault))
    assert [await again.value(place.workspace_id, name) for name in ("mail", "more")] == ["first", "second"]


async def test_the_key_of_a_vault_is_rotated_there_and_never_seen_here(
    place: SecretsHarness, settings: Settings, vault: str
) -> None:
    secrets = await start(place, in_vault(settings, vault))
    await secrets.set(place.workspace_id, "mail", "first", by=place.by)
    sealed = await place.database.read(lambda c: c.execute(sa.select(data_keys.c.sealed)).scalar_one())
    assert sealed.startswith(b"vault:v1:") and await masters(place) == {"vault:transit/executor"}
    await secrets.rotate_key(by=place.by)
    assert len(StandInTransit.versions) == 2
    again = await start(place, in_vault(settings, vault))
    StandInTransit.asked.clear()
    for _ in range(3):
        assert await again.value(place.workspace_id, "mail") == "first"
    assert StandInTransit.asked == ["/v1/transit/decrypt/executor"]  # once in a process


async def test_a_data_key_of_another_row_does_not_open(place: SecretsHarness, settings: Settings, vault: str) -> None:
    secrets = await start(place, in_vault(settings, vault))
    await secrets.set(place.workspace_id, "mail", "first", by=place.by)
    wrapped = master_keys_of(in_vault(settings, vault)).choose_current(())("dek_one", b"k" * 32)
    keys = master_keys_of(in_vault(settings, vault))
    assert keys.unwrap("dek_one", wrapped) == b"k" * 32
    with pytest.raises(SecretUnavailable, match="400"):
        keys.unwrap("dek_two", wrapped)


async def test_a_vault_that_refuses_or_is_away_loses_nothing(
    place: SecretsHarness, settings: Settings, vault: str
) -> None:
    secrets = await start(place, in_vault(settings, vault))
    await secrets.set(place.workspace_id, "mail", "first", by=place.by)
    refused = await start(place, in_vault(settings, vault, token="another"))
    with pytest.raises(SecretUnavailable, match="403"):
        await refused.value(place.workspace_id, "mail")
    away = await start(place, in_vault(settings, "http://127.0.0.1:1"))
    with pytest.raises(SecretUnavailable, match="can't be reached"):
        await away.rotate_key(by=place.by)
    assert await (await start(place, in_vault(settings, vault))).value(place.workspace_id, "mail") == "first"


@pytest.mark.parametrize(
    ("text", "mode", "said"),
    [
        ("", 0o600, "no master key"),
        ("not a key\n", 0o600, "does not contain a key"),
        (base64.b64encode(b"short").decode(), 0o600, "does not contain a key"),
        (ONE, 0o644, "readable by every user"),
    ],
)
def test_a_file_of_keys_that_is_wrong_is_refused(tmp_path: Path, text: str, mode: int, said: str) -> None:
    file = tmp_path / "keys"
    file.write_text(text)
    file.chmod(mode)
    with pytest.raises(ExecutorError, match=said):
        read_shared_keys(file)


def test_keys_may_come_from_a_variable() -> None:
    keys = read_shared_keys(None, {"EXECUTOR_MASTER_KEYS": f"{TWO}, {ONE}"})
    assert keys.has(Master.of(b"\x01" * 32).id) and keys.has(Master.of(b"\x02" * 32).id)
    with pytest.raises(SecretUnavailable, match="EXECUTOR_MASTER_KEYS"):
        read_shared_keys(None, {})
