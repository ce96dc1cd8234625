"""What the SDK's exporters say of a failure. They log it, again and again and with addresses; here it is kept short."""

from __future__ import annotations

import logging
import threading
from functools import lru_cache

NAMES = {
    "traces": "opentelemetry.exporter.otlp.proto.http.trace_exporter",
    "metrics": "opentelemetry.exporter.otlp.proto.http.metric_exporter",
}
FLOOD = "opentelemetry.sdk._shared_internal"  # a line for each span that finds the queue full


class LastReason(logging.Handler):
    """A status or the name of an error, never a text: that of `requests` has the whole address in it. Each thread
    learns of its own exports only."""

    def __init__(self, signal: str) -> None:
        super().__init__(logging.WARNING)
        self._local = threading.local()
        logging.getLogger(FLOOD).setLevel(logging.ERROR)
        logger = logging.getLogger(NAMES[signal])
        logger.addHandler(self)
        logger.setLevel(logging.WARNING)
        logger.propagate = False

    def emit(self, record: logging.LogRecord) -> None:
        for value in record.args if isinstance(record.args, tuple) else ():
            if isinstance(value, int) and 100 <= value < 600:
                self._local.reason = f"the receiver answered {value}"
                return
            if isinstance(value, BaseException):
                self._local.reason = describe(value)

    def take(self) -> str:
        reason = getattr(self._local, "reason", "")
        self._local.reason = ""
        return reason or "it did not answer in time"


@lru_cache
def last_reason(signal: str) -> LastReason:
    """Of this process: the exporter and the doctor listen to the same logger."""
    return LastReason(signal)


def describe(error: BaseException) -> str:
    name = type(error).__name__
    known = {
        "ConnectionError": "it could not be reached",
        "ConnectTimeout": "it did not accept a connection in time",
        "ReadTimeout": "it did not answer in time",
        "SSLError": "it has no trusted certificate",
        "TooManyRedirects": "it answered with a redirect, which is not followed",
    }
    return known.get(name, name)
