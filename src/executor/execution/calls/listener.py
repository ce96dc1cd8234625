"""What the server of a call says while it is under way: it goes to people or to the execution's log."""

from __future__ import annotations

from executor.execution.approvals.elicitations import Elicitations
from executor.execution.runs.log import RunLog
from executor.model.execution import Call
from executor.model.interaction import Elicitation, ElicitationAnswer
from executor.model.tool import Tool
from executor.secrets.redaction import redact

MOST_LINES = 100
MOST_CHARACTERS = 2_000


class Listener:
    """Of one call. The server's words are marked as such, bounded, and contain nothing of the call's credential."""

    def __init__(self, call: Call, tool: Tool, actor_id: str, elicitations: Elicitations, log: RunLog) -> None:
        self.secrets: tuple[str, ...] = ()
        self._call, self._tool, self._actor_id = call, tool, actor_id
        self._elicitations = elicitations
        self._log = log
        self._lines = 0

    @property
    def actor_id(self) -> str:
        return self._actor_id

    @property
    def execution_id(self) -> str:
        return self._call.execution_id

    @property
    def call_seq(self) -> int:
        return self._call.seq

    async def elicit(self, elicitation: Elicitation) -> ElicitationAnswer:
        return await self._elicitations.ask(self._call, self._tool, elicitation, self.secrets)

    def warn(self, text: str) -> None:
        self._log.warn(self._call, redact(f"{self._call.path}: {text}", self.secrets))

    def log(self, level: str, text: str) -> None:
        self._lines += 1
        if self._lines > MOST_LINES:
            return
        if self._lines == MOST_LINES:
            level, text = "warn", f"(more than {MOST_LINES - 1} lines; the rest is left out)"
        said = redact(text, self.secrets)
        shown = said if len(said) <= MOST_CHARACTERS else f"{said[:MOST_CHARACTERS]}…"
        self._log.hear(self._call, level, f"from {self._call.path}: {shown}")
