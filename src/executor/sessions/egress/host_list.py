"""Which hosts a session may reach: exact names, or `*.` and a suffix. What is denied stays denied."""

from __future__ import annotations

import re
from collections.abc import Iterable

from executor.dataclass import dataclass
from executor.errors import EgressRefused, InvalidRequest
from executor.sessions.egress.host_names import read_host

DEFAULT_PORTS = (80, 443)
READ_ONLY = "read-only"
PATTERN = re.compile(r"(\*\.)?([^:\s]+)(?::([0-9]{1,5}))?(?: (read-only))?\Z", re.ASCII)


@dataclass(frozen=True, slots=True)
class HostPattern:
    """`name` is a domain, `below` if all names below it are meant (and not the domain itself).

    `read_only`: over plain HTTP only GET and HEAD; over TLS, where methods can't be seen, little may be uploaded.
    """

    name: str
    below: bool = False
    ports: tuple[int, ...] = DEFAULT_PORTS
    read_only: bool = False

    def matches(self, host: str, port: int) -> bool:
        named = host.endswith(f".{self.name}") if self.below else host == self.name
        return named and port in self.ports


@dataclass(frozen=True, slots=True)
class HostList:
    """Nothing is allowed unless it is listed. A denial wins over every permission, on every port."""

    allow: tuple[HostPattern, ...] = ()
    deny: tuple[HostPattern, ...] = ()

    def find(self, host: str, port: int) -> HostPattern:
        """The entry that allows it; a read-only one counts where several do. Raises EgressRefused."""
        if any(one.matches(host, one.ports[0]) for one in self.deny):
            raise EgressRefused(
                f"{host} is denied to this session", hint="ask the user who started the session", reason="denied"
            )
        found = [one for one in self.allow if one.matches(host, port)]
        if not found:
            raise EgressRefused(
                f"{host}:{port} is not allowed for this session",
                hint="ask the user who started the session to allow it",
            )
        return next((one for one in found if one.read_only), found[0])


def read_pattern(text: str) -> HostPattern:
    """`registry.example`, `*.example.com`, `registry.example:8443`, each with ` read-only` behind it if wanted."""
    match = PATTERN.match(text.strip())
    try:
        if match is None:
            raise EgressRefused("it has another form")
        below, host, port, read_only = match.groups()
        name = read_host(host)
        if port is not None and not 0 < int(port) < 65536:
            raise EgressRefused("there is no such port")
    except EgressRefused as error:
        raise InvalidRequest(
            f"{text[:100]!r} is not a host that can be allowed: {error.message}",
            hint="use a name such as registry.example, *.example.com or registry.example:8443 read-only",
        ) from error
    return HostPattern(name, bool(below), (int(port),) if port else DEFAULT_PORTS, bool(read_only))


def read_hosts(allow: Iterable[str], deny: Iterable[str] = ()) -> HostList:
    return HostList(tuple(map(read_pattern, allow)), tuple(map(read_pattern, deny)))
