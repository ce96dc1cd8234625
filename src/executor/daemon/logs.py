"""The daemon's log: each record begins a line, and nothing that a stranger wrote can pass for one.

In the file a record is a JSON object, for programs; on a terminal it is text, for people. The setting `log_format`
chooses one for both.
"""

from __future__ import annotations

import json
import logging
import os
import sys
from datetime import UTC, datetime
from logging.handlers import RotatingFileHandler
from typing import Any

from executor.secrets import in_use
from executor.settings import Settings
from executor.telemetry.correlation import current_ids

STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime"}


class JsonLines(logging.Formatter):
    """What was passed as `extra` becomes fields, beside the ids of what it is about. Everything beyond ASCII is
    escaped, newlines and bidi included."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "at": time_of(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "event": record.getMessage(),
            **fields_of(record),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return in_use.redact_line(json.dumps(line, default=str))


class TextLines(logging.Formatter):
    """The same for people: time, level, event, then the fields. The lines of a traceback are indented."""

    def format(self, record: logging.LogRecord) -> str:
        fields = "".join(f" {name}={_show(value)}" for name, value in fields_of(record).items())
        line = f"{time_of(record)} {record.levelname.lower():<7} {_escape(record.getMessage())}{fields}"
        if record.exc_info:
            trace = self.formatException(record.exc_info).splitlines()
            line = "\n".join((line, *(f"    {_escape(one)}" for one in trace)))
        return in_use.redact_line(line)


def time_of(record: logging.LogRecord) -> str:
    return datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")


def fields_of(record: logging.LogRecord) -> dict[str, Any]:
    """What the caller says comes before what is known from where it is called."""
    return {**current_ids(), **{name: value for name, value in vars(record).items() if name not in STANDARD}}


def _show(value: Any) -> str:
    text = str(value)
    return text if text and text.isascii() and text.isprintable() and not set(text) & set(' "=') else json.dumps(text)


def _escape(text: str) -> str:
    return text if text.isascii() and text.isprintable() else json.dumps(text)[1:-1]


class PrivateFile(RotatingFileHandler):
    """0600, and the place where the interpreter's own last words go too: standard error follows each rotation."""

    def __init__(self, settings: Settings, *, take_stderr: bool) -> None:
        self.take_stderr = take_stderr
        most, kept = settings.log_file_bytes, settings.log_file_count
        super().__init__(settings.log_file, maxBytes=most, backupCount=kept, encoding="utf-8")

    def _open(self) -> Any:
        stream = open(  # noqa: SIM115 - kept open and closed by the handler  # noqa: PTH123
            self.baseFilename,
            "a",
            encoding="utf-8",
            opener=lambda path, flags: os.open(path, flags | os.O_NOFOLLOW, 0o600),
        )
        if self.take_stderr:
            os.dup2(stream.fileno(), sys.__stderr__.fileno() if sys.__stderr__ else 2)
        return stream


def configure(settings: Settings, *, detached: bool) -> None:
    """In the foreground warnings are shown as well, since someone is looking."""
    file = PrivateFile(settings, take_stderr=detached)
    file.setFormatter(TextLines() if settings.log_format == "text" else JsonLines())
    handlers: list[logging.Handler] = [file]
    if not detached:
        watcher = logging.StreamHandler(sys.stderr)
        watcher.setLevel(logging.WARNING)
        watcher.setFormatter(JsonLines() if settings.log_format == "json" else TextLines())
        handlers.append(watcher)
    logging.basicConfig(level=settings.log_level.upper(), handlers=handlers, force=True)
    logging.getLogger("alembic").setLevel(logging.WARNING)
    logging.captureWarnings(capture=True)
