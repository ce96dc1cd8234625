"""How exporting goes: what `executor doctor` shows, and one log line when it begins to fail or works again."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import urlsplit

from executor.telemetry import metrics

Signal = Literal["traces", "metrics"]
logger = logging.getLogger(__name__)


@dataclass(slots=True)
class ExportState:
    """Of one signal. `endpoint` is shown without credentials and query."""

    signal: Signal
    endpoint: str
    exported_at: float = 0.0
    failed_at: float = 0.0
    reason: str = ""
    failures: int = 0
    _is_failing: bool = field(default=False, repr=False)

    @property
    def is_failing(self) -> bool:
        return self._is_failing

    def note(self, *, failed: bool, reason: str = "") -> None:
        metrics.EXPORTS.add(self.signal, "failed" if failed else "sent")
        where = {"signal": self.signal, "endpoint": self.endpoint}
        if not failed:
            self.exported_at = time.time()
            if self._is_failing:
                logger.info("telemetry.recovered", extra=where)
            self._is_failing = False
            return
        self.failed_at, self.reason, self.failures = time.time(), reason, self.failures + 1
        if not self._is_failing:
            logger.warning("telemetry.failing", extra={**where, "reason": reason})
        self._is_failing = True


def display_endpoint(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
