"""Requests to authorization servers: small, bounded, through the one outbound client, encrypted unless local."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode, urlsplit

import orjson

from executor.errors import EgressRefused, OAuthFailed, SourceUnreachable
from executor.network.addresses import display_url, parse
from executor.network.client import Answer, Bounds, Egress, Outgoing
from executor.network.private_access import PUBLIC

BOUNDS = Bounds(seconds=20.0, size=1_000_000)
JSON = "application/json"
FORM = "application/x-www-form-urlencoded"

Origins = frozenset[str]


class HttpClient:
    def __init__(self, egress: Egress) -> None:
        self._egress = egress

    async def document(self, url: str, origins: Origins, bearer: str = "") -> dict[str, Any] | None:
        """A JSON document. None if it does not exist or is something else."""
        headers = {"Accept": JSON, **({"Authorization": f"Bearer {bearer}"} if bearer else {})}
        answer = await self._send(Outgoing("GET", url, headers), origins)
        return body_of(answer) if answer.status == 200 else None

    async def post_form(
        self, url: str, form: Mapping[str, str], headers: Mapping[str, str], origins: Origins
    ) -> tuple[int, dict[str, Any]]:
        sent = {"Accept": JSON, "Content-Type": FORM, **headers}
        answer = await self._send(Outgoing("POST", url, sent, urlencode(form).encode()), origins)
        return answer.status, body_of(answer) or {}

    async def post_json(self, url: str, value: Mapping[str, Any], origins: Origins) -> tuple[int, dict[str, Any]]:
        sent = {"Accept": JSON, "Content-Type": JSON}
        answer = await self._send(Outgoing("POST", url, sent, orjson.dumps(value)), origins)
        return answer.status, body_of(answer) or {}

    async def _send(self, outgoing: Outgoing, origins: Origins) -> Answer:
        self.check(outgoing.url, origins)
        try:
            return await self._egress.send(outgoing, origins=origins, bounds=BOUNDS)
        except SourceUnreachable as error:
            raise OAuthFailed(
                f"the authorization server can't be reached: {error.message}", hint=error.hint, unreachable=True
            ) from error
        except EgressRefused as error:
            raise refusal_of(outgoing.url, error) from error

    def check(self, url: str, origins: Origins) -> None:
        """What a server's own documents name as its address is as hostile as the rest of them."""
        try:
            target = parse(url)
            reach = self._egress.reach(target, origins)
        except EgressRefused as error:
            raise refusal_of(url, error) from error
        if target.scheme == "http" and reach == PUBLIC:
            raise OAuthFailed(
                f"{display_url(url)} is not encrypted, so no login data is sent there",
                hint="the authorization server must use https",
            )


def refusal_of(url: str, error: EgressRefused) -> OAuthFailed:
    if "private" not in error.message:
        return OAuthFailed(f"the authorization server's address was refused: {error.message}", hint=error.hint)
    return OAuthFailed(
        f"the authorization server {display_url(url)} is on a private network: {error.message}",
        hint="if this is expected, an operator can repeat the login with its address as `allowServer`",
        unreachable=True,
        server=origin_of(url),
    )


def origin_of(url: str) -> str:
    """What an administrator would have to allow."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


def body_of(answer: Answer) -> dict[str, Any] | None:
    try:
        value = orjson.loads(answer.body)
    except orjson.JSONDecodeError:
        return None
    return value if isinstance(value, dict) else None
