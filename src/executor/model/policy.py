"""A policy: from a pattern over tool paths, and conditions on the call, to a decision."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from executor.dataclass import dataclass
from executor.model.tool import Effect

Action = Literal["allow", "require_approval", "deny"]
# A policy of a `source` is its approval default for one effect: it holds where no policy of another level does.
Level = Literal["organization", "workspace", "toolkit", "source"]
ApprovalDefaults = Mapping[Effect, Action]
Basis = Literal["always", "read", "hints"]
Test = Literal["equals", "one_of", "matches", "at_most", "at_least"]


@dataclass(frozen=True, slots=True)
class Condition:
    """`path` is a JSON pointer into the arguments. A condition about something that isn't there does not hold."""

    path: str
    test: Test
    value: Any


@dataclass(frozen=True, slots=True)
class MadeFor:
    """What a policy of `always` was created for: the digests of the tools as they were, and where their calls went.

    A digest covers the tool's path too. `host` is the destination in words, for people. By its `basis`, a policy may
    also say that a person takes the tools for reads: each by name, or all for which they trust a server's hints.
    """

    destination: str
    digests: frozenset[str]
    host: str = ""
    basis: Basis = "always"


@dataclass(frozen=True, slots=True)
class Policy:
    """Applies to a call when everything it names does: pattern, conditions, actor, source and effect.

    An `allow` does not apply to tools other than those it was `made_for`, nor for the sources that are `excluded`:
    they were added later, and no one agreed that they inherit it. One that was retired applies to nothing.
    """

    id: str
    level: Level
    owner_id: str
    position: int
    pattern: str
    action: Action
    conditions: tuple[Condition, ...] = ()
    actor_id: str = ""
    source_id: str = ""
    effect: str = ""
    note: str = ""
    created_by: str = ""
    created_at: int = 0
    made_for: MadeFor | None = None
    excluded: tuple[str, ...] = ()
    retired_at: int | None = None

    @property
    def is_about_reads(self) -> bool:
        """It says that tools are reads, and so holds where no other policy does, as the default for reads."""
        return self.made_for is not None and self.made_for.basis != "always"


@dataclass(frozen=True, slots=True)
class Decision:
    """`policy_id` is empty when the tool's effect decided; `reason` is a sentence for people."""

    action: Action
    policy_id: str
    reason: str
