"""What the scripted model does in one turn of an agent: at most one call of a tool, then an answer."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field

from client_trials.script import EXECUTION, ScriptedModel, Turn

DONE = "TRIAL-DONE"


@dataclass
class OneCall(ScriptedModel):
    """`wanted` is called once it is offered; its answer is repeated in the text. A paused execution is resumed."""

    wanted: Turn = field(default_factory=Turn)
    offered: set[str] = field(default_factory=set)
    prompts: list[str] = field(default_factory=list)
    results: list[str] = field(default_factory=list)
    _answers: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def begin(self) -> None:
        """Another agent, from the start."""
        self.wanted, self._answers = Turn(), 0
        for seen in (self.offered, self.prompts, self.results, self.billed, self.keys):
            seen.clear()

    def next_turn(self, tools: Sequence[str], results: Sequence[str], prompt: str) -> Turn:
        """A request without that tool is one aside, such as one for a title."""
        with self._lock:
            self.offered |= set(tools)
            self.prompts.append(prompt)
            wanted, has_answer = self.wanted, len(results) > self._answers
            self._answers = max(self._answers, len(results))
            if has_answer:
                self.results.append(results[-1])
                if (paused := EXECUTION.search(results[-1])) and "Paused" in results[-1]:
                    return Turn("resume", {"executionId": paused[0]})
            if wanted.tool and any(one.endswith(wanted.tool) for one in tools):
                self.wanted = Turn()
                return wanted
        return Turn(text=f"{DONE} {results[-1][:600] if has_answer else 'hello'}")
