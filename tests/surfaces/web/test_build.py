"""The build hook of the UI: built when its sources differ from those of the last build, and left out when asked."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from executor.surfaces.web.pages import is_built

ROOT = Path(__file__).parents[3]


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.delenv("EXECUTOR_SKIP_WEB", raising=False)
    spec = importlib.util.spec_from_file_location("hatch_web", ROOT / "hatch_web.py")
    assert spec is not None and spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    (tmp_path / "web" / "src").mkdir(parents=True)
    (tmp_path / "web" / "package.json").write_text("{}")
    (tmp_path / "web" / "src" / "main.tsx").write_text("one")
    return tmp_path


def build(module: ModuleType, checkout: Path, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """With a stand-in for npm; what it was told to do."""
    told: list[tuple[str, ...]] = []

    def npm(directory: Path, *arguments: str) -> None:
        assert directory == checkout / "web"
        told.append(arguments)
        (checkout / module.STATIC).mkdir(parents=True, exist_ok=True)

    monkeypatch.setattr(module, "npm", npm)
    module.WebBuild(checkout).build()
    return told


def test_it_is_built_once_and_again_when_a_source_changes(
    module: ModuleType, checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    web = module.WebBuild(checkout)
    assert web.dependencies == [module.NODE]
    assert build(module, checkout, monkeypatch) == [
        ("ci", "--ignore-scripts", "--no-audit", "--no-fund", *module.FETCH_LIMITS),
        ("run", "build"),
    ]
    assert web.dependencies == []
    (checkout / "web" / "src" / "main.tsx").write_text("two")
    assert web.is_stale()


def test_a_build_that_failed_is_none(module: ModuleType, checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build(module, checkout, monkeypatch)

    def fail(directory: Path, *arguments: str) -> None:
        raise RuntimeError("npm said no")

    monkeypatch.setattr(module, "npm", fail)
    with pytest.raises(RuntimeError, match="npm said no"):
        module.WebBuild(checkout).build()
    assert module.WebBuild(checkout).is_stale()


def test_it_is_left_out_when_asked_and_where_its_sources_are_not(
    module: ModuleType, checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not module.WebBuild(tmp_path / "elsewhere").is_stale()
    monkeypatch.setenv("EXECUTOR_SKIP_WEB", "1")
    assert not module.WebBuild(checkout).is_stale()


def packed_files(target: str) -> set[str]:
    """What a distribution of this checkout would hold; nothing is built or written."""
    builders = pytest.importorskip(f"hatchling.builders.{target}")
    builder = getattr(builders, f"{target.title()}Builder")(str(ROOT))
    return {file.distribution_path for file in builder.recurse_included_files()}


def test_a_wheel_holds_the_built_ui_and_a_source_distribution_what_it_is_built_from_too() -> None:
    if not is_built():
        pytest.skip("the web UI is not built: `scripts/setup`")
    wheel, source = packed_files("wheel"), packed_files("sdist")
    built = {f"executor/surfaces/web/static/{name}" for name in ("index.html", "theme.js", "favicon.svg")}
    assert built <= wheel
    assert any(name.startswith("executor/surfaces/web/static/assets/") for name in wheel)
    assert {f"src/{name}" for name in built} <= source
    assert {"web/package.json", "web/package-lock.json", "web/src/main.tsx", "hatch_web.py"} <= source
    assert not any("node_modules" in name for name in wheel | source)
