from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from executor.daemon import logs
from executor.settings import Settings


@pytest.fixture
def handler(tmp_path: Path) -> Iterator[logs.PrivateFile]:
    settings = Settings(data_dir=tmp_path, state_dir=tmp_path, config_file=tmp_path / "config.toml")
    handler = logs.PrivateFile(settings, take_stderr=False)
    handler.setFormatter(logs.JsonLines())
    yield handler
    handler.close()


def record(text: str, **extra: object) -> logging.LogRecord:
    return logging.makeLogRecord({"name": "test", "levelname": "INFO", "msg": text, **extra})


def test_nothing_that_is_logged_can_pass_for_a_line_of_its_own(tmp_path: Path, handler: logs.PrivateFile) -> None:
    handler.emit(record('a\n{"event": "forged"}\r\u2028\u202e\x1b[2J', path="x\ny"))
    content = (tmp_path / "daemon.log").read_bytes()
    assert content.count(b"\n") == 1
    assert content.isascii()
    assert b"\x1b" not in content
    line = json.loads(content)
    assert line["event"].startswith("a\n{")
    assert line["path"] == "x\ny"


def test_the_log_is_private_and_rotates(tmp_path: Path, handler: logs.PrivateFile) -> None:
    handler.maxBytes = 500
    for number in range(50):
        handler.emit(record(f"line {number}"))
    names = sorted(path.name for path in tmp_path.glob("daemon.log*"))
    assert names == ["daemon.log", "daemon.log.1", "daemon.log.2", "daemon.log.3"]
    assert {path.stat().st_mode & 0o777 for path in tmp_path.glob("daemon.log*")} == {0o600}
