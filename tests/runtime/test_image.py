"""Where the compiled sandbox is kept."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from executor.runtime.typescript import image

ROOT = Path(__file__).parents[2]


@pytest.fixture
def beside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "package" / "image"
    folder.parent.mkdir()
    monkeypatch.setattr(image, "BESIDE", folder)
    return folder


def test_it_is_kept_beside_the_engine_of_an_installation_that_is_ones_own(beside: Path, tmp_path: Path) -> None:
    assert image.home(tmp_path / "state") == beside


def test_it_is_kept_in_the_state_directory_when_the_installation_is_not_ones_own(
    beside: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    somebody = os.geteuid() + 1
    monkeypatch.setattr(os, "geteuid", lambda: somebody)
    assert image.home(tmp_path / "state") == tmp_path / "state"
    beside.mkdir()
    assert image.home(tmp_path / "state") == tmp_path / "state"


def test_it_is_kept_in_the_state_directory_when_the_installation_can_not_be_written(
    beside: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert image.home(tmp_path / "state") == tmp_path / "state"


def test_it_is_for_its_owner_alone(cache_dir: Path, tmp_path: Path) -> None:
    folder = tmp_path / "open"
    folder.mkdir(mode=0o755)
    whole = image.ensure(cache_dir)
    (folder / whole.name).write_bytes(whole.read_bytes())
    image.ensure(folder)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in (cache_dir, whole)} == {0o700, 0o600}


def test_it_is_no_part_of_the_sources_or_of_a_package() -> None:
    """The build leaves out what git ignores."""
    ignored = (ROOT / ".gitignore").read_text().splitlines()
    assert f"{image.BESIDE.relative_to(ROOT)}/" in ignored
