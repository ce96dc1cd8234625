"""What the scripted model does, whatever protocol it speaks, and what it saw."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

READ = "return 6 * 7"
WRITE = 'return await tools.demo.refunds.createRefund({id: "inv_1003", amount: 5})'
DONE = "SCRIPT-DONE"
EXECUTION = re.compile(r"exec_[0-9a-f]{32}")
REFUND = re.compile(r"\bref_\d+\b")
QUESTION = re.compile(r"int_[0-9a-f]{32}")


@dataclass(frozen=True)
class Turn:
    """`tool` is `execute`, `resume`, or empty for a last answer in `text`."""

    tool: str = ""
    arguments: dict[str, Any] = field(default_factory=dict)
    text: str = ""


@dataclass(kw_only=True)
class ScriptedModel:
    """What the provider bills, another amount for each request, and the keys that it was sent."""

    billed: list[tuple[str, int, int]] = field(default_factory=list)
    keys: set[str] = field(default_factory=set)

    def bill(self, model: str) -> tuple[int, int]:
        """The tokens of a prompt and of its answer."""
        prompt, output = 101 + len(self.billed), 11 + len(self.billed)
        self.billed.append((model, prompt, output))
        return prompt, output

    def next_turn(self, tools: Sequence[str], results: Sequence[str], prompt: str) -> Turn:
        """`tools` are the names that the model may call now, `results` all that its calls have answered so far."""
        raise NotImplementedError


@dataclass
class Script(ScriptedModel):
    """Run a read, run a write that pauses, wait for it until it has a result, say that it is done.

    `approve` is called while it waits. A client that gives up waiting is asked to wait again.
    """

    approve: Callable[[str], None]
    expected: str  # how the instructions of the server begin
    tools: list[list[str]] = field(default_factory=list)
    results: list[str] = field(default_factory=list)
    instructions: bool = False
    _approved: set[str] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def next_turn(self, tools: Sequence[str], results: Sequence[str], prompt: str) -> Turn:
        if not results and not any("execute" in one for one in tools):
            return Turn(text="no tool to run code with")  # a question aside, such as one for a title
        with self._lock:
            self.tools.append(list(tools))
            self.instructions |= self.expected in prompt
            if len(results) > len(self.results):
                self.results = list(results)
        if not results:
            return Turn("execute", {"code": READ})
        if len(results) == 1:
            return Turn("execute", {"code": WRITE})
        paused, last = results[1], results[-1]
        execution, question = EXECUTION.search(paused), QUESTION.search(last)
        if execution is None or REFUND.search(last) or len(results) > 8:
            return Turn(text=f"{DONE} {last[:200]}")
        if question is not None and question[0] not in self._approved:
            self._approved.add(question[0])
            threading.Thread(target=self.approve, args=(question[0],), daemon=True).start()
        return Turn("resume", {"executionId": execution[0]})
