"""Signed tokens (JWT) of an authorization server, before they are verified: what of their form is refused.

Nothing in a token says how it is to be verified: `alg` only chooses among asymmetric algorithms, and must fit the key.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Mapping
from typing import Any, Final

from executor.dataclass import dataclass
from executor.errors import Unauthorized

# Which kind of key each takes. `none` and whatever uses a shared secret is not here.
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
class Unverified:
    """What a token says of its own signature. Nothing of it may be believed."""

    text: str
    algorithm: str
    key_id: str


def is_signed(token: str) -> bool:
    """Whether it has the form of one at all; keys and tokens of our own never do."""
    return token.count(".") == 2


def read(token: str) -> Unverified:
    if len(token) > LARGEST:
        raise refusal(f"the token is longer than {LARGEST} bytes")
    if not _FORM.match(token):
        raise refusal("the token is not a signed JWT")
    about = _header(token)
    algorithm, key_id = about.get("alg"), about.get("kid", "")
    if not isinstance(algorithm, str) or algorithm not in ALGORITHMS:
        raise refusal("the token is not signed with a supported asymmetric algorithm")
    if not isinstance(key_id, str) or len(key_id) > MAX_TEXT:
        raise refusal("the token names no key to verify it with")
    kind = about.get("typ", "")
    if REFUSED_HEADERS & about.keys() or not isinstance(kind, str) or kind.lower() not in TYPES:
        raise refusal("tokens of this type are not accepted")
    return Unverified(token, algorithm, key_id)


def check_times(claims: Mapping[str, Any]) -> None:
    """Numbers in a sensible range: PyJWT takes texts and booleans too."""
    for name in ("exp", "nbf", "iat"):
        value = claims.get(name, 0)
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < MAX_TIME:
            raise refusal(f"the token's `{name}` is not a time")


def expiry(claims: Mapping[str, Any]) -> int:
    """Until when, in milliseconds, verified claims are taken."""
    return int((claims["exp"] + LEEWAY) * 1000)


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
    """Text of another party, fit to be shown in one line: no control or direction characters, no markup of ours."""
    text = value if isinstance(value, str) else ""
    return " ".join("".join(one if one.isprintable() else " " for one in text[: longest * 4]).split())[:longest]


def refusal(message: str) -> Unauthorized:
    return Unauthorized(message, hint=HINT)


def parse_object(data: bytes) -> dict[str, Any]:
    """A claim that is there twice would be one thing to us and another to the next reader."""
    try:
        value = json.loads(data.decode("utf-8"), object_pairs_hook=_unique, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise refusal("the token is ambiguous") from None
    if not isinstance(value, dict):
        raise refusal("the token is not a signed JWT")
    return value


def _header(token: str) -> dict[str, Any]:
    """PyJWT refuses other spellings of the same bytes when it verifies."""
    try:
        return parse_object(base64.urlsafe_b64decode(token.partition(".")[0] + "=="))
    except binascii.Error:
        raise refusal("the token is not a signed JWT") from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name is there twice")
    return found


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")
