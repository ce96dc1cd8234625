"""Where secrets are kept, as the settings say."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from executor.errors import SecretUnavailable
from executor.network.client import Bounds, Egress, Outgoing
from executor.secrets.master import FileKeeper, KeyringKeeper
from executor.secrets.master_keys import KeptKeys, MasterKeys, SucceedingKeys
from executor.secrets.providers.environment import Environment
from executor.secrets.providers.keyring import Keyring
from executor.secrets.providers.onepassword import OnePassword
from executor.secrets.providers.provider import Provider
from executor.secrets.providers.vault import Ask, Token, Vault
from executor.secrets.sealing import Sealing
from executor.secrets.secrets import Secrets
from executor.settings import Settings
from executor.storage.database import Database

VAULT_TOKEN = "EXECUTOR_SECRET_VAULT_TOKEN"  # noqa: S105 - the name of a variable
VAULT_BOUNDS = Bounds(seconds=15.0, size=1_000_000)


def secrets_of(settings: Settings, database: Database) -> Secrets:
    providers: dict[str, Provider] = {
        "keyring": Keyring(),
        "environment": Environment(settings.secrets_environment),
        "vault": Vault(settings.vault_url, token_of(settings.vault_token_file), asking()),
        "onepassword": OnePassword(),
    }
    return Secrets(database, Sealing(master_keys_of(settings)), providers)


def master_keys_of(settings: Settings) -> MasterKeys:
    file = KeptKeys(FileKeeper(settings.data_dir))
    if settings.secrets_key == "keyring":
        return KeptKeys(KeyringKeeper(settings.data_dir))
    if settings.secrets_key == "shared":
        from executor.secrets.shared_keys import read_shared_keys

        return SucceedingKeys(read_shared_keys(settings.secrets_key_file), file)
    if settings.secrets_key == "vault":
        from executor.secrets.vault_keys import VaultKeys

        return SucceedingKeys(VaultKeys(settings.vault_transit, posting(settings)), file)
    return file


def posting(settings: Settings) -> Callable[[str, Mapping[str, Any]], tuple[int, bytes]]:
    """To the vault, from a job of the database, which may run in any thread: in a loop and a thread of its own."""
    if not settings.vault_url:
        raise SecretUnavailable("there is no vault for the master key", hint="set vault_url and vault_token_file")

    async def post(path: str, body: Mapping[str, Any]) -> tuple[int, bytes]:
        headers = {"X-Vault-Token": await token_of(settings.vault_token_file)(), "Content-Type": "application/json"}
        egress = Egress(allow_private=True)
        try:
            content = json.dumps(body).encode()
            outgoing = Outgoing("POST", f"{settings.vault_url}/v1/{path}", headers, content)
            answer = await egress.send(outgoing, bounds=VAULT_BOUNDS)
        finally:
            await egress.close()
        return answer.status, answer.body

    def wait(path: str, body: Mapping[str, Any]) -> tuple[int, bytes]:
        with ThreadPoolExecutor(1) as thread:
            return thread.submit(asyncio.run, post(path, body)).result()

    return wait


def token_of(path: Path | None) -> Token:
    async def read() -> str:
        if path is None:
            token = os.environ.get(VAULT_TOKEN, "")
        else:
            try:
                token = (await asyncio.to_thread(path.read_text, encoding="utf-8")).strip()
            except (OSError, UnicodeDecodeError) as error:
                raise SecretUnavailable(
                    f"the vault's token can't be read from {path}", hint="check the file"
                ) from error
        if not token:
            raise SecretUnavailable("there is no token for the vault", hint=f"set vault_token_file, or {VAULT_TOKEN}")
        return token

    return read


def asking() -> Ask:
    """By the client of all outbound requests; an operator named this one address, so it may be a private one."""
    egress = Egress(allow_private=True)

    async def ask(url: str, headers: Mapping[str, str]) -> tuple[int, bytes]:
        try:
            answer = await egress.send(Outgoing("GET", url, headers), bounds=VAULT_BOUNDS)
        finally:
            await egress.close()
        return answer.status, answer.body

    return ask
