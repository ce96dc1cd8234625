"""Folders of sockets: short, private, removed when a daemon stops and when one was killed."""

from __future__ import annotations

import os
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from executor.errors import DataDirectoryUnusable
from executor.sessions.socket_folder import SocketFolder, make_private

LONG = "a-name-that-is-too-long-for-the-path-of-a-socket" * 2


@pytest.fixture
def temporary(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        monkeypatch.setattr(tempfile, "gettempdir", lambda: folder)
        yield Path(folder)


def test_what_a_daemon_made_is_gone_when_it_stops(tmp_path: Path, temporary: Path) -> None:
    for base in (tmp_path / LONG, temporary / "short"):
        folder = SocketFolder(base)
        folder.clear()
        made = folder.create()
        assert made.is_dir() and made.parent.stat().st_mode & 0o777 == 0o700
        folder.close()
        assert made.is_dir()  # a session is in it still
        made.rmdir()
        folder.close()
        assert not made.parent.exists()
    folder.close()


def test_what_killed_daemons_left_is_removed_and_what_is_used_stays(tmp_path: Path, temporary: Path) -> None:
    used = SocketFolder(tmp_path / LONG / "used")
    used.clear()
    in_use = used.create()
    uid = os.geteuid()
    stale, other = temporary / f"executor-{uid}-{'0' * 12}", temporary / f"executor-{uid + 1}-{'0' * 12}"
    answered, elsewhere = temporary / f"executor-{uid}-{'1' * 12}", temporary / f"executor-{uid}-{'2' * 12}"
    for folder in (stale, other, answered):
        (folder / "session").mkdir(parents=True)
        with socket.socket(socket.AF_UNIX) as left:
            left.bind(str(folder / "session" / "model.sock"))
    (temporary / "elsewhere").mkdir()
    elsewhere.symlink_to(temporary / "elsewhere")
    (answered / "session" / "model.sock").unlink()
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(answered / "session" / "model.sock"))
        listening.listen()
        SocketFolder(tmp_path / LONG / "next").clear()
    assert not stale.exists()
    assert other.exists() and answered.exists() and in_use.exists()
    assert elsewhere.is_symlink() and (temporary / "elsewhere").exists()
    SocketFolder(tmp_path / LONG / "next").clear()
    assert not answered.exists() and in_use.exists()


def test_a_folder_that_another_daemon_removes_at_once_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, make, removed = tmp_path / "sockets", Path.mkdir, []

    def make_and_lose(path: Path, *arguments: object, **options: object) -> None:
        make(path, *arguments, **options)  # type: ignore[arg-type]
        if not removed:
            removed.append(path)
            path.rmdir()

    monkeypatch.setattr(Path, "mkdir", make_and_lose)
    make_private(folder)
    assert removed == [folder] and folder.is_dir()


def test_a_file_in_place_of_a_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "sockets").touch()
    with pytest.raises(DataDirectoryUnusable, match="is not a private folder"):
        make_private(tmp_path / "sockets")
