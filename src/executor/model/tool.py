"""A tool: one callable of a source."""

from __future__ import annotations

from dataclasses import field
from typing import Any, Literal, cast

from executor.dataclass import dataclass
from executor.model.identity.permissions import Permission
from executor.model.known_keys import KnownBinding

Effect = Literal["read", "write", "destructive"]
Schema = dict[str, Any]
SCALAR = "x-scalar"  # in a schema: what the source calls a plain value of its own, such as `TimelessDate`
ALL = ".all"  # ends the path of a tool that reads every page of a list


@dataclass(frozen=True, slots=True)
class Tool:
    """Schemas keep their `$ref`s (`#/$defs/Name`); the definitions are stored once per source, see `Definitions`.

    `binding` is how the source's kind sends a call (for OpenAPI: method, path template, where each argument goes); it
    is the kind's own JSON, and `known_keys` is the part of it that others read.
    `needs` is set for Executor's own tools: what someone who settles a call of it must be allowed to do themselves.
    `idempotent` is true only when a repeated send with the same idempotency key can't act twice.
    `held`: its source now means something else by this path, which no one has reviewed. It isn't called meanwhile.
    """

    path: str
    source_id: str
    description: str
    effect: Effect
    input_schema: Schema
    output_schema: Schema | None = None
    binding: dict[str, Any] = field(default_factory=dict)
    tags: tuple[str, ...] = ()
    deprecated: bool = False
    idempotent: bool = False
    schema_digest: str = ""
    needs: tuple[Permission, ...] = ()
    held: bool = False

    @property
    def namespace(self) -> str:
        return self.path.partition(".")[0]

    @property
    def known_keys(self) -> KnownBinding:
        return cast("KnownBinding", self.binding)

    @property
    def body_argument(self) -> str:
        """The argument that is the whole request body, where there is one."""
        body = self.known_keys.get("body")
        return body.get("whole", "body") if body else "body"


@dataclass(frozen=True, slots=True)
class Skipped:
    """A part of a document that could not become a tool, and why."""

    where: str
    reason: str
