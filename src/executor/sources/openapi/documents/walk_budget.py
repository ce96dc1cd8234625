"""How much of a document may be walked: references make documents that are short to write and endless to follow."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

from executor.errors import DocumentInvalid
from executor.sources.documents.cancellation import Abandoned, Stopped, never

if TYPE_CHECKING:
    from executor.sources.openapi.documents.document import Document

PER_OPERATION = 100_000
PER_DOCUMENT = 1_000_000
LOOK_EVERY = 100
SIMPLIFY = "remove unused parts, or split it"
T = TypeVar("T")


class Visits:
    """Counts steps, those of the operation at hand and those of the whole document of `size` bytes."""

    def __init__(self, size: int = 0, stopped: Stopped = never) -> None:
        self._stopped = stopped
        self._document_end = PER_DOCUMENT + size // 4
        self.operation_end: float = float("inf")
        self.spent = 0
        self._look_at: float = -1  # at the next step

    def begin(self) -> None:
        """What follows is for another operation."""
        self.operation_end = self.spent + PER_OPERATION
        self._look_at = -1

    def share_steps(self) -> Shared:
        """The steps made meanwhile are made once for all operations."""
        return Shared(self)

    def spend(self, steps: int = 1) -> None:
        """Raises DocumentInvalid when there have been too many."""
        self.spent += steps
        if self.spent > self._look_at:
            self._look()

    def _look(self) -> None:
        if self.spent > self.operation_end:
            raise DocumentInvalid(f"it is too complex: reading it takes over {PER_OPERATION:,} steps", hint=SIMPLIFY)
        if self.spent > self._document_end:
            raise DocumentInvalid("the document is too complex to read all of it", hint=SIMPLIFY)
        if self._stopped():
            raise Abandoned
        self._look_at = min(self.operation_end, self._document_end, self.spent + LOOK_EVERY)


class Shared:
    """While it is entered, steps are not the operation's own."""

    __slots__ = ("_before", "_spent", "_visits")

    def __init__(self, visits: Visits) -> None:
        self._visits = visits

    def __enter__(self) -> None:
        self._before, self._spent = self._visits.operation_end, self._visits.spent
        self._visits.operation_end = float("inf")

    def __exit__(self, *_: object) -> None:
        self._visits.operation_end = self._before + self._visits.spent - self._spent


def remember(walk: Callable[[Document, Any, int], T]) -> Callable[..., T]:
    """Answers once for each schema and depth. What is returned is shared: it must not be changed."""

    name = f"{walk.__module__}.{walk.__name__}"

    @wraps(walk)
    def visit(document: Document, schema: Any, depth: int = 0) -> T:
        if isinstance(schema, dict) and "$ref" not in schema:
            document.visits.spend()  # what `whole_of` does too
        else:
            schema = document.whole_of(schema)
        if not isinstance(schema, dict):
            return walk(document, schema, depth)
        key = (name, id(schema), depth)
        known = document.walked.get(key)
        if known is None:  # kept with the schema, so that its id stays its own
            known = document.walked[key] = schema, walk(document, schema, depth)
        found: T = known[1]
        return found

    return visit
