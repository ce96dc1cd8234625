"""A strict authorization server on loopback, made of authlib: PKCE S256 only, exact redirects, `resource` checked,
codes used once, refresh tokens rotated, and a grant dropped as soon as one of its old tokens is shown again."""

from __future__ import annotations

import secrets
import threading
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from authlib.oauth2.rfc6749 import AuthorizationServer, JsonRequest, OAuth2Request, grants
from authlib.oauth2.rfc6749.errors import InvalidGrantError, InvalidRequestError, InvalidScopeError, OAuth2Error
from authlib.oauth2.rfc6749.models import AuthorizationCodeMixin, ClientMixin, TokenMixin
from authlib.oauth2.rfc6749.requests import BasicOAuth2Payload
from authlib.oauth2.rfc7523 import JWTBearerClientAssertion
from authlib.oauth2.rfc7591 import ClientRegistrationEndpoint
from authlib.oauth2.rfc7636 import CodeChallenge
from authlib.oauth2.rfc8628 import DeviceAuthorizationEndpoint, DeviceCodeGrant
from authlib.oauth2.rfc8628.models import DeviceCredentialDict
from joserfc.errors import InvalidKeyTypeError
from joserfc.jwk import ECKey, OKPKey, RSAKey

METHODS = ["none", "client_secret_basic", "client_secret_post"]
MACHINE_METHODS = [*METHODS[1:], "private_key_jwt"]
SCOPES = ["read", "write", "offline_access"]


class InvalidTarget(OAuth2Error):
    error = "invalid_target"


@dataclass
class Client(ClientMixin):
    client_id: str
    secret: str = ""
    redirect_uris: tuple[str, ...] = ()
    method: str = "none"

    def get_client_id(self) -> str:
        return self.client_id

    def get_default_redirect_uri(self) -> str:
        return ""

    def get_allowed_scope(self, scope: str) -> str:
        return " ".join(one for one in (scope or "").split() if one in SCOPES)

    def check_redirect_uri(self, redirect_uri: str) -> bool:
        return redirect_uri in self.redirect_uris

    def check_client_secret(self, client_secret: str) -> bool:
        return bool(self.secret) and secrets.compare_digest(self.secret, client_secret)

    def check_endpoint_auth_method(self, method: str, endpoint: str) -> bool:
        return method == self.method

    def check_response_type(self, response_type: str) -> bool:
        return response_type == "code"

    def check_grant_type(self, grant_type: str) -> bool:
        return True


@dataclass
class Code(AuthorizationCodeMixin):
    code: str
    client_id: str
    redirect_uri: str
    scope: str
    resource: str
    code_challenge: str
    code_challenge_method: str
    family: str
    used: bool = False

    def get_redirect_uri(self) -> str:
        return self.redirect_uri

    def get_scope(self) -> str:
        return self.scope


@dataclass
class Token(TokenMixin):
    access: str
    refresh: str
    client_id: str
    scope: str
    resource: str
    family: str
    expires_at: float
    rotated: bool = False

    def check_client(self, client: Client) -> bool:
        return client.client_id == self.client_id

    def get_scope(self) -> str:
        return self.scope

    def is_expired(self) -> bool:
        return False

    def is_revoked(self) -> bool:
        return False


@dataclass
class Form:
    """A request as the HTTP shell hands it over."""

    method: str
    uri: str
    data: dict[str, str]
    headers: dict[str, str]


class Request(OAuth2Request):
    def __init__(self, given: Form) -> None:
        super().__init__(given.method, given.uri.replace("http://", "https://", 1), headers=given.headers)
        self.payload = BasicOAuth2Payload(given.data)

    @property
    def form(self) -> dict[str, str]:
        return dict(self.payload.data)

    @property
    def args(self) -> dict[str, str]:
        return dict(self.payload.data)


