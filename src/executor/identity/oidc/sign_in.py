"""Sign-in at an identity provider (OpenID Connect, authorization code with PKCE), bound to the browser that begins it.

The browser holds one random value in a cookie. Nonce and verifier are made of it and of the issuer, so that neither
is stored, and an answer that was meant for another provider or another browser fits nothing here.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import secrets
from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any
from urllib.parse import urlsplit

from executor.dataclass import dataclass
from executor.errors import Busy, InvalidRequest, Unauthorized
from executor.identity.new_token import digest
from executor.identity.oidc import jwt
from executor.identity.oidc.provider import Person, Provider
from executor.identity.rate_limit import RateLimit
from executor.model.ids import now_ms
from executor.storage.database import Database
from executor.storage.identity import oidc_sign_ins
from executor.storage.identity.oidc_sign_ins import SignIn

SCOPES = "openid profile email"
FLOW_MS = 10 * 60_000
MOST = 5_000
STARTS, STARTS_PER_SECOND = 30, 0.5
COOKIE = "executor_sign_in_"
AGAIN = "start the sign-in again"
_RETURN = re.compile(r"/(?![/\\])[!-\[\]-~]{0,500}\Z")


@dataclass(frozen=True, slots=True)
class Begun:
    """Where the browser goes, and what it keeps until it comes back."""

    url: str
    cookie: str
    value: str = field(repr=False)


class SignIns:
    def __init__(self, database: Database, provider: Provider, *, redirect_uri: str) -> None:
        self._database = database
        self._provider = provider
        self._redirect_uri = redirect_uri
        self.starts = RateLimit(STARTS, STARTS_PER_SECOND)

    async def begin(self, return_to: str, address: str) -> Begun:
        check_return(return_to)
        self.starts.take(address)
        issuer = self._provider.issuer.url
        state, browser = secrets.token_urlsafe(32), secrets.token_urlsafe(32)
        nonce = derive("nonce", issuer, browser)
        challenge = hashlib.sha256(derive("verifier", issuer, browser).encode()).digest()
        url = await self._provider.authorization_url(
            {
                "response_type": "code",
                "redirect_uri": self._redirect_uri,
                "scope": SCOPES,
                "state": state,
                "nonce": nonce,
                "code_challenge": encode_base64(challenge),
                "code_challenge_method": "S256",
            }
        )
        await self._keep(state, browser, nonce, return_to)
        return Begun(url, cookie_of(state), browser)

    async def finish(self, query: Mapping[str, str], cookie: Callable[[str], str]) -> tuple[Person, str]:
        """Who has signed in, and where they wanted to go. What the provider sent works once."""
        state = query.get("state", "")
        browser = cookie(cookie_of(state)) if state else ""
        begun = await self._spend(state, browser)
        issuer = self._provider.issuer.url
        await self._check_sender(query)
        code = query.get("code", "")
        if "error" in query or not code:
            said = jwt.plain(query.get("error_description") or query.get("error") or "", 200)
            raise refusal(f"the identity provider refused the sign-in{': ' + said if said else ''}")
        nonce = derive("nonce", issuer, browser)
        if not hmac.compare_digest(digest(nonce), begun.nonce_digest):
            raise refusal("this sign-in was started with another identity provider")
        person = await self._provider.exchange(code, self._redirect_uri, derive("verifier", issuer, browser), nonce)
        return person, begun.return_to

    async def _keep(self, state: str, browser: str, nonce: str, return_to: str) -> None:
        at = now_ms()
        begun = SignIn(digest(state), digest(browser), digest(nonce), return_to, at, at + FLOW_MS)

        def write(c: Any) -> None:
            oidc_sign_ins.forget(c, at)
            if oidc_sign_ins.count(c) >= MOST:
                raise Busy(f"{MOST} sign-ins are under way", hint="try again in a few minutes")
            oidc_sign_ins.insert(c, begun)

        await self._database.write(write)

    async def _spend(self, state: str, browser: str) -> SignIn:
        at = now_ms()
        found = None
        if state and browser:
            found = await self._database.write(lambda c: oidc_sign_ins.spend(c, digest(state), digest(browser), at))
        if found is None:
            raise refusal("this sign-in was started in another browser, is complete, or has expired")
        return found

    async def _check_sender(self, query: Mapping[str, str]) -> None:
        """RFC 9207: who sends this answer. A provider that promises to say so must."""
        metadata = await self._provider.issuer.metadata()
        said = query.get("iss")
        promised = metadata.get("authorization_response_iss_parameter_supported") is True
        if said != self._provider.issuer.url and (said is not None or promised):
            raise refusal("this answer does not come from the expected identity provider")


def check_return(path: str) -> None:
    """A page of this daemon: anything a browser could read as another site's address is refused."""
    parts = urlsplit(path)
    if not _RETURN.match(path) or parts.scheme or parts.netloc:
        raise InvalidRequest("return_to is not a page of this daemon", hint="send a path such as /approvals")


def cookie_of(state: str) -> str:
    """One for each sign-in, so that two tabs do not disturb each other."""
    return COOKIE + digest(state)[:16]


def derive(purpose: str, issuer: str, browser: str) -> str:
    return encode_base64(hashlib.sha256(f"executor {purpose}\n{issuer}\n{browser}".encode()).digest())


def encode_base64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def refusal(message: str) -> Unauthorized:
    return Unauthorized(message, hint=AGAIN)
