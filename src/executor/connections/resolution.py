"""Which connection a call uses: a pure decision over the connections of its source."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace
from typing import Any

from executor.connections.origin import describe_origin, origin_of
from executor.connections.schemes import Auth, Needed, way, ways
from executor.dataclass import dataclass
from executor.model.credentials import DEFAULT_NAME, Connection
from executor.model.interaction import InteractionKind
from executor.model.source import Source
from executor.model.tool import Tool

INSUFFICIENT = "insufficient_scope"  # RFC 6750
WAY = "way"  # in a connection's options: the scheme of the document that it satisfies


@dataclass(frozen=True, slots=True)
class Missing:
    """A call has no credential that it could use; `ways` are those to provide one, in the document's order."""

    source: Source
    origin: str
    ways: tuple[Needed, ...]
    reason: str
    connection: str = ""

    @property
    def kind(self) -> InteractionKind:
        return "oauth" if self.ways and self.ways[0].oauth is not None else "credential"

    def view(self) -> dict[str, Any]:
        """What a human is shown; also enough to make the connection of it later."""
        return {
            "source": self.source.namespace,
            "sourceId": self.source.id,
            "origin": self.origin,
            "sentTo": describe_origin(self.origin, self.source),
            "connection": self.connection,
            "ways": [one.view() for one in self.ways],
        }


@dataclass(frozen=True, slots=True)
class Use:
    """What a call is sent with. Without a connection and with nothing missing it needs none."""

    connection: Connection | None = None
    missing: Missing | None = field(default=None)

    @property
    def mark(self) -> str:
        """For a binding: another connection, or the same with another value, is something else."""
        return f"{self.connection.id}@{self.connection.revision}" if self.connection is not None else ""


def resolve(source: Source, tool: Tool, actor_id: str, connections: Sequence[Connection]) -> Use:
    """The actor's own before the workspace's; of several the one called `default`, else the oldest.

    The first that fits decides, also when it can't be used: to take the next one would silently be someone else.
    """
    origin, required = origin_of(source, tool), ways_of(source, tool)
    mine = [one for one in connections if one.actor_id in ("", actor_id) and one.origin == origin]
    fitting = sorted((one for one in mine if fits(one, source, required)), key=rank)
    if fitting and fitting[0].status == "ready":
        lacking = find_unconsented(fitting[0], required)
        if not lacking:
            return Use(fitting[0])
        reason = f"the connection {fitting[0].name!r} lacks consent for {', '.join(lacking)}"
        return Use(missing=Missing(source, origin, offer_ways(source, required), reason, fitting[0].name))
    if fitting and not needs_none(source, tool):
        reason = f"the connection {fitting[0].name!r} can't be used: {fitting[0].error or fitting[0].status}"
        return Use(missing=Missing(source, origin, offer_ways(source, required), reason, fitting[0].name))
    if required and not source.known_keys.get("static"):
        return Use(missing=Missing(source, origin, tuple(required), "the call needs a credential"))
    return Use()


def missing(source: Source, tool: Tool, reason: str, connection: str = "", asks: Sequence[Auth] = ()) -> Missing:
    """For a call that was refused for want of a credential, whatever its document says.

    `asks` is what the service itself said it takes.
    """
    ways = offer_ways(source, ways_of(source, tool), asks)
    return Missing(source, origin_of(source, tool), ways, reason, connection)


def missing_consent(source: Source, tool: Tool, connection: Connection, asks: Sequence[Auth]) -> Missing | None:
    """For a call that a login does not cover: the scopes that the service names and the login never asked for."""
    asked = connection.options.get("oauth", {}).get("scopes") or ()
    challenges = [auth["details"] for auth in asks if auth["details"].get("error") == INSUFFICIENT]
    named = " ".join(details.get("scope", "") for details in challenges).split()
    lacking = [scope for scope in dict.fromkeys(named) if scope not in asked]
    if not lacking:
        return None
    found = missing(source, tool, f"the service wants consent for {', '.join(lacking)}", connection.name, asks)
    ways = tuple(replace(one, scopes=tuple(lacking)) for one in found.ways if one.scheme == "oauth2")
    return replace(found, ways=ways) if ways else None


def missing_to_read(source: Source, origin: str) -> Missing:
    """For a source that can't be read before it has a credential."""
    return Missing(source, origin, tuple(ways_of(source, None)), source.error)


def rank(connection: Connection) -> tuple[bool, bool, int, str]:
    return not connection.actor_id, connection.name != DEFAULT_NAME, connection.created_at, connection.id


def fits(connection: Connection, source: Source, required: Sequence[Needed]) -> bool:
    """One that was placed by hand fits every call; one made for a scheme only calls that take that scheme.

    One that was given before the document could be read fits the schemes that send the same.
    """
    made_for = connection.options.get(WAY, "")
    if not made_for or not required or made_for in {one.name for one in required}:
        return True
    if any(one.get("name") == made_for for one in source.known_keys.get("auth") or ()):
        return False
    sent = [dict(one) for one in connection.options.get("placements", ())]
    return any([dict(part) for part in one.placements] == sent for one in required)


def find_unconsented(connection: Connection, required: Sequence[Needed]) -> list[str]:
    """The scopes that a call's document wants and its login never asked for. What was asked for and not granted is the
    service's to refuse: asking again would continue forever."""
    asked = connection.options.get("oauth", {}).get("scopes") or ()
    mine = [one for one in required if asked and one.name == connection.options.get(WAY, "")]
    return min(([scope for scope in one.scopes if scope not in asked] for one in mine), key=len, default=[])


def ways_of(source: Source, tool: Tool | None) -> list[Needed]:
    """What the document says; of a source that only says it as a whole, any of its ways."""
    auth = source.known_keys.get("auth") or ()
    if tool is not None and "security" in tool.known_keys:
        return ways(auth, tool.known_keys["security"])
    return [found for one in auth if (found := way(one)) is not None]


def needs_none(source: Source, tool: Tool) -> bool:
    """The document has schemes, and this operation takes none of them: it can be called without a usable connection.
    Where one is optional, the answers without it may differ, so a person decides."""
    return bool(source.known_keys.get("auth")) and tool.known_keys.get("security") == []


def offer_ways(source: Source, required: Sequence[Needed], asks: Sequence[Auth] = ()) -> tuple[Needed, ...]:
    """What the document says, in the form that the service asked for first; without a document, what it asked for.

    When nothing says which credential it takes: a bearer token, or for a command its environment.
    """
    asked = [one for auth in asks if (one := way(auth)) is not None]
    found = list(required) or ways_of(source, None)
    if found:
        headers = {one.placements[0]["template"].partition(" ")[0] for one in asked}
        return tuple(sorted(found, key=lambda one: one.placements[0]["template"].partition(" ")[0] not in headers))
    if asks:
        return tuple(asked)
    if source.known_keys.get("command") or source.kind == "python":
        return ()
    fallback = way(
        {
            "name": "bearer",
            "type": "http-bearer",
            "description": ("the service did not say which credential it accepts"),
        }
    )
    return (fallback,) if fallback is not None else ()
