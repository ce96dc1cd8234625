"""Commands where several processes share a database: each process would start one of its own, on its own machine.

What one of them remembers the others don't know, and it must be installed on every machine. So a new one is refused,
unless the operator says that none of this matters.
"""

from __future__ import annotations

import shlex
from collections.abc import Awaitable, Callable

from executor.dataclass import dataclass
from executor.errors import CommandNotShared
from executor.model.source import Source
from executor.sources.source_request import SourceRequest

MAX_LINE = 500
SETTING = "EXECUTOR_CLUSTER_COMMANDS=allow"


@dataclass(frozen=True, slots=True)
class SharedCommands:
    """`is_shared` says whether other processes use the database. `allowed` is what the operator has set."""

    is_shared: Callable[[], Awaitable[bool]]
    allowed: bool

    async def check(self, request: SourceRequest) -> None:
        if request.command and request.is_new and not self.allowed and await self.is_shared():
            raise CommandNotShared(
                "several processes share this database, and each would start the command for itself: "
                "none knows what another one's command has kept, and it must be installed on every machine",
                hint=f"serve it over HTTP with `{host_command(request)}`, and add the address that it prints; "
                f"or set {SETTING} for all processes if it keeps nothing and is installed everywhere",
            )

    async def warn(self, source: Source) -> str:
        """What someone who looks at a source should know. Empty if there is nothing."""
        if not source.known_keys.get("command") or not await self.is_shared():
            return ""
        return "each process that shares the database starts this command for itself"


def host_command(request: SourceRequest) -> str:
    """To be pasted into a shell. Values of variables are not in it."""
    given = request.options.get("env") or ()
    names = [word for name in given if isinstance(name, str) for word in ("--env", name)]
    line = shlex.join(["executor", "mcp-host", *names, "--", *request.command])
    return line if len(line) <= MAX_LINE else "executor mcp-host -- COMMAND…"