@dataclass
class Ledger:
    """Everything the server knows, and what it was asked."""

    clients: dict[str, Client] = field(default_factory=dict)
    codes: dict[str, Code] = field(default_factory=dict)
    tokens: list[Token] = field(default_factory=list)
    devices: dict[str, dict[str, Any]] = field(default_factory=dict)
    revoked: set[str] = field(default_factory=set)
    asked: Counter[str] = field(default_factory=Counter)
    forms: list[dict[str, str]] = field(default_factory=list)
    resource: str = ""  # the only one that tokens are issued for; empty for any
    lifetime: int = 3600
    rotates: bool = True
    refuses_scope: bool = False  # on refresh
    grants_scope: str = ""  # instead of what was asked
    lock: threading.RLock = field(default_factory=threading.RLock)

    def token(self, access: str) -> Token | None:
        for token in self.tokens:
            if token.access == access and token.family not in self.revoked and token.expires_at > time.time():
                return token
        return None


class CodeGrant(grants.AuthorizationCodeGrant):
    TOKEN_ENDPOINT_AUTH_METHODS = METHODS

    def save_authorization_code(self, code: str, request: Request) -> None:
        given, ledger = request.payload.data, self.server.ledger
        if given.get("code_challenge_method") != "S256" or not given.get("code_challenge"):
            raise InvalidRequestError("PKCE with S256 is required")
        check_resource(ledger, given)
        ledger.codes[code] = Code(
            code, request.client.client_id, given["redirect_uri"], request.scope or "", given.get("resource", ""),
            given["code_challenge"], "S256", secrets.token_hex(8),
        )  # fmt: skip

    def query_authorization_code(self, code: str, client: Client) -> Code | None:
        ledger = self.server.ledger
        found = ledger.codes.get(code)
        if found is None or found.client_id != client.client_id:
            return None
        if found.used:
            ledger.revoked.add(found.family)
            raise InvalidGrantError("this code was used already")
        given = self.request.form
        if given.get("resource", "") != found.resource:
            raise InvalidTarget("another resource than the one consented to")
        self.server.lineage = (found.family, found.resource)
        return found

    def delete_authorization_code(self, authorization_code: Code) -> None:
        authorization_code.used = True

    def authenticate_user(self, authorization_code: Code) -> str:
        return "ann"


class Refresh(grants.RefreshTokenGrant):
    TOKEN_ENDPOINT_AUTH_METHODS = METHODS

    @property
    def INCLUDE_NEW_REFRESH_TOKEN(self) -> bool:  # noqa: N802 - the library's name
        return bool(self.server.ledger.rotates)

    def authenticate_refresh_token(self, refresh_token: str) -> Token:
        ledger = self.server.ledger
        if ledger.refuses_scope and self.request.form.get("scope"):
            raise InvalidScopeError("leave the scope out")
        found = next((one for one in ledger.tokens if one.refresh and one.refresh == refresh_token), None)
        if found is None or found.family in ledger.revoked:
            raise InvalidGrantError("the grant is gone")
        if found.rotated:
            ledger.revoked.add(found.family)
            raise InvalidGrantError("this refresh token was used before; the whole grant is revoked")
        if self.request.form.get("resource", "") != found.resource:
            raise InvalidTarget("another resource than the one consented to")
        self.server.lineage = (found.family, found.resource)
        return found

    def authenticate_user(self, refresh_token: Token) -> str:
        return "ann"

    def revoke_old_credential(self, refresh_token: Token) -> None:
        refresh_token.rotated = self.server.ledger.rotates


class Assertion(JWTBearerClientAssertion):
    """For clients whose `secret` is their public key here."""

    CLIENT_AUTH_METHOD = "private_key_jwt"

    def __init__(self, server: Server) -> None:
        super().__init__()
        self._server = server
        self._seen: set[str] = set()

    def get_audiences(self) -> list[str]:
        return [self._server.issuer]

    def resolve_client_public_key(self, client: Client) -> Any:
        for kind in (RSAKey, ECKey, OKPKey):
            with suppress(InvalidKeyTypeError):
                return kind.import_key(client.secret)
        raise AssertionError("not a key")

    def validate_jti(self, claims: Any, jti: str) -> bool:
        is_new = jti not in self._seen
        self._seen.add(jti)
        return is_new


class Machine(grants.ClientCredentialsGrant):
    TOKEN_ENDPOINT_AUTH_METHODS = MACHINE_METHODS


