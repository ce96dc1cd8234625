"""What `executor sessions start --repository` takes, before anything is sent."""

from __future__ import annotations

from pathlib import Path

import pytest

from executor.errors import InvalidRequest
from executor.surfaces.cli.commands.sessions.sessions import _find_repository as find_repository


def test_a_relative_path_becomes_one_that_the_daemon_can_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "app" / ".git").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "app")
    assert find_repository(".") == find_repository("../app") == str(tmp_path / "app")


@pytest.mark.parametrize("name", ["app", "https://git.example/app.git", "git@git.example:me/app.git"])
def test_names_and_addresses_stay_as_they_are(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "app").mkdir()
    monkeypatch.chdir(tmp_path)
    assert find_repository(name) == name


def test_a_folder_that_is_not_a_repository_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest, match="is not a git repository"):
        find_repository(str(tmp_path))
