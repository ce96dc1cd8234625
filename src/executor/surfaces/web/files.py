"""The files of the built UI. Only what the folder holds can be asked for, so no address leads out of it."""

from __future__ import annotations

import os
import stat
from pathlib import Path

STATIC = Path(__file__).parent / "static"
INDEX = "/index.html"
TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".ico": "image/x-icon",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".woff2": "font/woff2",
}


class Files:
    """By address. Listed once; a build that replaced `index.html` since is listed anew."""

    def __init__(self, root: Path = STATIC) -> None:
        self._root = root
        self._built: tuple[int, int] | None = None
        self._paths: dict[str, Path] = {}

    @property
    def is_built(self) -> bool:
        self._renew()
        return INDEX in self._paths

    def read(self, address: str) -> bytes | None:
        """None for what is not there. A link that took a file's place after the listing is not followed."""
        self._renew()
        path = self._paths.get(address)
        if path is None:
            return None
        try:
            handle = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0))
        except OSError:
            return None
        with os.fdopen(handle, "rb") as file:
            return file.read() if stat.S_ISREG(os.fstat(handle).st_mode) else None

    def _renew(self) -> None:
        try:
            state = (self._root / INDEX[1:]).lstat()
        except OSError:
            self._built, self._paths = None, {}
            return
        if self._built != (state.st_mtime_ns, state.st_ino):
            self._built, self._paths = (state.st_mtime_ns, state.st_ino), list_files(self._root)


def list_files(root: Path) -> dict[str, Path]:
    """Regular files of known types, by address. Links are left out, and folders behind links are not entered."""
    found = {}
    for folder, _, names in os.walk(root, followlinks=False):
        for name in names:
            path = Path(folder, name)
            if path.suffix in TYPES and not name.startswith(".") and stat.S_ISREG(path.lstat().st_mode):
                found["/" + path.relative_to(root).as_posix()] = path
    return found
