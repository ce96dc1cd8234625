"""A master key that never leaves HashiCorp Vault or OpenBao: its transit engine seals and opens the data keys.

A data key is opened once in each process, so the vault is needed at a start and after a rotation, not for each value.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Collection, Mapping
from typing import Any
from urllib.parse import quote

from executor.errors import ExecutorError, SecretUnavailable
from executor.secrets.master_keys import Wrap, Wrapped

Send = Callable[[str, Mapping[str, Any]], tuple[int, bytes]]  # a path below `/v1/` and the body of a POST

HINTS = {
    400: "check that the key exists and is of the type aes256-gcm96",
    403: "its token has expired or may not use this key: renew it, or extend its policy",
    404: "enable the transit engine at this mount, and create the key",
    503: "it is sealed: unseal it",
}


class VaultKeys:
    """`place` is `MOUNT/NAME` of a key in the transit engine. `send` waits for the answer."""

    def __init__(self, place: str, send: Send) -> None:
        self._mount, _, self._name = place.partition("/")
        self._send = send
        self._id = f"vault:{place}"

    def has(self, master_id: str) -> bool:
        return master_id == self._id

    def choose_current(self, used: Collection[str]) -> Wrap:
        if used and self._id not in used:
            raise SecretUnavailable(
                f"the stored secrets were not encrypted with {self._id}",
                hint="set `secrets_key` and `vault_transit` as they were, or restore the `secret.key`",
            )
        return self._wrap

    def choose_next(self, used: Collection[str]) -> Wrap:
        """Older versions still open what they sealed, until someone removes them in the vault."""
        self._ask("keys", {}, suffix="/rotate")
        return self._wrap

    def _wrap(self, key_id: str, key: bytes) -> Wrapped:
        sealed = self._ask("encrypt", {"plaintext": encode(key), **bind(key_id)}).get("ciphertext")
        if not isinstance(sealed, str) or not sealed:
            raise unreadable("encrypt")
        return Wrapped(self._id, sealed.encode())

    def unwrap(self, key_id: str, wrapped: Wrapped) -> bytes:
        body = {"ciphertext": wrapped.data.decode(errors="replace"), **bind(key_id)}
        try:
            return base64.b64decode(self._ask("decrypt", body)["plaintext"], validate=True)
        except (KeyError, TypeError, binascii.Error) as error:
            raise unreadable("decrypt") from error

    def finish_rotation(self, used: Collection[str]) -> None:
        """The vault keeps its versions."""

    def _ask(self, act: str, body: Mapping[str, Any], suffix: str = "") -> dict[str, Any]:
        path = f"{quote(self._mount)}/{act}/{quote(self._name)}{suffix}"
        try:
            status, answer = self._send(path, body)
        except SecretUnavailable:
            raise
        except ExecutorError as error:
            raise SecretUnavailable(f"the vault can't be reached: {error.message}", hint=error.hint) from error
        if status not in (200, 204):
            raise SecretUnavailable(f"the vault answered {status} for {path}", hint=HINTS.get(status, "see its log"))
        try:
            found = json.loads(answer)["data"] if answer else {}
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise unreadable(act) from error
        return found if isinstance(found, dict) else {}


def encode(value: bytes) -> str:
    return base64.b64encode(value).decode()


def bind(key_id: str) -> dict[str, str]:
    """A sealed key does not open in the place of another."""
    return {"associated_data": encode(key_id.encode())}


def unreadable(act: str) -> SecretUnavailable:
    return SecretUnavailable(
        f"the vault's answer to `{act}` can't be read", hint="check that the mount is a transit engine"
    )
