"""The identity provider, as the client that we are there: codes into ID tokens, ID tokens into persons."""

from __future__ import annotations

import base64
import hmac
from collections.abc import Awaitable, Callable, Mapping
from typing import Any
from urllib.parse import quote, urlencode

from executor.dataclass import dataclass
from executor.errors import OAuthFailed, Unauthorized
from executor.identity.oidc import jwt
from executor.identity.oidc.issuer import Issuer, unavailable
from executor.identity.oidc.jwks import KeySet
from executor.identity.oidc.network import HttpClient

MAX_EMAIL = 254
BASIC, POST = "client_secret_basic", "client_secret_post"
AGAIN = "start the sign-in again"
# The secret is read again for each exchange, and kept nowhere. Empty for a client that has none.
Secret = Callable[[], Awaitable[str]]


@dataclass(frozen=True, slots=True)
class Person:
    """Known by `issuer` and `subject`. `email` is empty unless the provider says that it has verified it."""

    issuer: str
    subject: str
    name: str
    email: str = ""


class Provider:
    def __init__(
        self,
        issuer: Issuer,
        keys: KeySet,
        http: HttpClient,
        *,
        client_id: str,
        secret: Secret,
    ) -> None:
        self.issuer = issuer
        self._keys = keys
        self._http = http
        self._client_id = client_id
        self._secret = secret

    async def authorization_url(self, asked: Mapping[str, str]) -> str:
        endpoint = await self._endpoint("authorization_endpoint")
        separator = "&" if "?" in endpoint else "?"
        return f"{endpoint}{separator}{urlencode({'client_id': self._client_id, **asked})}"

    async def exchange(self, code: str, redirect_uri: str, verifier: str, nonce: str) -> Person:
        """Raises Unauthorized for whatever is not exactly the answer to this sign-in."""
        form = {"grant_type": "authorization_code", "code": code, "redirect_uri": redirect_uri}
        secret = await self._secret()
        form, headers = await self._authenticate({**form, "code_verifier": verifier}, secret)
        try:
            status, answer = await self._http.post_form(await self._endpoint("token_endpoint"), form, headers)
        except OAuthFailed as error:
            raise unavailable(self.issuer.url, error.message) from error
        token = answer.get("id_token")
        if status != 200 or not isinstance(token, str):
            said = jwt.plain(answer.get("error_description") or answer.get("error"), 200)
            said = said.replace(secret, "…") if secret else said  # a page is no place for it
            raise refusal(f"the identity provider returned no ID token{': ' + said if said else ''}")
        claims = await self._claims(token, nonce)
        return await self._person(claims, answer.get("access_token"))

    async def _claims(self, token: str, nonce: str) -> Mapping[str, Any]:
        claims = await self._keys.verify(jwt.read(token), self._client_id)
        party = claims.get("azp")
        if party != self._client_id and (party is not None or len(jwt.audiences(claims)) > 1):
            raise refusal("the ID token was issued to another client")
        given = claims.get("nonce")
        if not isinstance(given, str) or not hmac.compare_digest(given.encode(), nonce.encode()):
            raise refusal("the ID token does not belong to this sign-in")
        return claims

    async def _person(self, claims: Mapping[str, Any], access_token: Any) -> Person:
        """Many providers give name and address only at their `userinfo` endpoint."""
        subject: str = claims["sub"]
        about = claims if "email" in claims else await self._userinfo(subject, access_token)
        given = [part.get(one) for one in ("name", "preferred_username", "email") for part in (claims, about)]
        name = next((one for one in map(jwt.plain, given) if one), "") or jwt.plain(subject) or "guest"
        return Person(self.issuer.url, subject, name, verified_email(about))

    async def _userinfo(self, subject: str, access_token: Any) -> Mapping[str, Any]:
        endpoint = await self.issuer.address("userinfo_endpoint")
        if not endpoint or not isinstance(access_token, str) or len(access_token) > jwt.LARGEST:
            return {}
        try:
            found = await self._http.document(endpoint, access_token)
        except OAuthFailed as error:
            raise unavailable(self.issuer.url, error.message) from error
        # The address of someone else must not become that of anyone who signs in.
        return found if found is not None and found.get("sub") == subject else {}

    async def _authenticate(self, form: dict[str, str], secret: str) -> tuple[dict[str, str], dict[str, str]]:
        if not secret:
            return {**form, "client_id": self._client_id}, {}
        methods = (await self.issuer.metadata()).get("token_endpoint_auth_methods_supported")
        if isinstance(methods, list) and BASIC not in methods and POST in methods:
            return {**form, "client_id": self._client_id, "client_secret": secret}, {}
        pair = f"{quote(self._client_id, safe='')}:{quote(secret, safe='')}"
        return form, {"Authorization": f"Basic {base64.b64encode(pair.encode()).decode()}"}

    async def _endpoint(self, name: str) -> str:
        found = await self.issuer.address(name)
        if not found:
            raise unavailable(self.issuer.url, f"it has no `{name}`")
        return found


def verified_email(claims: Mapping[str, Any]) -> str:
    """An address that anyone could have typed in there opens no invitation."""
    email = claims.get("email")
    if claims.get("email_verified") is not True or not isinstance(email, str):
        return ""
    is_one = email.isascii() and email.isprintable() and email.count("@") == 1 and " " not in email
    return email if is_one and len(email) <= MAX_EMAIL else ""


def refusal(message: str) -> Unauthorized:
    return Unauthorized(message, hint=AGAIN)
