"""Answers for the web UI: its files, and its one page for every other address, since the page itself knows the way."""

from __future__ import annotations

import base64
import hashlib
from pathlib import PurePosixPath

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from executor.surfaces.web.files import INDEX, STATIC, TYPES, Files
from executor.surfaces.web.gzip import Packing

ASSETS = "/assets/"
FOREVER = "public, max-age=31536000, immutable"  # their names change with their content
ASK_AGAIN = "no-cache"
_STYLE = (
    "body{font:16px/1.6 system-ui,sans-serif;max-width:42rem;margin:4rem auto;padding:0 1rem}"
    "pre{padding:.75rem 1rem;border:1px solid;border-radius:.5rem;overflow-x:auto}"
    ":root{color-scheme:light dark}"
)
_UNBUILT = f"""<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>Executor</title><style>{_STYLE}</style></head>
<body>
<h1>Executor is running</h1>
<p>Its web UI has not been built in this checkout. Build it, then load this page again:</p>
<pre>./scripts/setup</pre>
<p>Everything it does can be done in a terminal too. What waits for a decision:</p>
<pre>executor approvals list
executor approvals show ID</pre>
</body>
</html>
""".encode()


def policy(*, styles: str = "'self'") -> str:
    """No inline script or style, no other host, for anything; and nothing that makes markup or code of a text works."""
    return "; ".join(
        (
            "default-src 'none'",
            "script-src 'self'",
            f"style-src {styles}",
            "connect-src 'self'",
            "img-src 'self' data:",
            "font-src 'self'",
            "frame-ancestors 'none'",
            "base-uri 'none'",
            "form-action 'self'",
            "require-trusted-types-for 'script'",
            "trusted-types 'none'",
        )
    )


POLICY = policy()
UNBUILT_POLICY = policy(styles=f"'sha256-{base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()}'")
PERMISSIONS = ", ".join(
    f"{name}=()"
    for name in (
        *("accelerometer", "autoplay", "camera", "display-capture", "encrypted-media", "fullscreen", "geolocation"),
        *("gyroscope", "hid", "magnetometer", "microphone", "midi", "payment", "picture-in-picture"),
        *("publickey-credentials-get", "screen-wake-lock", "serial", "usb", "xr-spatial-tracking"),
    )
)


class Pages:
    def __init__(self, files: Files | None = None) -> None:
        self._files = files or Files(STATIC)
        self._packing = Packing()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = dict(scope["headers"])
        response = self.answer(scope["path"], headers)
        await self._packing.pack(scope["path"], response, headers.get(b"accept-encoding", b""))
        if scope["method"] == "HEAD":
            response.body = b""  # its Content-Length stays that of the page
        await response(scope, receive, send)

    def answer(self, path: str, headers: dict[bytes, bytes]) -> Response:
        if not self._files.is_built:
            return page(_UNBUILT, UNBUILT_POLICY)
        content = self._files.read(path)
        if content is None and path.startswith(ASSETS):
            return Response(b"there is no such file\n", 404, media_type="text/plain")
        if content is None or path == INDEX:
            return page(self._files.read(INDEX) or _UNBUILT, POLICY)
        return asset(path, content, headers.get(b"if-none-match", b""))


def page(content: bytes, policy: str) -> Response:
    headers = {"Content-Security-Policy": policy, "Permissions-Policy": PERMISSIONS, "Cache-Control": ASK_AGAIN}
    return Response(content, headers=headers, media_type="text/html")


def asset(path: str, content: bytes, known: bytes) -> Response:
    tag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
    headers = {"Cache-Control": FOREVER if path.startswith(ASSETS) else ASK_AGAIN, "ETag": tag}
    if known.removeprefix(b"W/") == tag.encode():  # packed or not, it is the same file
        return Response(status_code=304, headers=headers)
    headers["Content-Type"] = TYPES[PurePosixPath(path).suffix]
    return Response(content, headers=headers)
