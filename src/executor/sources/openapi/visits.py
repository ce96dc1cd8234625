"""How much of a document may be walked: references make documents that are short to write and endless to follow."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

from executor.errors import DocumentInvalid

if TYPE_CHECKING:
    from executor.sources.openapi.document import Document

PER_OPERATION = 100_000
PER_DOCUMENT = 1_000_000
SIMPLIFY = "remove what isn't used, or split it"
T = TypeVar("T")


class Abandoned(Exception):
    """Nobody waits for this document any more."""


def never() -> bool:
    return False


class Visits:
    """Counts steps, those of the operation at hand and those of the whole document of `size` bytes."""

    def __init__(self, size: int = 0, stopped: Callable[[], bool] = never) -> None:
        self._stopped = stopped
        self._document = PER_DOCUMENT + size // 4
        self._operation: float = float("inf")
        self._is_shared = False
        self.spent = 0

    def begin(self) -> None:
        """What follows is for another operation."""
        self._operation = PER_OPERATION

    @contextmanager
    def shared(self) -> Iterator[None]:
        """The steps made meanwhile are made once for all operations."""
        before, self._is_shared = self._is_shared, True
        try:
            yield
        finally:
            self._is_shared = before

    def spend(self, steps: int = 1) -> None:
        """Raises DocumentInvalid when there have been too many."""
        self.spent += steps
        self._document -= steps
        if not self._is_shared:
            self._operation -= steps
        if self._operation < 0:
            raise DocumentInvalid(f"it is too complex: reading it takes over {PER_OPERATION:,} steps", hint=SIMPLIFY)
        if self._document < 0:
            raise DocumentInvalid("the document is too complex to read all of it", hint=SIMPLIFY)
        if self._stopped():
            raise Abandoned


def remembered(walk: Callable[[Document, Any, int], T]) -> Callable[..., T]:
    """Answers once for each schema and depth. What is returned is shared: it must not be changed."""

    @wraps(walk)
    def visit(document: Document, schema: Any, depth: int = 0) -> T:
        schema = document.end_of(schema)
        if not isinstance(schema, dict):
            return walk(document, schema, depth)
        key = (walk.__name__, id(schema), depth)
        if key not in document.walked:
            document.walked[key] = schema, walk(document, schema, depth)  # the schema too: its id stays its own
        found: T = document.walked[key][1]
        return found

    return visit
