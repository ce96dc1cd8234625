"""What a task cost its agent: executions, errors, and tokens by what they were spent on."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import cache

from splintr import AnyTokenizer, Tokenizer

KINDS = ("discovery", "descriptions", "pauses", "failures", "results")


@cache  # loading it takes longer than most tasks
def tokenizer() -> AnyTokenizer:
    return Tokenizer.from_pretrained("o200k_base")


def tokens(text: str) -> int:
    return len(tokenizer().encode(text))


@dataclass
class Tally:
    executions: int = 0
    errors: int = 0
    approvals: int = 0
    code: int = 0  # tokens that the agent wrote
    output: Counter[str] = field(default_factory=Counter)  # tokens that it read, by kind

    def add(self, other: Tally) -> None:
        self.executions += other.executions
        self.errors += other.errors
        self.approvals += other.approvals
        self.code += other.code
        self.output += other.output

    @property
    def total(self) -> int:
        return self.output.total()
