"""Signed tokens (JWT) of an authorization server: read strictly, verified by a key, then believed.

Nothing in a token says how it is to be verified: `alg` only chooses among asymmetric algorithms, and must fit the key.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from executor.errors import Unauthorized

# Which kind of key each takes. `none` and whatever is made with a shared secret is not here.
ALGORITHMS: Final[Mapping[str, tuple[str, str]]] = {
    **dict.fromkeys(("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"), ("RSA", "")),
    "ES256": ("EC", "P-256"),
    "ES384": ("EC", "P-384"),
    "ES512": ("EC", "P-521"),
    "EdDSA": ("OKP", "Ed25519"),
    "Ed25519": ("OKP", "Ed25519"),  # the same under its newer name
}
LARGEST = 8_192
LEEWAY = 30  # seconds by which clocks may differ
MAX_TEXT = 255
MAX_TIME = 1 << 53
# `crit` names what a reader must understand, `zip`, `enc` and `cty` that more is inside: nothing of it is.
REFUSED_HEADERS = frozenset({"crit", "zip", "enc", "cty", "b64"})
TYPES = frozenset({"", "jwt", "at+jwt", "application/at+jwt"})
HINT = "get a new token from the authorization server"
_FORM = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\Z")


@dataclass(frozen=True, slots=True)
class Signed:
    """What a token says. Nothing of it may be believed before its signature was verified."""

    algorithm: str
    key_id: str
    claims: Mapping[str, Any]
    signed: bytes
    signature: bytes


def is_signed(token: str) -> bool:
    """Whether it has the form of one at all; keys and tokens of our own never do."""
    return token.count(".") == 2


def read(token: str) -> Signed:
    if len(token) > LARGEST:
        raise refusal(f"the token is longer than {LARGEST} bytes")
    if not _FORM.match(token):
        raise refusal("the token is not a signed JWT")
    header, claims, signature = token.split(".")
    about = _object(header)
    algorithm, key_id = about.get("alg"), about.get("kid", "")
    if not isinstance(algorithm, str) or algorithm not in ALGORITHMS:
        raise refusal("the token is not signed with a supported asymmetric algorithm")
    if not isinstance(key_id, str) or len(key_id) > MAX_TEXT:
        raise refusal("the token names no key to verify it with")
    kind = about.get("typ", "")
    if REFUSED_HEADERS & about.keys() or not isinstance(kind, str) or kind.lower() not in TYPES:
        raise refusal("tokens of this type are not accepted")
    return Signed(algorithm, key_id, _object(claims), f"{header}.{claims}".encode("ascii"), _decode(signature))


def check(claims: Mapping[str, Any], *, issuer: str, audience: str, now: float) -> str:
    """The subject of claims that are verified, if they are for us, of the right issuer, and good at this time."""
    if claims.get("iss") != issuer:
        raise refusal("the token was not issued by the authorization server of this daemon")
    if audience not in audiences(claims):
        raise refusal("the token was not issued for this daemon")
    if _time(claims, "exp", required=True) <= now - LEEWAY:
        raise refusal("the token has expired")
    if max(_time(claims, "nbf"), _time(claims, "iat")) > now + LEEWAY:
        raise refusal("the token is not valid yet")
    subject = claims.get("sub")
    if not isinstance(subject, str) or not 0 < len(subject) <= MAX_TEXT:
        raise refusal("the token has no subject")
    return subject


def expiry(claims: Mapping[str, Any]) -> int:
    """Until when, in milliseconds, `check` takes claims of this expiry."""
    return int((_time(claims, "exp", required=True) + LEEWAY) * 1000)


def audiences(claims: Mapping[str, Any]) -> list[str]:
    given = claims.get("aud")
    found = [given] if isinstance(given, str) else given if isinstance(given, list) else []
    return [one for one in found if isinstance(one, str)]


def scopes(claims: Mapping[str, Any]) -> frozenset[str]:
    """As RFC 9068 writes them, and as `scp`, a list or text, as some servers do."""
    found: set[str] = set()
    for name in ("scope", "scp"):
        given = claims.get(name)
        words = given.split(" ") if isinstance(given, str) else given if isinstance(given, list) else []
        found.update(word for word in words if isinstance(word, str) and word)
    return frozenset(found)


def plain(value: Any, longest: int = 80) -> str:
    """Text of somebody else's, fit to be shown in one line: no control or direction characters, no markup of ours."""
    text = value if isinstance(value, str) else ""
    return " ".join("".join(one if one.isprintable() else " " for one in text[: longest * 4]).split())[:longest]


def refusal(message: str) -> Unauthorized:
    return Unauthorized(message, hint=HINT)


def _decode(part: str) -> bytes:
    """One text for each value: what decodes to the same bytes in another spelling is refused."""
    try:
        data = base64.b64decode(part + "=" * (-len(part) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        raise refusal("the token is not a signed JWT") from None
    if base64.urlsafe_b64encode(data).rstrip(b"=").decode() != part:
        raise refusal("the token is not a signed JWT")
    return data


def _object(part: str) -> dict[str, Any]:
    """A claim that stands there twice would be one thing to us and another to the next reader."""
    try:
        value = json.loads(_decode(part).decode("utf-8"), object_pairs_hook=_unique, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise refusal("the token is ambiguous") from None
    if not isinstance(value, dict):
        raise refusal("the token is not a signed JWT")
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name is repeated")
    return found


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _time(claims: Mapping[str, Any], name: str, *, required: bool = False) -> float:
    value = claims.get(name)
    if value is None and not required:
        return 0.0
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < MAX_TIME:
        raise refusal(f"the token's `{name}` is not a time")
    return float(value)
