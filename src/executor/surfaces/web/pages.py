"""Answers for the web UI: its files, and its one page for every address of it, since the page itself knows the way."""

from __future__ import annotations

import base64
import hashlib
import os
import stat
from pathlib import Path, PurePath

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.responses import FileResponse, RedirectResponse, Response
from starlette.staticfiles import NotModifiedResponse, StaticFiles
from starlette.types import Scope

from executor.surfaces.http import problems
from executor.surfaces.http.page_paths import OTHER_NAMES, has_page, nothing_there

STATIC = Path(__file__).parent / "static"
INDEX = "index.html"
ASSETS = "/assets/"
TYPES = {
    ".css": "text/css; charset=utf-8",
    ".ico": "image/x-icon",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".woff2": "font/woff2",
}
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


class Pages(StaticFiles):
    """Starlette finds the files, none of them outside the folder. The build puts a packed copy (`.gz`) beside the large
    ones."""

    def __init__(self, root: Path = STATIC) -> None:
        super().__init__(directory=root, check_dir=False)
        self.config_checked = True  # it may be built while the daemon runs
        self._index = root / INDEX

    async def get_response(self, path: str, scope: Scope) -> Response:
        wanted = scope["path"]
        if is_servable(path):
            try:
                return await super().get_response(path, scope)
            except (HTTPException, OSError):
                pass
        if wanted.startswith(ASSETS):
            return Response(b"there is no such file\n", 404, media_type="text/plain")
        if other := OTHER_NAMES.get(wanted.rstrip("/")):
            return RedirectResponse(other)
        is_there = has_page(wanted)
        if not is_there and "text/html" not in Headers(scope=scope).get("accept", ""):
            return problems.respond(nothing_there(wanted))
        try:
            return page(self._index.read_bytes(), POLICY, 200 if is_there else 404)
        except OSError:
            return page(_UNBUILT, UNBUILT_POLICY, 200 if is_there else 404)

    def file_response(
        self, full_path: str | os.PathLike[str], stat_result: os.stat_result, scope: Scope, status_code: int = 200
    ) -> Response:
        asked = Headers(scope=scope)
        headers = {"Cache-Control": FOREVER if scope["path"].startswith(ASSETS) else ASK_AGAIN}
        media_type = TYPES[PurePath(full_path).suffix]
        packed = f"{os.fspath(full_path)}.gz"
        if (packed_stat := stat_file(packed)) is not None:
            headers["Vary"] = "Accept-Encoding"
            if accepts_gzip(asked.get("accept-encoding", "")):
                headers["Content-Encoding"] = "gzip"
                full_path, stat_result = packed, packed_stat
        response = FileResponse(full_path, status_code, headers, media_type, stat_result=stat_result)
        return NotModifiedResponse(response.headers) if self.is_not_modified(response.headers, asked) else response


def is_built(root: Path = STATIC) -> bool:
    return (root / INDEX).is_file()


def is_servable(path: str) -> bool:
    """No hidden file, and only the types that a build makes."""
    parts = PurePath(path).parts
    return PurePath(path).suffix in TYPES and not any(one.startswith(".") for one in parts)


def stat_file(path: str) -> os.stat_result | None:
    """None if there is no regular file; a link is none."""
    try:
        found = os.lstat(path)
    except OSError:
        return None
    return found if stat.S_ISREG(found.st_mode) else None


def accepts_gzip(accepted: str) -> bool:
    """Whether `Accept-Encoding` has gzip, and not as `gzip;q=0`."""
    for one in accepted.lower().split(","):
        name, _, quality = one.partition(";")
        if name.strip() == "gzip":
            return quality.replace(" ", "") not in ("q=0", "q=0.0", "q=0.00", "q=0.000")
    return False


def page(content: bytes, policy: str, status: int = 200) -> Response:
    headers = {"Content-Security-Policy": policy, "Permissions-Policy": PERMISSIONS, "Cache-Control": ASK_AGAIN}
    return Response(content, status, headers=headers, media_type="text/html")
