"""What a server that refuses to talk says it needs."""

from __future__ import annotations

from executor.errors import SourceUnreachable
from executor.sources import challenges


def challenge(status: int, headers: list[str], url: str) -> SourceUnreachable | None:
    """None for a 403 that asks for nothing: then the answer itself is all there is to report."""
    if status == 403 and not any(headers):
        return None
    return challenges.credential_error(url, status, headers, method="POST")
