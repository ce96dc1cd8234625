"""Code that somebody submits, and the way to what becomes of it."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import asdict, dataclass
from typing import Any

from executor.execution.checks import Typecheck
from executor.execution.outcome import Outcome
from executor.model.digest import digest
from executor.model.execution import Limits


@dataclass(frozen=True, slots=True)
class Submission:
    """Language and runtime follow from each other, or are the default. `key` is the client's own name for this
    submission: sent again with the same key, it finds the same execution."""

    code: str
    language: str | None = None
    runtime: str | None = None
    limits: Limits | None = None
    typecheck: Typecheck | None = None
    key: str = ""

    @property
    def digest(self) -> str:
        """Of everything that says what runs."""
        return digest({**asdict(self), "key": ""})


@dataclass(frozen=True, slots=True)
class Submitted:
    """`is_known` if an earlier request with the same key had submitted it. `outcome` waits for so many seconds."""

    execution_id: str
    outcome: Callable[[float], Coroutine[Any, Any, Outcome]]
    is_known: bool = False
