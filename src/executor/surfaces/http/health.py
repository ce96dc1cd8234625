"""The answer of `/healthz`, before and after the API is loaded."""

from __future__ import annotations

from starlette.responses import Response


def healthy() -> Response:
    return Response(b'{"ok":true}', media_type="application/json")
