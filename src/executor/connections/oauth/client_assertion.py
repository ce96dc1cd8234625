"""A client that proves itself by a signature instead of a secret: `private_key_jwt` of RFC 7523."""

from __future__ import annotations

import secrets
import time
from typing import Any, Final

from executor.errors import InvalidRequest

METHOD: Final = "private_key_jwt"
ASSERTION_TYPE: Final = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
LIFETIME_SECONDS: Final = 120
MAX_KEY: Final = 4_096  # characters; how long a check takes grows with more than the square of a key's size
RSA_BITS: Final = range(2048, 4096 + 1)
_CURVES: Final = {"secp256r1": "ES256", "secp384r1": "ES384", "secp521r1": "ES512"}


def is_private_key(text: str) -> bool:
    return "-----BEGIN " in text and "PRIVATE KEY-----" in text


def check_key(pem: str) -> None:
    """Raises InvalidRequest unless a signature can be made with it. No part of it is repeated."""
    _load(pem)


def sign_assertion(client_id: str, pem: str, audience: str) -> str:
    """`audience` is the issuer: an assertion for one server is worth nothing at another."""
    import jwt

    key, algorithm = _load(pem, is_checked=True)
    now = int(time.time())
    claims = {
        "iss": client_id,
        "sub": client_id,
        "aud": audience,
        "iat": now,
        "exp": now + LIFETIME_SECONDS,
        "jti": secrets.token_urlsafe(24),
    }
    return jwt.encode(claims, key, algorithm)


def _load(pem: str, *, is_checked: bool = False) -> tuple[Any, str]:
    """The key, and the algorithm that fits it. One that `is_checked` is not searched for flaws again: that takes
    longer than to sign with it."""
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric import ec, rsa
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        data = pem.strip().encode() if len(pem) <= MAX_KEY else b""
        key = load_pem_private_key(data, None, unsafe_skip_rsa_key_validation=is_checked)
    except (ValueError, TypeError, UnsupportedAlgorithm):  # broken, encrypted, or of a kind that is not known
        key = None
    if isinstance(key, rsa.RSAPrivateKey) and key.key_size in RSA_BITS:
        return key, "RS256"
    if isinstance(key, ec.EllipticCurvePrivateKey) and key.curve.name in _CURVES:
        return key, _CURVES[key.curve.name]
    raise InvalidRequest(
        "this is not a private key that Executor can sign with",
        hint="use a PEM file without a passphrase: RSA with 2048 to 4096 bits, P-256, P-384 or P-521",
    )
