"""The token of a sandbox host, in a file that only its reader may read."""

from __future__ import annotations

from pathlib import Path

from executor.errors import InvalidRequest
from executor.identity.tokens import read_token


def host_token(path: Path | None) -> str:
    token = read_token(path) if path is not None else None
    if token is None:
        raise InvalidRequest(
            f"remote_token_file is {str(path) if path else 'not set'}: there is no token",
            hint="copy the token file that `executor runtime serve` names, keep it 0600, and set the setting to it",
        )
    return token
