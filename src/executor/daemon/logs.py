"""The daemon's log: one JSON object a line, so that nothing a stranger wrote can pass for a line of its own."""

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

FILE_BYTES = 10 * 1024 * 1024
KEPT_FILES = 3
STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime"}


class JsonLines(logging.Formatter):
    """What was passed as `extra` becomes fields. Everything beyond ASCII is escaped, newlines and bidi included."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "event": record.getMessage(),
        }
        line |= {name: value for name, value in vars(record).items() if name not in STANDARD}
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return in_use.redact_line(json.dumps(line, default=str))


class PrivateFile(RotatingFileHandler):
    """0600, and the place where the interpreter's own last words go too: standard error follows each rotation."""

    def __init__(self, settings: Settings, *, take_stderr: bool) -> None:
        self.take_stderr = take_stderr
        super().__init__(settings.log_file, maxBytes=FILE_BYTES, backupCount=KEPT_FILES, encoding="utf-8")

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
    handlers: list[logging.Handler] = [PrivateFile(settings, take_stderr=detached)]
    if not detached:
        watcher = logging.StreamHandler(sys.stderr)
        watcher.setLevel(logging.WARNING)
        handlers.append(watcher)
    for handler in handlers:
        handler.setFormatter(JsonLines())
    logging.basicConfig(level=settings.log_level.upper(), handlers=handlers, force=True)
    logging.getLogger("alembic").setLevel(logging.WARNING)
    logging.captureWarnings(capture=True)
