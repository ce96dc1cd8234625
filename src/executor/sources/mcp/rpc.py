"""The server's own refusal of a request."""

from __future__ import annotations

from typing import Any

INVALID_PARAMS = -32602
METHOD_NOT_FOUND = -32601
HEADER_MISMATCH = -32020


class RpcError(Exception):
    """A JSON-RPC error: the request arrived and was not carried out, as far as the server tells."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data
