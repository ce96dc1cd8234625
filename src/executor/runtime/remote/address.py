"""Where a sandbox host may be: anywhere by https, by plain http only where nobody listens in."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit

from executor.errors import InvalidRequest


def checked(url: str, setting: str) -> str:
    """Without the slash at its end. Tokens and results travel there, so an open road is refused."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        raise InvalidRequest(f"{setting} is {url!r}: {error}", hint="write it like https://sandbox.example") from error
    if parts.scheme not in ("http", "https") or not host or parts.query or parts.fragment or "@" in parts.netloc:
        raise InvalidRequest(f"{setting} is {url!r}, not an http(s) address", hint="write it like https://host:8789")
    if parts.scheme == "http" and not _is_near(host):
        raise InvalidRequest(
            f"{setting} is {url!r}: plain http to {host} can be read on the way",
            hint="use https, or the private address of a network that is yours alone",
        )
    return url.rstrip("/")


def _is_near(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    return address.is_loopback or address.is_private or address.is_link_local
