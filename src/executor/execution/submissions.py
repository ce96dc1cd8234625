"""Code that someone submits, and the way to what becomes of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Coroutine
from typing import Any

from executor.dataclass import dataclass
from executor.errors import InvalidRequest
from executor.execution.outcome import Outcome
from executor.execution.typecheck import Typecheck
from executor.model.digest import digest
from executor.model.execution import Limits
from executor.model.use_limits import Priority

_KEY = re.compile(r"[!-~]{1,255}")


def checked_key(key: object) -> str:
    """As HTTP can carry it in a header."""
    if not isinstance(key, str) or not _KEY.fullmatch(key):
        raise InvalidRequest("an idempotency key has 1 to 255 visible ASCII characters", hint="use a random UUID")
    return key


@dataclass(frozen=True, slots=True)
class Submission:
    """Language and runtime follow from each other, or are the default. `key` is the client's own name for this
    submission: sent again with the same key, it finds the same execution. `client_id` and `client_name` say which
    client it is from, as that calls itself."""

    code: str
    language: str | None = None
    runtime: str | None = None
    limits: Limits | None = None
    typecheck: Typecheck | None = None
    key: str = ""
    client_id: str = ""
    client_name: str = ""
    priority: Priority | None = None

    @property
    def digest(self) -> str:
        """Of everything that says what runs, and nothing that the settings decide."""
        wall_ms = self.limits.wall_ms if self.limits else None
        return digest([self.code, self.language, self.runtime, self.typecheck, wall_ms])


@dataclass(frozen=True, slots=True)
class Submitted:
    """`is_known` if an earlier request with the same key had submitted it. `outcome` waits for so many seconds."""

    execution_id: str
    outcome: Callable[[float], Coroutine[Any, Any, Outcome]]
    is_known: bool = False
