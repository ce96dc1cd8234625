"""Fields that a service refuses although no one asked for them by name, and selections without them."""

from __future__ import annotations

import re
import time
from collections import OrderedDict
from collections.abc import Iterator
from typing import Any

from graphql import parse, print_ast, strip_ignored_characters
from graphql.language import FieldNode, InlineFragmentNode, OperationDefinitionNode, SelectionSetNode

from executor.dataclass import dataclass
from executor.sources.graphql.results import codes

Way = tuple[str, ...]  # keys of the answer below the root field; places in lists are not counted

REMEMBERED_SECONDS = 3_600.0
MAX_REMEMBERED = 1_000
MAX_ERRORS = 200
# The service would say so of any fields: asking for fewer is no remedy.
OTHERWISE = frozenset({"RATE_LIMITED", "THROTTLED", "TIMEOUT", "SERVICE_UNAVAILABLE", "MAX_COST_EXCEEDED", "NOT_FOUND"})
LASTING = frozenset(
    {"FORBIDDEN", "UNAUTHORIZED", "UNAUTHENTICATED", "INSUFFICIENT_SCOPES", "ACCESS_DENIED", "PERMISSIONDENIED",
     "PERMISSION_DENIED", "GRAPHQL_VALIDATION_FAILED", "UNDEFINEDFIELD", "VALIDATION-FAILED", "FIELD_NOT_FOUND"}
)  # fmt: skip
_LASTING = re.compile(
    r"permi|scope|forbid|authori[sz]|authenticat|access|denied|not allowed|privilege|requires?\b|cannot query"
    r"|exist|unknown field|not found in type|not defined|not for you",
    re.IGNORECASE,
)
_UNRUN = re.compile(r"cannot query|doesn't exist|unknown field|not found in type|undefined field", re.IGNORECASE)
_FIELD = re.compile(
    r"""\bfields?\s+['"`\u2018\u201c](?:\w+\.)?(\w+)['"`\u2019\u201d]"""
    r"""|['"`\u2018\u201c](?:\w+\.)?(\w+)['"`\u2019\u201d]\s+(?:field|property)\b"""
    r"""|\b(?:for|to|the)\s+(\w+)\s+field\b""",
    re.IGNORECASE,
)
_ABOUT_ARGUMENTS = re.compile(r"\b(?:argument|variable|parameter|input)s?\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Refusal:
    """`is_lasting`: the same credential would be refused the same again. `was_run`: the root field itself was done."""

    ways: frozenset[Way]
    is_lasting: bool
    was_run: bool


@dataclass(frozen=True, slots=True)
class Selected:
    way: Way
    name: str
    starts: frozenset[int]


def refusal_of(errors: Any, query: str) -> Refusal | None:
    """None unless every error is about a field below the root field of `query`, which is one line of ours."""
    errors = errors if isinstance(errors, list) else [errors]
    if not 0 < len(errors) <= MAX_ERRORS or codes(errors) & OTHERWISE:
        return None
    root, known = selected_in(query)
    found: set[Way] = set()
    for error in errors:
        ways = named_by(error, root, known) if isinstance(error, dict) else set()
        if not ways:
            return None
        found |= ways
    was_run = all(steps_of(error)[:1] == (root,) and not _UNRUN.search(str(error.get("message"))) for error in errors)
    return Refusal(frozenset(found), all(is_lasting(error) for error in errors), was_run)


def named_by(error: dict[str, Any], root: str, known: list[Selected]) -> set[Way]:
    """By its path, or where it points in the document, or the field that its message names; in this order."""
    if steps := steps_of(error):
        if steps[0] != root and steps[0].partition(" ")[0] in ("query", "mutation"):  # found before anything was run
            steps = tuple(step for step in steps[1:] if not step.startswith("..."))
        return {one.way for one in known if steps[:1] == (root,) and one.way == steps[1:]}
    places = error.get("locations")
    starts = {start_of(place) for place in places} if isinstance(places, list) else set()
    if found := {one.way for one in known if one.starts & starts}:
        return found
    message = error.get("message")
    if not isinstance(message, str) or _ABOUT_ARGUMENTS.search(message[:500]):
        return set()
    names = {name for match in _FIELD.finditer(message[:500]) for name in match.groups() if name}
    return {one.way for one in known if one.name in names}


def steps_of(error: dict[str, Any]) -> Way:
    path = error.get("path")
    return tuple(step for step in path if isinstance(step, str)) if isinstance(path, list) else ()


def start_of(place: Any) -> int:
    line, column = (place.get("line"), place.get("column")) if isinstance(place, dict) else (0, 0)
    return column - 1 if line == 1 and isinstance(column, int) else -1


def is_lasting(error: dict[str, Any]) -> bool:
    return bool(codes([error]) & LASTING) or bool(_LASTING.search(str(error.get("message"))[:500]))


def selected_in(query: str) -> tuple[str, list[Selected]]:
    """The key of the root field, and all that is selected below it."""
    [definition] = parse(query).definitions
    assert isinstance(definition, OperationDefinitionNode)  # noqa: S101 - documents of ours hold one operation
    [root] = definition.selection_set.selections
    assert isinstance(root, FieldNode)  # noqa: S101 - with one field
    return key_of(root), list(below(root.selection_set, ()))


def below(selections: SelectionSetNode | None, before: Way) -> Iterator[Selected]:
    for one in selections.selections if selections else ():
        if isinstance(one, InlineFragmentNode):
            yield from below(one.selection_set, before)
        elif isinstance(one, FieldNode):
            way = (*before, key_of(one))
            starts = frozenset(node.loc.start for node in (one, one.name) if node.loc is not None)
            yield Selected(way, one.name.value, starts)
            yield from below(one.selection_set, way)


def key_of(field: FieldNode) -> str:
    return field.alias.value if field.alias else field.name.value


def without(selection: str, ways: frozenset[Way]) -> str:
    """The selection set without these fields, and without objects of which nothing is left; empty if nothing is."""
    [definition] = parse(selection).definitions
    assert isinstance(definition, OperationDefinitionNode)  # noqa: S101 - a selection set alone is a query
    kept = prune(definition.selection_set, (), ways)
    return strip_ignored_characters(print_ast(kept)) if kept is not None else ""


def prune(selections: SelectionSetNode, before: Way, ways: frozenset[Way]) -> SelectionSetNode | None:
    kept: list[Any] = []
    for one in selections.selections:
        way = (*before, key_of(one)) if isinstance(one, FieldNode) else before
        if isinstance(one, FieldNode) and way in ways:
            continue
        inner = getattr(one, "selection_set", None)
        left = prune(inner, way, ways) if inner is not None else None
        if inner is None or left is not None:
            kept.append(one if inner is None else replace_selections(one, left))
    return SelectionSetNode(selections=tuple(kept)) if kept else None


def replace_selections(node: Any, selections: SelectionSetNode | None) -> Any:
    return type(node)(**{**{key: getattr(node, key) for key in node.keys}, "selection_set": selections})


class Refusals:
    """What was refused lately, by who asked for what. Forgotten after an hour: rights are granted, too."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[str, ...], tuple[float, frozenset[Way]]] = OrderedDict()

    def of(self, key: tuple[str, ...]) -> frozenset[Way]:
        since, ways = self._known.get(key, (0.0, frozenset()))
        return ways if ways and time.monotonic() - since < REMEMBERED_SECONDS else frozenset()

    def remember(self, key: tuple[str, ...], ways: frozenset[Way]) -> None:
        self._known[key] = time.monotonic(), self.of(key) | ways
        self._known.move_to_end(key)
        while len(self._known) > MAX_REMEMBERED:
            self._known.popitem(last=False)


def describe_ways(ways: frozenset[Way]) -> str:
    names = sorted(".".join(way) for way in ways)
    more = f" and {len(names) - 10} more" if len(names) > 10 else ""
    return ", ".join(f"`{name}`" for name in names[:10]) + more
