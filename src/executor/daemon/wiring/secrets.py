"""Where secrets are kept, as the settings say."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from pathlib import Path

from executor.errors import SecretUnavailable
from executor.network.client import Bounds, Egress, Outgoing
from executor.secrets.master import FileKeeper, Keeper, KeyringKeeper
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
    return Secrets(database, Sealing(keeper_of(settings)), providers)


def keeper_of(settings: Settings) -> Keeper:
    return KeyringKeeper(settings.data_dir) if settings.secrets_key == "keyring" else FileKeeper(settings.data_dir)


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
