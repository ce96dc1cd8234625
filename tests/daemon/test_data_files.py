from __future__ import annotations

import errno
import os
import socket
from pathlib import Path

import pytest

from executor import errors
from executor.daemon import data_files
from executor.daemon.server import port
from executor.errors import DataDirectoryUnusable, InvalidRequest, StorageFull
from executor.private_files import write_private
from executor.settings import Settings


def settings(folder: Path) -> Settings:
    return Settings(data_dir=folder, state_dir=folder / "state", config_file=folder / "config.toml")


def test_both_directories_are_made_for_the_owner_alone(tmp_path: Path) -> None:
    data_files.prepare(settings(tmp_path / "data"))
    assert (tmp_path / "data").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "data" / "state").stat().st_mode & 0o777 == 0o700


def test_a_directory_of_ours_that_was_opened_up_is_closed_again(tmp_path: Path) -> None:
    data_files.prepare(settings(tmp_path / "data"))
    (tmp_path / "data" / "executor.db").touch()
    (tmp_path / "data").chmod(0o755)
    data_files.prepare(settings(tmp_path / "data"))
    assert (tmp_path / "data").stat().st_mode & 0o777 == 0o700


def test_a_directory_with_other_files_keeps_its_mode_and_is_refused(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o755)
    (shared / "thesis.odt").touch()
    with pytest.raises(DataDirectoryUnusable, match="other files"):
        data_files.prepare(settings(shared))
    assert shared.stat().st_mode & 0o777 == 0o755


def test_a_file_where_the_directory_should_be_is_reported(tmp_path: Path) -> None:
    (tmp_path / "data").touch()
    with pytest.raises(DataDirectoryUnusable) as raised:
        data_files.prepare(settings(tmp_path / "data"))
    assert "EXECUTOR_DATA_DIR" in raised.value.hint


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_is_reported_as_such(tmp_path: Path, number: int) -> None:
    error = data_files.unusable(tmp_path, "EXECUTOR_DATA_DIR", OSError(number, os.strerror(number)))
    assert isinstance(error, StorageFull)


def test_a_private_file_replaces_the_old_one_whole(tmp_path: Path) -> None:
    write_private(tmp_path / "daemon.json", "old")
    write_private(tmp_path / "daemon.json", b"new", durable=True)
    assert (tmp_path / "daemon.json").read_text() == "new"
    assert (tmp_path / "daemon.json").stat().st_mode & 0o777 == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["daemon.json"]


def test_a_private_file_that_can_not_be_written_leaves_the_old_one_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError):
        write_private(tmp_path / "folder", "a folder is in its place")
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def test_a_taken_port_is_reported_with_its_number_and_owner() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        number = taken.getsockname()[1]
        with pytest.raises(errors.PortTaken) as raised:
            port.bind("127.0.0.1", number)
    assert str(number) in raised.value.message
    assert "EXECUTOR_PORT" in raised.value.hint
    if Path("/proc/net/tcp").exists():
        assert f"process {os.getpid()}" in raised.value.message


def test_an_address_of_another_machine_is_refused() -> None:
    with pytest.raises(InvalidRequest, match=r"192\.0\.2\.1"):
        port.bind("192.0.2.1", 0)
