"""The check of the web UI: is it built, and from the sources that lie beside it?"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from executor.daemon.doctor.web_ui import check_web


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """An installed package in a checkout, with a build that is newer than its sources."""
    package = tmp_path / "src" / "executor"
    for name in ("package.json", "src/pages/page.tsx", "public/theme.js"):
        file = tmp_path / "web" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    for path in (tmp_path / "web").rglob("*"):
        os.utime(path, (1, 1))
    built = package / "surfaces" / "web" / "static" / "index.html"
    built.parent.mkdir(parents=True)
    built.touch()
    return package


def test_a_build_newer_than_its_sources_is_fine(package: Path) -> None:
    assert check_web(package).status == "ok"


@pytest.mark.parametrize("name", ["package.json", "src/pages/page.tsx", "src/pages", "public/theme.js"])
def test_a_newer_source_is_named(package: Path, name: str) -> None:
    os.utime(package.parents[1] / "web" / name, (2e10, 2e10))
    found = check_web(package)
    assert (found.status, f"web/{name}" in found.message) == ("warning", True)
    assert "scripts/setup" in found.hint


def test_without_a_build_it_says_so_and_without_sources_nothing_is_old(package: Path) -> None:
    (package.parents[1] / "web" / "package.json").unlink()
    assert check_web(package).status == "ok"
    (package / "surfaces" / "web" / "static" / "index.html").unlink()
    assert "not built" in check_web(package).message
