"""Where a sandbox host may be: anywhere by https, by plain http only where no one listens in."""

from __future__ import annotations

import ipaddress
from pathlib import Path
from urllib.parse import urlsplit

from executor.errors import InvalidRequest
from executor.identity.local_tokens import read_token


# The token of a sandbox host, in a file that only its reader may read.
def host_token(path: Path | None) -> str:
    token = read_token(path) if path is not None else None
    if token is None:
        raise InvalidRequest(
            f"remote_token_file is {str(path) if path else 'not set'}: there is no token",
            hint=(
                "copy the token file that `executor runtime serve` names, set its mode to 0600, and "
                "point the setting to it"
            ),
        )
    return token


def check_url(url: str, setting: str) -> str:
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
            f"{setting} is {url!r}: plain http to {host} can be read in transit",
            hint="use https, or an address of a private network that only you use",
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
