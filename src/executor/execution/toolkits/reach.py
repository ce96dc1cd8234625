"""What a toolkit reaches: the tools in it, and those that MCP clients see as tools of their own."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile

from sqlalchemy.engine import Connection

from executor.dataclass import dataclass
from executor.errors import InvalidRequest
from executor.execution.toolkits.tool_names import name_tools
from executor.model.tool import Effect
from executor.model.toolkit import Toolkit
from executor.policy.pattern import parse_pattern
from executor.policy.toolkit_scope import scope_of
from executor.policy.visibility import Visibility, covers
from executor.storage.catalog import policy_scope

MOST_EXPOSED = 100
Head = tuple[str, Effect, str]  # path, effect and source


@dataclass(frozen=True, slots=True)
class Reached:
    """A tool in a toolkit; `name` is that of the MCP tool, if clients see it as one."""

    path: str
    effect: Effect
    name: str = ""


@dataclass(frozen=True, slots=True)
class Reach:
    """`passed` is how many tools its pass-through patterns match, which may be more than are passed through.
    `unmatched` are the patterns that match nothing."""

    tools: tuple[Reached, ...]
    passed: int
    unmatched: tuple[str, ...]

    @property
    def exposed_tools(self) -> tuple[Reached, ...]:
        return tuple(one for one in self.tools if one.name)


def read_heads(c: Connection, workspace_id: str, toolkits: Iterable[Toolkit]) -> list[Head]:
    """Of the namespaces that they name."""
    wanted = {parse_pattern(pattern)[0] for one in toolkits for pattern in one.patterns}
    if wanted & {"*", "**"}:
        return list(policy_scope.tool_heads(c, workspace_id))
    return [head for name in sorted(wanted) for head in policy_scope.tool_heads(c, workspace_id, name)]


def reach_of(toolkit: Toolkit, heads: Sequence[Head], visibility: Visibility | None = None) -> Reach:
    """`visibility` is that of someone in the toolkit; without it, policies of the workspace hide nothing."""
    scope, known = scope_of(toolkit), Paths(heads)
    hides = visibility.hides if visibility is not None else scope.hides
    inside = {path: effect for path, effect in known.matching(toolkit.patterns) if not hides(path, effect)}
    passed = [path for path, _ in known.matching(toolkit.pass_through) if path in inside]
    names = {path: name for name, path in name_tools(passed[:MOST_EXPOSED]).items()}
    tools = tuple(Reached(path, effect, names.get(path, "")) for path, effect in inside.items())
    judged = (*toolkit.patterns, *(one.pattern for one in toolkit.policies), *toolkit.pass_through)
    unmatched = tuple(one for one in dict.fromkeys(judged) if not any(known.matching([one])))
    return Reach(tools, len(passed), unmatched)


class Paths:
    """Paths of tools, in order: only those that share a pattern's beginning are compared with it."""

    def __init__(self, heads: Iterable[Head]) -> None:
        self.effects: dict[str, Effect] = {path: effect for path, effect, _ in heads}
        self._paths = sorted(self.effects)

    def matching(self, patterns: Iterable[str]) -> list[tuple[str, Effect]]:
        """Of any of them, each once."""
        found = {path for pattern in patterns for path in self._match(parse_pattern(pattern))}
        return [(path, self.effects[path]) for path in sorted(found)]

    def _match(self, wanted: tuple[str, ...]) -> Iterator[str]:
        beginning = ".".join(takewhile(lambda segment: "*" not in segment, wanted))
        start = bisect_left(self._paths, beginning)
        end = bisect_left(self._paths, f"{beginning}/") if beginning else len(self._paths)  # "/" follows "."
        return (path for path in self._paths[start:end] if covers(wanted, tuple(path.split("."))))


def check_exposed(reach: Reach) -> None:
    if reach.passed > MOST_EXPOSED:
        raise InvalidRequest(
            f"`passThrough` matches {reach.passed:,} tools, and a client can be shown at most {MOST_EXPOSED}",
            hint="choose fewer: the others are called with `execute`",
        )