class Device(DeviceAuthorizationEndpoint):
    def get_verification_uri(self) -> str:
        return f"{self.server.issuer}/device"

    def save_device_credential(self, client_id: str, scope: str, data: dict[str, Any]) -> None:
        self.server.ledger.devices[data["device_code"]] = {**data, "client_id": client_id, "scope": scope, "answer": ""}


class DeviceGrant(DeviceCodeGrant):
    TOKEN_ENDPOINT_AUTH_METHODS = METHODS

    def query_device_credential(self, device_code: str) -> DeviceCredentialDict | None:
        found = self.server.ledger.devices.get(device_code)
        return DeviceCredentialDict({**found, "expires_at": time.time() + 600}) if found else None

    def query_user_grant(self, user_code: str) -> tuple[str, bool] | None:
        found = next(one for one in self.server.ledger.devices.values() if one["user_code"] == user_code)
        self.server.lineage = (secrets.token_hex(8), "")
        return ("ann", found["answer"] == "yes") if found["answer"] in ("yes", "no") else None

    def should_slow_down(self, credential: Any) -> bool:
        found = self.server.ledger.devices[credential["device_code"]]
        slow, found["slow"] = found.get("slow", False), False
        return bool(slow)


class Registration(ClientRegistrationEndpoint):
    def authenticate_token(self, request: JsonRequest) -> str:
        return "anyone"

    def get_server_metadata(self) -> dict[str, Any]:
        return {}

    def generate_client_secret(self, request: JsonRequest) -> str:
        return "" if request.payload.data.get("token_endpoint_auth_method") == "none" else secrets.token_hex(16)

    def save_client(self, client_info: dict[str, Any], client_metadata: dict[str, Any], request: JsonRequest) -> Client:
        method = client_metadata.get("token_endpoint_auth_method", "client_secret_basic")
        client = Client(client_info["client_id"], client_info["client_secret"],
                        tuple(client_metadata["redirect_uris"]), method)  # fmt: skip
        self.server.ledger.clients[client.client_id] = client
        self.server.ledger.asked["registration"] += 1
        return client


class Server(AuthorizationServer):
    def __init__(self, issuer: str, ledger: Ledger) -> None:
        super().__init__(SCOPES)
        self.issuer = issuer
        self.ledger = ledger
        self.lineage = ("", "")
        self.register_token_generator("default", self._generate)
        self.register_grant(CodeGrant, [CodeChallenge(required=True)])
        for grant in (Refresh, Machine, DeviceGrant):
            self.register_grant(grant)
        self.register_client_auth_method(Assertion.CLIENT_AUTH_METHOD, Assertion(self))
        self.register_endpoint(Device)
        self.register_endpoint(Registration)

    def query_client(self, client_id: str) -> Client | None:
        return self.ledger.clients.get(client_id)

    def save_token(self, token: dict[str, Any], request: Request) -> None:
        family, resource = self.lineage
        self.ledger.tokens.append(
            Token(
                token["access_token"],
                token.get("refresh_token", ""),
                request.client.client_id,
                token["scope"],
                resource,
                family,
                time.time() + token["expires_in"],
            )
        )

    def send_signal(self, name: str, *args: Any, **kwargs: Any) -> None:
        pass

    def create_oauth2_request(self, request: Form) -> Request:
        return Request(request)

    def create_json_request(self, request: Form) -> JsonRequest:
        made = JsonRequest(request.method, request.uri, request.headers)
        made.payload = BasicOAuth2Payload(request.data)
        return made

    def handle_response(self, status: int, body: Any, headers: Any) -> tuple[int, Any, dict[str, str]]:
        return status, body, dict(headers or ())

    def _generate(self, grant_type: str, client: Client, scope: str = "", **options: Any) -> dict[str, Any]:
        token = {
            "token_type": "Bearer",
            "access_token": f"at-{secrets.token_urlsafe(24)}",
            "expires_in": self.ledger.lifetime,
            "scope": self.ledger.grants_scope or scope or "",
        }
        if options.get("include_refresh_token", True) and grant_type != "client_credentials":
            token["refresh_token"] = f"rt-{secrets.token_urlsafe(24)}"
        return token


def check_resource(ledger: Ledger, given: dict[str, str]) -> None:
    if ledger.resource and given.get("resource") != ledger.resource:
        raise InvalidTarget("tokens are issued for another resource only")
