from __future__ import annotations

import contextvars
import json
import logging
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from executor.daemon import logs
from executor.model.fairness import CURRENT, Party
from executor.settings import Settings
from executor.telemetry import tracer
from executor.telemetry.correlation import REQUEST
from executor.telemetry.trace_context import TraceContext
from tests.support.recorded_spans import recording_spans


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


def test_a_line_carries_the_ids_of_what_it_is_about(tmp_path: Path, handler: logs.PrivateFile) -> None:
    def log_within() -> None:
        REQUEST.set("req_1")
        CURRENT.set(Party("act_1", "exec_1"))
        with recording_spans() as recorder, tracer.span("call", {}):
            handler.emit(record("something"))
            handler.emit(record("another", execution="exec_2"))
            traces.append(recorder.spans[0].context)

    traces: list[TraceContext] = []
    contextvars.copy_context().run(log_within)
    handler.emit(record("outside"))
    lines = [json.loads(line) for line in (tmp_path / "daemon.log").read_text().splitlines()]
    ids = {"request": "req_1", "execution": "exec_1", "trace": traces[0].trace_id, "span": traces[0].span_id}
    assert ids.items() <= lines[0].items()
    assert lines[1]["execution"] == "exec_2", "what the caller says comes first"
    assert not ids.keys() & lines[2].keys()


def test_text_is_for_people_and_nothing_in_it_can_pass_for_a_line_of_its_own() -> None:
    try:
        raise ValueError("first\n2026-01-01T00:00:00 error forged")
    except ValueError:
        failed = record("a\nb\u202e", path='x y="z"', plain="x", exc_info=sys.exc_info())
    text = logs.TextLines().format(failed)
    first, *rest = text.splitlines()
    assert first.endswith('info    a\\nb\\u202e path="x y=\\"z\\"" plain=x')
    assert rest and all(line.startswith("    ") for line in rest)
    assert text.isascii()


@pytest.mark.parametrize(
    ("log_format", "file", "terminal"),
    [
        ("auto", "json", "text"),
        ("json", "json", "json"),
        ("text", "text", "text"),
    ],
)
def test_the_file_is_for_programs_and_the_terminal_for_people_unless_set(
    tmp_path: Path, log_format: str, file: str, terminal: str, capsys: pytest.CaptureFixture[str]
) -> None:
    root = logging.getLogger()
    before, level = list(root.handlers), root.level
    settings = Settings(data_dir=tmp_path, state_dir=tmp_path, config_file=tmp_path / "c", log_format=log_format)
    try:
        root.handlers = []
        logs.configure(settings, detached=False)
        root.warning("something", extra={"path": "a b"})
    finally:
        for handler in root.handlers:
            handler.close()
        root.handlers = before
        root.setLevel(level)
        logging.captureWarnings(capture=False)
    written = (tmp_path / "daemon.log").read_text(), capsys.readouterr().err
    assert [text.startswith("{") for text in written] == [file == "json", terminal == "json"]
    assert all("something" in text and "a b" in text for text in written)


def test_how_much_is_kept_of_the_log_is_a_setting(tmp_path: Path) -> None:
    settings = Settings(
        data_dir=tmp_path, state_dir=tmp_path, config_file=tmp_path / "c", log_file_bytes=10_000, log_file_count=1
    )
    handler = logs.PrivateFile(settings, take_stderr=False)
    handler.setFormatter(logs.JsonLines())
    for number in range(1_000):
        handler.emit(record(f"line {number}"))
    handler.close()
    sizes = {path.name: path.stat().st_size for path in tmp_path.glob("daemon.log*")}
    assert sizes.keys() == {"daemon.log", "daemon.log.1"} and max(sizes.values()) <= 10_000
