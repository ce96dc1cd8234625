"""The strict authorization server once more, as one that signs: JWT access tokens, ID tokens, keys it publishes."""

from __future__ import annotations

import base64
import json
import re
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from typing import Any

from authlib.oidc.core import UserInfo
from authlib.oidc.core.grants import OpenIDCode
from joserfc.jwk import ECKey, OKPKey, RSAKey

from tests.support.authorization import Client, Code, CodeGrant, Form, Request, Server
from tests.support.loopback import NOTHING, Answer, Authority, listening

SCOPE = "executor:execute"
Key = RSAKey | ECKey | OKPKey
_KEYS: dict[str, Any] = {}


def new_key(algorithm: str, kid: str) -> Any:
    about = {"kid": kid, "use": "sig", "alg": algorithm}
    if algorithm.startswith(("RS", "PS")):
        return RSAKey.generate_key(2048, about)
    if algorithm.startswith("Ed"):
        return OKPKey.generate_key("Ed25519", about)
    return ECKey.generate_key({"ES256": "P-256", "ES384": "P-384", "ES512": "P-521"}[algorithm], about)


def a_key(algorithm: str = "RS256", kid: str = "first") -> Any:
    """Made once for all tests: RSA keys take long to find."""
    name = f"{algorithm} {kid}"
    if name not in _KEYS:
        _KEYS[name] = new_key(algorithm, kid)
    return _KEYS[name]


def encode_part(value: Any) -> str:
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


@dataclass
class OidcCode(Code):
    nonce: str = ""

    def get_nonce(self) -> str:
        return self.nonce

    def get_auth_time(self) -> int:
        return int(time.time())

    def get_acr(self) -> None:
        return None

    def get_amr(self) -> None:
        return None


class AnyScope(Client):
    def get_allowed_scope(self, scope: str) -> str:
        return scope or ""


class SignedCodeGrant(CodeGrant):
    def save_authorization_code(self, code: str, request: Request) -> None:
        super().save_authorization_code(code, request)
        kept = self.server.ledger.codes[code]
        given = {one.name: getattr(kept, one.name) for one in fields(Code)}
        self.server.ledger.codes[code] = OidcCode(**given, nonce=request.payload.data.get("nonce", ""))

    def authenticate_user(self, authorization_code: Code) -> dict[str, Any]:
        return dict(self.server.authority.person)


class IdTokens(OpenIDCode):
    def __init__(self, authority: TokenIssuer) -> None:
        super().__init__(require_nonce=False)
        self.authority = authority

    def exists_nonce(self, nonce: str, request: Any) -> bool:
        return False

    def resolve_client_private_key(self, client: Client) -> Any:
        return self.authority.key

    def get_client_algorithm(self, client: Client) -> str:
        return self.authority.algorithm

    def get_encode_header(self, client: Client) -> dict[str, Any]:
        return {"alg": self.authority.algorithm, "kid": self.authority.key.kid}

    def get_client_claims(self, client: Client) -> dict[str, Any]:
        return {"iss": self.authority.issuer, "aud": [client.get_client_id()]}

    def generate_user_info(self, user: dict[str, Any], scope: str) -> UserInfo:
        about = user if self.authority.tells_in_token else {"sub": user["sub"]}
        return UserInfo({**about, **self.authority.changes})


class SigningServer(Server):
    def __init__(self, authority: TokenIssuer) -> None:
        self.authority = authority
        super().__init__(authority.issuer, authority.ledger)
        self.scopes_supported = None

    def register_grant(self, grant_cls: Any, extensions: Any = None) -> None:
        if grant_cls is CodeGrant:
            super().register_grant(SignedCodeGrant, [*extensions, IdTokens(self.authority)])
        else:
            super().register_grant(grant_cls, extensions)

    def query_client(self, client_id: str) -> Client | None:
        found = super().query_client(client_id)
        return AnyScope(**{one.name: getattr(found, one.name) for one in fields(Client)}) if found else None

    def _generate(self, grant_type: str, client: Client, scope: str = "", **options: Any) -> dict[str, Any]:
        token = super()._generate(grant_type, client, scope, **options)
        told = {"aud": self.lineage[1], "scope": token["scope"], "client_id": client.client_id}
        return {**token, "access_token": self.authority.token(**told)}


@dataclass
class TokenIssuer(Authority):
    """`changes` are put over the claims of every ID token; `person` is whoever signs in."""

    algorithm: str = "RS256"
    key: Any = field(default_factory=a_key)
    person: dict[str, Any] = field(
        default_factory=lambda: {"sub": "ann-1", "name": "Ann", "email": "ann@example.org", "email_verified": True}
    )
    changes: dict[str, Any] = field(default_factory=dict)
    tells_in_token: bool = True
    published: list[dict[str, Any]] | None = None

    def document(self) -> dict[str, Any]:
        named = {"jwks_uri": f"{self.issuer}/jwks", "userinfo_endpoint": f"{self.issuer}/userinfo"}
        return {
            **super().document(),
            **named,
            "scopes_supported": ["openid", "profile", "email", SCOPE],
            **self.metadata,
        }

    def register_client(self, client_id: str, *redirects: str, secret: str = "") -> None:
        method = "client_secret_basic" if secret else "none"
        self.ledger.clients[client_id] = Client(client_id, secret, redirects, method)

    def claims(self, **changes: Any) -> dict[str, Any]:
        """Those of a good access token; None takes one out."""
        now = int(time.time())
        found = {
            "iss": self.issuer,
            "sub": self.person["sub"],
            "aud": self.ledger.resource,
            "iat": now,
            "exp": now + 600,
            "scope": SCOPE,
            "jti": secrets.token_hex(8),
            **changes,
        }
        return {name: value for name, value in found.items() if value is not None}

    def token(self, header: dict[str, Any] | None = None, key: Any = None, **changes: Any) -> str:
        about = {"alg": self.algorithm, "kid": self.key.kid, "typ": "at+jwt", **(header or {})}
        return self.sign(json.dumps(about), json.dumps(self.claims(**changes)), key)

    def sign(self, header: str, claims: str, key: Any = None) -> str:
        """Exactly these two texts, with a good signature."""
        from jwt.algorithms import get_default_algorithms

        first = f"{encode_part(header.encode())}.{encode_part(claims.encode())}"
        known = get_default_algorithms()
        way = known.get(re.findall(r'"alg": "(\w+)"', header)[-1], known["EdDSA"])
        return f"{first}.{encode_part(way.sign(first.encode(), (key or self.key).private_key))}"

    def _protocol(self, form: Form, path: str) -> Answer:
        if path == "/jwks":
            keys = self.published if self.published is not None else [self.key.as_dict(private=False)]
            return 200, {"keys": keys}, {}
        if path == "/userinfo":
            bearer = form.headers.get("authorization", "")
            return (200, self.person, {}) if bearer.startswith("Bearer ey") else (401, {"error": "invalid_token"}, {})
        server = SigningServer(self)
        if path == "/authorize":
            return self._authorize(server, form)
        if path == "/token":
            self.ledger.forms.append(form.data)
            return server.create_token_response(form)  # type: ignore[no-any-return]  # authlib has no types
        return server.create_endpoint_response("client_registration", form) if path == "/register" else NOTHING


@contextmanager
def issuing(path: str = "", **options: Any) -> Iterator[TokenIssuer]:
    with listening(lambda origin: TokenIssuer(origin, path, **options)) as authority:
        yield authority
