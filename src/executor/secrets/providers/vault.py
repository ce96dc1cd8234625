"""Secrets in HashiCorp Vault or OpenBao: the key-value engine, version 2, over HTTP."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Mapping
from urllib.parse import quote

from executor.errors import ExecutorError, InvalidRequest, SecretUnavailable

_REFERENCE = re.compile(r"([\w.-]+(?:/[\w.-]+)+)#([^\x00-\x1f\x7f]{1,200})\Z", re.ASCII)

Ask = Callable[[str, Mapping[str, str]], Awaitable[tuple[int, bytes]]]
Token = Callable[[], Awaitable[str]]


class Vault:
    """A reference is `MOUNT/PATH#FIELD`. `ask` sends a GET by the one outbound client; `token` is read each time."""

    name = "vault"
    writable = False

    def __init__(self, url: str, token: Token, ask: Ask) -> None:
        self._url = url.rstrip("/")
        self._token = token
        self._ask = ask

    def check(self, reference: str) -> None:
        found = _REFERENCE.match(reference)
        if not self._url:
            raise InvalidRequest("no vault is configured", hint="set `vault_url` and `vault_token_file`")
        if found is None or any(part in (".", "..") for part in found[1].split("/")):
            raise InvalidRequest(
                f"{reference[:100]!r} is not a vault reference",
                hint=("write MOUNT/PATH#FIELD, for example secret/github#token"),
            )

    async def read(self, reference: str) -> str:
        self.check(reference)
        path, _, field = reference.partition("#")
        mount, _, rest = path.partition("/")
        url = f"{self._url}/v1/{quote(mount)}/data/{quote(rest)}"
        try:
            status, body = await self._ask(url, {"X-Vault-Token": await self._token(), "Accept": "application/json"})
        except SecretUnavailable:
            raise
        except ExecutorError as error:
            raise SecretUnavailable(f"the vault can't be reached: {error.message}", hint=error.hint) from error
        if status != 200:
            raise SecretUnavailable(f"the vault answered {status} for {path}", hint=HINTS.get(status, "see its log"))
        return field_of(body, path, field)

    async def write(self, reference: str, value: str) -> None:
        raise NotImplementedError

    async def remove(self, reference: str) -> None:
        raise NotImplementedError


HINTS = {
    400: "check the mount and the path",
    403: "its token has expired or may not read this: renew the one in `vault_token_file`",
    404: "nothing found: check the mount, the path and that the engine is KV version 2",
    503: "it is sealed: unseal it",
}


def field_of(body: bytes, path: str, field: str) -> str:
    try:
        held = json.loads(body)["data"]["data"]
        value = held.get(field)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise SecretUnavailable(f"the vault's answer for {path} is not KV version 2", hint="check the mount") from error
    if not isinstance(value, str) or not value:
        raise SecretUnavailable(f"{path} in the vault has no text in {field!r}", hint="check the name of the field")
    return value
