"""Documents from addresses and files: what every kind says when one can't be had."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from executor.errors import DocumentInvalid, EgressRefused, SourceUnreachable
from executor.network.addresses import display_url, parse
from executor.sources import challenges

if TYPE_CHECKING:
    from executor.network.client import Answer


def wrong_status(address: str, answer: Answer, hints: Mapping[int, str], *, method: str = "GET") -> SourceUnreachable:
    """One that wants a credential says so; but nothing is given to where it was redirected."""
    if answer.status in challenges.REFUSED and parse(answer.url).origin == parse(address).origin:
        asked = challenges.header_values(answer.headers)
        return challenges.credential_error(address, answer.status, asked, method=method)
    return SourceUnreachable(
        f"{display_url(address)} answered {answer.status}",
        hint=hints.get(answer.status, "check the address, then try again"),
        reason="status",
        upstream_status=answer.status,
        request={"method": method, "url": display_url(address), "status": answer.status},
    )


def no_address(location: str) -> EgressRefused:
    """Files are read by anyone who adds them; the daemon reads one again only for an operator."""
    return EgressRefused(
        f"{location[:200]!r} is not an http:// or https:// address",
        hint="use a full address, or send the file's content as `document` (`executor sources add FILE` does)",
    )


def read_file(location: str, limit: int) -> bytes:
    path = Path(location)
    if not path.is_absolute():
        raise SourceUnreachable(
            f"{location[:200]!r} was read from an unknown directory", hint="add the source again", reason="file"
        )
    try:
        if path.stat().st_size > limit:
            raise too_large(str(path), limit)
        return path.read_bytes()
    except OSError as error:
        raise SourceUnreachable(
            f"{path} can't be read: {error.strerror}", hint="check the path, or add the source again", reason="file"
        ) from error


def too_large(where: str, limit: int) -> DocumentInvalid:
    return DocumentInvalid(f"{where} is larger than {limit:,} bytes", hint="split it, or remove unused parts")
