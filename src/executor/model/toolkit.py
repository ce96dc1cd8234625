"""A toolkit: a named, narrowed view of the catalog, with keys and an MCP endpoint of its own."""

from __future__ import annotations

from executor.dataclass import dataclass
from executor.model.policy import Policy


@dataclass(frozen=True, slots=True)
class Toolkit:
    """`patterns` say which tools are in it, `pass_through` which of these MCP clients also see as tools of their own.

    Its `policies` require approval or deny: it can only narrow what its callers may do without it.
    """

    id: str
    workspace_id: str
    slug: str
    name: str
    description: str
    patterns: tuple[str, ...]
    policies: tuple[Policy, ...] = ()
    pass_through: tuple[str, ...] = ()
    created_by: str = ""
    created_at: int = 0
    updated_at: int = 0
