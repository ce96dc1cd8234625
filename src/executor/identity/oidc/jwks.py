"""The public keys of an issuer (JWKS): fetched once, fetched again for a key that is not known, never often."""

from __future__ import annotations

import asyncio
import importlib
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from executor.dataclass import dataclass
from executor.errors import IssuerUnavailable, OAuthFailed
from executor.identity.oidc.issuer import RETRY_SECONDS, Issuer, unavailable
from executor.identity.oidc.jwt import ALGORITHMS, MAX_TEXT, Unverified
from executor.identity.oidc.network import HttpClient

if TYPE_CHECKING:
    from executor.identity.oidc.verification import Verifier

FRESH_SECONDS = 3_600.0
STALE_SECONDS = 4 * 3_600.0  # how long keys are believed while the issuer can't be asked
INTERVAL_SECONDS = 60.0  # between two fetches, whatever tokens arrive
MAX_KEYS = 100
SMALLEST_RSA, LARGEST_RSA = 2_048, 8_192


@dataclass(frozen=True, slots=True)
class PublicKey:
    """`algorithm` is empty when the issuer leaves it open; then any that fits the kind of key."""

    id: str
    kind: str
    curve: str
    algorithm: str
    value: Any

    def fits(self, token: Unverified) -> bool:
        return ALGORITHMS[token.algorithm] == (self.kind, self.curve) and self.algorithm in ("", token.algorithm)


class KeySet:
    """`url` is empty when the issuer's metadata say where its keys are."""

    def __init__(
        self, issuer: Issuer, http: HttpClient, url: str = "", *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._issuer = issuer
        self._http = http
        self._url = url
        self._clock = clock
        self._lock = asyncio.Lock()
        self._keys: tuple[PublicKey, ...] = ()
        self._read_at: float | None = None
        self._tried_at: float | None = None
        self._failure = ""
        self._verifier: Verifier | None = None

    async def verify(self, token: Unverified, audience: str) -> dict[str, Any]:
        """The claims. Raises unless a key of the issuer signed them for `audience`, and they are good at this time.

        What the token names is compared and never fetched.
        """
        if self._verifier is None:
            module = await asyncio.to_thread(importlib.import_module, "executor.identity.oidc.verification")
            self._verifier = module.Verifier()
        keys = [key.value for key in await self._fitting(token)]
        return self._verifier.claims(token, keys, issuer=self._issuer.url, audience=audience)

    async def _fitting(self, token: Unverified) -> list[PublicKey]:
        await self._read(FRESH_SECONDS)
        found = choose_keys(self._keys, token)
        if not found:
            await self._read(0.0)
            found = choose_keys(self._keys, token)
        return found

    async def _read(self, age: float) -> None:
        """Unless what is there is younger than `age`, or there was an attempt within the interval.

        Anyone who has a key that is known never waits for one that looks for another.
        """
        if self._is_younger(age):
            return
        async with self._lock:
            now = self._clock()
            pause = RETRY_SECONDS if self._failure else INTERVAL_SECONDS
            if not self._is_younger(age) and (self._tried_at is None or now - self._tried_at >= pause):
                self._tried_at = now
                await self._fetch(now)
            if self._read_at is None or now - self._read_at > STALE_SECONDS:
                raise unavailable(self._issuer.url, self._failure or "its keys are not known")

    def _is_younger(self, age: float) -> bool:
        return self._read_at is not None and self._clock() - self._read_at < age

    async def _fetch(self, now: float) -> None:
        try:
            url = self._url or await self._issuer.address("jwks_uri")
            document = await self._http.document(url) if url else None
        except (OAuthFailed, IssuerUnavailable) as error:
            self._failure = error.message
            return
        if document is None or not isinstance(document.get("keys"), list):
            self._failure = "it publishes no keys"
            return
        self._keys = await asyncio.to_thread(parse_keys, document["keys"])
        self._read_at, self._failure = now, ""


def choose_keys(keys: Sequence[PublicKey], token: Unverified) -> list[PublicKey]:
    """By its id; a token that names none is taken only where a single key could be meant."""
    fitting = [key for key in keys if key.fits(token)]
    if token.key_id:
        return [key for key in fitting if key.id == token.key_id]
    return fitting if len(fitting) == 1 else []


def parse_keys(published: Sequence[Any]) -> tuple[PublicKey, ...]:
    """Those that can verify. Shared secrets, private keys and what is too weak or too large are left out."""
    found = [_key(one) for one in published[:MAX_KEYS] if isinstance(one, dict)]
    return tuple(key for key in found if key is not None)


def _key(jwk: Mapping[str, Any]) -> PublicKey | None:
    from jwt import PyJWK, PyJWTError

    names = ("kty", "crv", "kid", "alg", "use")
    kind, curve, key_id, algorithm, use = (jwk.get(name, "") for name in names)
    texts = all(isinstance(one, str) and len(one) <= MAX_TEXT for one in (kind, curve, key_id, algorithm, use))
    if not texts or "d" in jwk or use not in ("", "sig"):
        return None
    if (kind, curve) not in ALGORITHMS.values() or algorithm not in ("", *ALGORITHMS):
        return None
    try:
        value = PyJWK({name: part for name, part in jwk.items() if name != "alg"}).key
    except (PyJWTError, ValueError, TypeError, KeyError):
        return None
    if kind == "RSA" and not SMALLEST_RSA <= value.key_size <= LARGEST_RSA:
        return None
    return PublicKey(key_id, kind, curve, algorithm, value)
