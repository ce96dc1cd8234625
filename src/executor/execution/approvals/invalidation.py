"""What ends when the calls of a source go elsewhere: people see it before they agree to an edit."""

from __future__ import annotations

from sqlalchemy.engine import Connection

from executor.connections.origin import describe_origin, origin_of
from executor.dataclass import dataclass
from executor.errors import ConsentRequired
from executor.model.credentials import Connection as Credential
from executor.model.policy import Policy
from executor.sources.lifecycle.edit_application import Move
from executor.storage.catalog import policies, source_dependents
from executor.storage.catalog.source_dependents import Waiting
from executor.storage.credentials import connections
from executor.storage.database import Database
from executor.storage.executions import permits


@dataclass(frozen=True, slots=True)
class Invalidated:
    """`approvals` are pending, `permits` are what was allowed for the rest of executions that have not ended.

    `policies` allow calls only to where they went. `headers` name those whose values are dropped.
    """

    goes_from: str
    goes_to: str
    approvals: tuple[Waiting, ...]
    permits: int
    connections: tuple[Credential, ...]
    policies: tuple[Policy, ...]
    headers: tuple[str, ...]

    def to_lines(self) -> list[str]:
        """For people, one line for each kind."""
        moved = self.goes_from != self.goes_to
        names = dict.fromkeys(one.name for one in self.connections)
        patterns = dict.fromkeys(one.pattern for one in self.policies)
        approvals = dict.fromkeys(one.path for one in self.approvals)
        parts = (
            (self.approvals, f"to be requested again: pending approvals of {', '.join(approvals)}"),
            (self.permits, f"no longer valid: permissions for the rest of an execution ({self.permits})"),
            (self.connections, f"no longer used: credentials for {self.goes_from} ({', '.join(names)})"),
            (self.policies, f"no longer in force: policies that were created for it as it is ({', '.join(patterns)})"),
            (self.headers, f"to be entered again: values of headers ({', '.join(self.headers)})"),
        )
        where = f"calls go to {self.goes_to} instead of {self.goes_from}" if moved else "calls are sent in another way"
        return [where, *(line for what, line in parts if what)]


def find_invalidated(c: Connection, move: Move) -> Invalidated:
    source = move.before
    return Invalidated(
        describe_origin(origin_of(source), source),
        describe_origin(origin_of(move.after), move.after),
        tuple(source_dependents.waiting(c, source)),
        permits.count_live(c, source),
        tuple(one for one in connections.of_source(c, source.id) if is_ended(one, move)),
        tuple(one for one in policies.in_force(c, source.workspace_id) if is_bound(one, move)),
        move.headers,
    )


def is_ended(connection: Credential, move: Move) -> bool:
    return connection.origin not in move.origins and connection.status != "revoked"


def is_bound(policy: Policy, move: Move) -> bool:
    """To the place, or to the place with one document."""
    return policy.made_for is not None and policy.made_for.destination.partition(":")[0] == move.destination


async def read_invalidated(database: Database, move: Move | None) -> Invalidated | None:
    return await database.read(lambda c: find_invalidated(c, move)) if move is not None else None


class Agreement:
    """To what ends with an edit: `found`, once it is known."""

    def __init__(self, *, is_given: bool) -> None:
        self._is_given = is_given
        self.found: Invalidated | None = None

    def check(self, c: Connection, move: Move) -> None:
        """Raises ConsentRequired, which says what ends, unless people have agreed."""
        self.found = find_invalidated(c, move)
        if not self._is_given:
            raise refusal_of(move, self.found.to_lines())


def refusal_of(move: Move, lines: list[str]) -> ConsentRequired:
    return ConsentRequired(
        f"this edit changes where or how the calls of {move.before.namespace} are sent: {'; '.join(lines)}",
        hint="if this is expected, repeat it with `consent`",
        invalidates=lines,
    )
