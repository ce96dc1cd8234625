"""Secrets in the operating system's keyring. Only entries of Executor's own are read, so no other program's."""

from __future__ import annotations

import asyncio

from executor.errors import InvalidRequest, SecretUnavailable
from executor.secrets.master import SERVICE, ring


class Keyring:
    """Executor builds `reference` from the workspace and the secret: no workspace can name another one's."""

    name = "keyring"
    writable = True

    def check(self, reference: str) -> None:
        if not reference:
            raise InvalidRequest(
                "the value for the keyring is missing", hint="enter it at the prompt or on standard input"
            )

    async def read(self, reference: str) -> str:
        value = await asyncio.to_thread(lambda: ring().get_password(SERVICE, reference))
        if value is None:
            raise SecretUnavailable("the value is no longer in the keyring", hint="set it with `secrets rotate`")
        return value

    async def write(self, reference: str, value: str) -> None:
        await asyncio.to_thread(lambda: ring().set_password(SERVICE, reference, value))

    async def remove(self, reference: str) -> None:
        def forget() -> None:
            keyring = ring()
            if keyring.get_password(SERVICE, reference) is not None:
                keyring.delete_password(SERVICE, reference)

        await asyncio.to_thread(forget)
