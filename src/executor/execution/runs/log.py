"""What a run shows of itself: the lines that its code printed, and warnings about its calls."""

from __future__ import annotations

from collections.abc import Sequence

from executor.execution.journal.journal import Journal, Recorded
from executor.execution.outcome import LogLine, log_line
from executor.model.execution import Call
from executor.model.ids import now_ms
from executor.runtime.protocol import Log


class RunLog:
    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._warned: set[str] = set()
        self.lines: list[LogLine] = []

    def restore(self, recorded: Recorded) -> None:
        """Before a replay: the code prints its lines again, and the journal has what its calls said."""
        self.lines = [log_line(event) for event in recorded.remarks]
        self._warned = {line.text for line in self.lines}

    def show(self, lines: Sequence[Log]) -> None:
        if lines:
            at = now_ms()
            self.lines.extend(LogLine(line.level, line.text, at) for line in lines)

    def warn(self, call: Call, text: str) -> None:
        """Each once: code that calls in a loop need not read it again."""
        if text not in self._warned:
            self._warned.add(text)
            self._journal.note("call.warned", {"seq": call.seq, "path": call.path, "level": "warn", "text": text})
            self.lines.append(LogLine("warn", text, now_ms()))

    def hear(self, call: Call, level: str, text: str) -> None:
        """What the server of a call says while it is under way."""
        self._journal.note("call.logged", {"seq": call.seq, "path": call.path, "level": level, "text": text})
        self.lines.append(LogLine(level, text, now_ms()))
