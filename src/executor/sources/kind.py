"""The seam through which a kind of source (OpenAPI, GraphQL, MCP …) joins the catalog."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import field
from functools import cache
from typing import Any, Protocol, runtime_checkable

from executor.dataclass import dataclass
from executor.model.credentials import Credential
from executor.model.digest import digest
from executor.model.source import Loaded, Source
from executor.model.tool import Effect, Schema, Tool
from executor.sources.source_request import SourceRequest

# Namespaces of built-in tools; a source can't take them.
RESERVED = frozenset({"agent", "discover", "describe", "executor", "tools"})
# `reason` of a DocumentInvalid that a probe raises: it is of this kind by its own word, and broken.
DAMAGED = "damaged"
# Whether an operation of a source, with this effect, is kept from the actor of a call: then nothing describes it.
Hides = Callable[[str, Effect], bool]
HIDES: ContextVar[Hides | None] = ContextVar("executor_hides", default=None)


@dataclass(frozen=True, slots=True)
class Auth:
    """A credential that a source says it needs: a scheme of its own document, or one found by asking."""

    name: str
    type: str  # apiKey, http-bearer, http-basic, http-token, oauth2, openIdConnect, mutualTLS, unknown
    description: str = ""
    details: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Probe:
    """What an address turned out to be, before anything is connected.

    `guarded`: it wants a credential, one of `auth`, before anything can be read. Then the `kind` is a guess at best.
    `warning`: it is not quite what was asked for.
    """

    kind: str
    location: str
    name: str = ""
    namespace: str = ""
    base_url: str = ""
    transport: str = ""
    auth: tuple[Auth, ...] = ()
    note: str = ""
    guarded: bool = False
    warning: str = ""


class Kind(Protocol):
    """Recognises an address, reads it into tools, and sends calls to what it describes.

    A kind whose `load` runs code on this machine also has `runs_code = True`: then a human must consent. One whose
    tools can be chosen by more than their names says by what in `filters`, see `sources.filters`.
    """

    name: str

    async def probe(self, request: SourceRequest) -> Probe | None:
        """None if the address is not of this kind; raises only when asking was impossible or refused."""

    async def load(self, request: SourceRequest) -> Loaded:
        """Raises SourceUnreachable, DocumentInvalid or EgressRefused. Tool paths already carry the namespace."""

    def reload_request(self, source: Source) -> SourceRequest:
        """The request that reads `source` again, from its own config."""

    def strict_schema(self, tool: Tool) -> Schema:
        """What arranged arguments must satisfy; the tool's own input schema unless the kind accepts several forms."""

    def arrange(self, tool: Tool, arguments: dict[str, Any]) -> dict[str, Any]:
        """Arguments in the form that `strict_schema` describes. Raises ToolError if the forms contradict."""

    async def invoke(
        self,
        source: Source,
        tool: Tool,
        arguments: dict[str, Any],
        idempotency_key: str,
        *,
        credential: Credential | None = None,
    ) -> str:
        """JSON text of the answer. Raises ToolError. A `credential` is sent to its own origin only."""

    async def close(self) -> None: ...


@runtime_checkable
class Checks(Protocol):
    """What a kind has besides if arguments can be wrong in ways that no schema describes."""

    async def check(self, source: Source, tool: Tool, arguments: dict[str, Any]) -> None:
        """Raises ToolError. Sends nothing."""


@cache
def has_checks(kind: type) -> bool:
    """Found out once: Python compares all attributes to say whether something fits a protocol."""
    return issubclass(kind, Checks)


@dataclass(frozen=True, slots=True)
class Part:
    """A call that another call makes as well: `operation` is that of its tool's binding."""

    operation: str
    effect: Effect
    arguments: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a call would do, however it is written: `arguments` in one form, and the calls it holds.

    `body` are the fields of a request body where `arguments` has them beside the parameters.
    """

    arguments: dict[str, Any]
    parts: tuple[Part, ...] = ()
    body: dict[str, Any] | None = None


@runtime_checkable
class Means(Protocol):
    """What a kind has besides if a call can be written in several ways, or hold other calls. Sends nothing.

    A kind whose calls never hold others says so with `calls_stand_alone = True`.
    """

    async def meaning(self, source: Source, tool: Tool, arguments: dict[str, Any]) -> Meaning:
        """Raises ToolError if the arguments contradict each other."""

    async def identity(self, source: Source, tool: Tool, arguments: dict[str, Any]) -> Any:
        """Equal for two calls that would send the same, as JSON. Raises ToolError."""


@runtime_checkable
class Outlines(Protocol):
    """What a kind has besides if it can say which request a call makes, before anything is sent."""

    async def outline(self, source: Source, tool: Tool, arguments: dict[str, Any], idempotency_key: str) -> str:
        """One line: the method and the whole address, or what is called where. No secrets; raises ToolError."""


@runtime_checkable
class Forgets(Protocol):
    """What a kind has besides if it keeps connections or processes for a source."""

    async def forget(self, source: Source) -> None:
        """The source is gone: close what was kept for it."""


# All that the built-in kinds keep in a source's config about where and how its calls are sent. The rest may change
# whenever the source is read again.
DECIDING = (
    "location", "base_url", "given_base_url", "transport", "origins", "headers", "command", "environment", "directory",
    "options", "allow_private", "static", "edition",
)  # fmt: skip


def configured_destination(source: Source) -> dict[str, Any]:
    return {name: source.config[name] for name in DECIDING if name in source.config}


@runtime_checkable
class Locates(Protocol):
    """What a kind has besides if not all of a source's config decides where and how its calls are sent."""

    def destination(self, source: Source) -> Any:
        """JSON. Approvals are bound to it: a call is not sent under a decision about another one."""


def destination_of(kind: Kind | None, source: Source) -> str:
    """A kind that does not say, or is not there, is taken to send calls elsewhere whenever the config changes."""
    where = kind.destination(source) if isinstance(kind, Locates) else source.config
    return digest([source.id, source.kind, where])


class Unchanged(Exception):
    """Raised by `load` when the source says that nothing has changed since `validators`: an answer, not an error."""
