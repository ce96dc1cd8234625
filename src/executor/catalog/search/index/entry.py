"""What a search knows of one tool: everything it says of itself."""

from __future__ import annotations

from executor.dataclass import dataclass

# Characters of a query that are read.
MAX_QUERY = 1_000


@dataclass(frozen=True, slots=True)
class Entry:
    """`route` is the HTTP method and path of an operation, `parameters` the names of its arguments."""

    path: str
    description: str
    effect: str = "read"
    tags: tuple[str, ...] = ()
    deprecated: bool = False
    route: str = ""
    parameters: tuple[str, ...] = ()
