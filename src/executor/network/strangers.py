"""Requests for people whom no one vouches for: to public addresses alone, whatever else was granted, and few bytes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass

from executor.errors import EgressRefused

CALL_BYTES = 4_000_000  # of all answers that one call reads, the documents of a source included


@dataclass(slots=True)
class Traffic:
    """What one call may still read."""

    left: int = CALL_BYTES

    def limit(self, size: int) -> int:
        if self.left <= 0:
            raise EgressRefused(
                f"a call of an anonymous workspace reads at most {CALL_BYTES:,} bytes",
                hint="connect a smaller document, or ask the operator for an account",
            )
        return min(size, self.left)


# Of the call under way, if it is a stranger's. Tasks that it starts inherit it.
TRAFFIC: ContextVar[Traffic | None] = ContextVar("stranger_traffic", default=None)
ANYWHERE = nullcontext()


def only_public(*, applies: bool) -> AbstractContextManager[None]:
    return limit_traffic() if applies else ANYWHERE


@contextmanager
def limit_traffic() -> Iterator[None]:
    before = TRAFFIC.set(Traffic())
    try:
        yield
    finally:
        TRAFFIC.reset(before)
