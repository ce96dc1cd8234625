"""The token endpoint: requests to it, and how much of its answers is believed."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from dataclasses import field
from typing import Any
from urllib.parse import quote

from executor.connections.oauth import client_assertion
from executor.connections.oauth.http import HttpClient, Origins
from executor.connections.oauth.metadata import names_in
from executor.dataclass import dataclass
from executor.errors import OAuthFailed
from executor.model.ids import now_ms
from executor.network.addresses import display_url
from executor.secrets import in_use
from executor.secrets.redaction import redact

_TOKEN = re.compile(r"[\x21-\x7e]{1,16384}\Z")
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]")
MAX_LIFETIME = 10 * 365 * 86400
AHEAD_MS = 60_000
HINTS = {
    "access_denied": "nothing was connected; if you denied it by mistake, start the login again",
    "invalid_scope": "request `scopes` that the server knows",
    "invalid_client": "the server no longer knows this client; start the login again, or pass its client ID",
    "unauthorized_client": "this client may not log in this way; pass the `clientId` of another one",
    "invalid_grant": "the grant was already used, has expired or was revoked; log in again",
    "invalid_target": "the server does not issue tokens for this service",
    "server_error": "the server failed; try again",
    "temporarily_unavailable": "the server is overloaded; try again later",
    "expired_token": "the code was not entered in time; start the login again",
}
AGAIN = "start the login again; if it fails the same way, contact the operator of the server"


@dataclass(frozen=True, slots=True)
class Client:
    """Who Executor is at a server. `kind` says how it became known there."""

    row_id: str
    client_id: str
    secret: str = field(default="", repr=False)
    method: str = "none"  # none, client_secret_basic, client_secret_post, private_key_jwt (`secret` is the key)
    kind: str = "registered"  # registered, operator, document


@dataclass(frozen=True, slots=True)
class Tokens:
    """`expires_at` is by this machine's clock, counted from before the request: the server's clock never matters."""

    access: str = field(repr=False)
    refresh: str = field(default="", repr=False)
    scopes: tuple[str, ...] = ()
    expires_at: int | None = None
    lifetime_ms: int = 0

    def is_fresh(self, now: int) -> bool:
        """Not when it runs out within a minute, or within a tenth of its time if that is less."""
        return self.expires_at is None or now < self.expires_at - min(AHEAD_MS, self.lifetime_ms // 10)

    def is_usable(self, now: int) -> bool:
        return self.expires_at is None or now < self.expires_at

    def pack(self) -> dict[str, Any]:
        return {"access": self.access, "refresh": self.refresh, "lifetime": self.lifetime_ms}


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where tokens are requested, by which client, and which private addresses that may be at; `issuer` owns it."""

    url: str
    client: Client
    origins: Origins = frozenset()
    issuer: str = ""


async def ask(http: HttpClient, endpoint: Endpoint, form: Mapping[str, str]) -> Tokens:
    """Raises OAuthFailed with the server's own words; its `details["error"]` is the server's code."""
    asked_at = now_ms()
    secrets = [form[name] for name in ("code", "code_verifier", "refresh_token", "device_code") if name in form]
    in_use.remember([*secrets, *([endpoint.client.secret] if endpoint.client.secret else [])])
    filled, headers = authenticate_client(endpoint.client, form, endpoint.issuer)
    status, answer = await http.post_form(endpoint.url, filled, headers, endpoint.origins)
    if status != 200 or "error" in answer:
        raise failure(endpoint.url, status, answer, (*secrets, endpoint.client.secret))
    return read(endpoint.url, answer, asked_at)


def authenticate_client(client: Client, form: Mapping[str, str], issuer: str) -> tuple[dict[str, str], dict[str, str]]:
    """The id is always in the form, too: some servers look for it there, whatever the method."""
    filled = {**form, "client_id": client.client_id}
    if client.method == "client_secret_basic" and client.secret:
        pair = f"{quote(client.client_id, safe='')}:{quote(client.secret, safe='')}"
        return filled, {"Authorization": f"Basic {base64.b64encode(pair.encode()).decode()}"}
    if client.method == "client_secret_post" and client.secret:
        filled["client_secret"] = client.secret
    if client.method == client_assertion.METHOD:
        signed = client_assertion.sign_assertion(client.client_id, client.secret, issuer)
        in_use.remember([signed])
        filled |= {"client_assertion_type": client_assertion.ASSERTION_TYPE, "client_assertion": signed}
    return filled, {}


def read(url: str, answer: Mapping[str, Any], asked_at: int) -> Tokens:
    access, refresh = answer.get("access_token"), answer.get("refresh_token")
    if not isinstance(access, str) or not _TOKEN.match(access):
        raise OAuthFailed(f"{display_url(url)} answered without a usable access token", hint=AGAIN)
    if str(answer.get("token_type") or "bearer").lower() != "bearer":
        raise OAuthFailed(
            f"{display_url(url)} issues tokens that are not bearer tokens", hint="use a key for this source instead"
        )
    if not isinstance(refresh, str) or not _TOKEN.match(refresh):
        refresh = ""
    in_use.remember([access, *([refresh] if refresh else [])])
    seconds = lifetime(answer.get("expires_in"))
    expires_at = None if seconds is None else asked_at + seconds * 1000
    return Tokens(access, refresh, names_in(answer.get("scope")), expires_at, (seconds or 0) * 1000)


def lifetime(value: Any) -> int | None:
    """In seconds; None if the server doesn't say. Some write the number as text."""
    try:
        seconds = int(float(value)) if isinstance(value, int | float | str) and not isinstance(value, bool) else 0
    except (ValueError, OverflowError):
        return None
    return min(seconds, MAX_LIFETIME) if seconds > 0 else None


def failure(url: str, status: int, answer: Mapping[str, Any], secrets: tuple[str, ...] = ()) -> OAuthFailed:
    """The server's own words, without what they may echo."""
    error = clean(answer.get("error"), secrets, 200)
    description = clean(answer.get("error_description"), secrets, 1_000)
    where = display_url(url)
    if not error:
        transient = status >= 500 or status == 429
        return OAuthFailed(f"{where} answered {status}", hint=AGAIN, upstream_status=status, unreachable=transient)
    reason = f"{error}: {description}" if description else error
    return OAuthFailed(
        f"{where} refused: {reason}",
        hint=HINTS.get(error, AGAIN),
        error=error,
        error_description=description,
        upstream_status=status,
        unreachable=error in ("server_error", "temporarily_unavailable"),
    )


def clean(value: Any, secrets: tuple[str, ...], limit: int) -> str:
    if not isinstance(value, str):
        return ""
    return redact(_UNPRINTABLE.sub("�", value)[:limit], [secret for secret in secrets if secret])
