"""Secrets in the daemon's environment: only variables that were meant for it, so that no one can read the others."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping

from executor.errors import InvalidRequest, SecretUnavailable

PREFIX = "EXECUTOR_SECRET_"


class Environment:
    name = "environment"
    writable = False

    def __init__(self, allowed: Collection[str] = (), environ: Mapping[str, str] = os.environ) -> None:
        self._allowed = frozenset(allowed)
        self._environ = environ

    def check(self, reference: str) -> None:
        if not reference.isprintable() or not (reference.startswith(PREFIX) or reference in self._allowed):
            raise InvalidRequest(
                f"secrets may not be read from the variable {reference[:100]!r}",
                hint=f"name it {PREFIX}…, or list it in the setting `secrets_environment`",
            )

    async def read(self, reference: str) -> str:
        self.check(reference)
        value = self._environ.get(reference, "")
        if not value:
            raise SecretUnavailable(
                f"the environment variable {reference} is not set", hint="set it, then restart the daemon"
            )
        return value

    async def write(self, reference: str, value: str) -> None:
        raise NotImplementedError

    async def remove(self, reference: str) -> None:
        raise NotImplementedError
