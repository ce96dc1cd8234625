"""AES-256-GCM: a value and the context that it is bound to. Without that context it does not open."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

from executor.errors import SecretUnavailable

if TYPE_CHECKING:  # the library takes long to import: not before something is sealed
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

NONCE = 12


def cipher(key: bytes) -> AESGCM:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    return AESGCM(key)


def encrypt(key: AESGCM, value: bytes, context: str) -> bytes:
    nonce = secrets.token_bytes(NONCE)
    return nonce + key.encrypt(nonce, value, context.encode())


def decrypt(key: AESGCM, data: bytes, context: str, what: str) -> bytes:
    from cryptography.exceptions import InvalidTag

    try:
        return key.decrypt(data[:NONCE], data[NONCE:], context.encode())
    except InvalidTag as error:
        raise SecretUnavailable(
            f"{what} can't be decrypted: it was changed, or belongs elsewhere",
            hint="set it again, or restore the database and the master key from the same backup",
        ) from error
