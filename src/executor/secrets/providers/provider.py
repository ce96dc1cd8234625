"""The seam for places that keep secrets: the store here, the keyring, the environment, outside vaults."""

from __future__ import annotations

from typing import Protocol


class Provider(Protocol):
    """An outside place. `reference` is what its user wrote to name a value there; it is checked, and never secret.

    Every method raises SecretUnavailable with what went wrong, and never says a value.
    """

    name: str
    writable: bool

    def check(self, reference: str) -> None:
        """Raises InvalidRequest if it can't name anything there."""

    async def read(self, reference: str) -> str: ...

    async def write(self, reference: str, value: str) -> None:
        """Only where `writable`."""

    async def remove(self, reference: str) -> None:
        """Only where `writable`; nothing there is no error."""
