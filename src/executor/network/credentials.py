"""A credential put on a request. It goes to its own origin and nowhere else: elsewhere the request stays as it was."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from urllib.parse import quote, unquote_plus

from executor.model.credentials import Credential, Pairs
from executor.model.digest import digest
from executor.network.addresses import parse
from executor.network.client import Outgoing


def with_credential(outgoing: Outgoing, credential: Credential | None) -> Outgoing:
    """What the credential says wins over what arguments say: a caller can't send another in its place."""
    if credential is None or parse(outgoing.url).origin != credential.origin:
        return outgoing
    return replace(
        outgoing,
        url=with_query(outgoing.url, credential.query),
        headers=with_headers(dict(outgoing.headers), credential),
    )


def with_headers(headers: dict[str, str], credential: Credential) -> dict[str, str]:
    fixed = {name.lower() for name, _ in credential.headers}
    merged = {name: value for name, value in headers.items() if name.lower() not in fixed}
    merged |= dict(credential.headers)
    return with_cookies(merged, credential.cookies)


def with_cookies(headers: dict[str, str], cookies: Pairs) -> dict[str, str]:
    if not cookies:
        return headers
    fixed = {bare(name) for name, _ in cookies}
    written = next((name for name in headers if name.lower() == "cookie"), "Cookie")
    kept = [part for part in headers.pop(written, "").split(";") if part.strip()]
    kept = [part.strip() for part in kept if bare(part.partition("=")[0]) not in fixed]
    return {**headers, written: "; ".join([*(f"{name}={value}" for name, value in cookies), *kept])}


def with_query(url: str, pairs: Pairs) -> str:
    if not pairs:
        return url
    address, _, fragment = url.partition("#")
    path, _, query = address.partition("?")
    fixed = {bare(name) for name, _ in pairs}
    kept = [part for part in query.split("&") if part and bare(part.partition("=")[0]) not in fixed]
    kept += [f"{quote(name, safe='')}={quote(value, safe='')}" for name, value in pairs]
    return f"{path}?{'&'.join(kept)}" + (f"#{fragment}" if fragment else "")


def bare(name: str) -> str:
    """One spelling of the names that services may take for the same: `key`, `KEY`, `key[]`."""
    return unquote_plus(name).strip().partition("[")[0].casefold()


def command_origin(command: Sequence[str]) -> str:
    """Takes the place of an origin where a command is run here: another command is another place."""
    return f"command:{digest(list(command))[:32]}"
