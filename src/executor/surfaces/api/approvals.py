"""/approvals/{id}: where a link from an agent leads. It shows no data and can decide nothing."""

from __future__ import annotations

import base64
import hashlib
import re

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from executor.errors import NotFound

router = APIRouter()
_ID = re.compile(r"[a-z]{2,8}_[0-9a-z]{10,40}")
_STYLE = (
    "body{font:16px/1.6 system-ui,sans-serif;max-width:42rem;margin:4rem auto;padding:0 1rem}"
    "pre{padding:.75rem 1rem;border:1px solid;border-radius:.5rem;overflow-x:auto}"
    ":root{color-scheme:light dark}"
)
_POLICY = "; ".join(
    (
        "default-src 'none'",
        f"style-src 'sha256-{base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()}'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
        "form-action 'none'",
    )
)
_PAGE = """<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>Executor: a decision is needed</title><style>{style}</style></head>
<body>
<h1>A decision is needed</h1>
<p>An execution waits for you. Look at exactly what it wants to do, then decide, in a terminal:</p>
<pre>executor approvals show {id}
executor approvals approve {id}
executor approvals deny {id}</pre>
<p>This page shows nothing about the request and can't decide anything.</p>
</body>
</html>
"""


@router.get("/approvals/{interaction_id}", include_in_schema=False)
async def page(request: Request, interaction_id: str) -> Response:
    """The same for every well-formed id, so it tells nobody which ones exist."""
    if not _ID.fullmatch(interaction_id):
        raise NotFound("this is not the address of an approval", hint="copy the whole link")
    html = _PAGE.format(style=_STYLE, id=interaction_id)
    return HTMLResponse(html, headers={"Content-Security-Policy": _POLICY})
