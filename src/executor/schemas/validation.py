"""Arguments against schemas. A schema that is itself wrong is repaired where it is wrong, never a reason to refuse."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from executor.errors import ToolError
from executor.model.tool import Schema, Tool
from executor.schemas.cost import ValidationCost

if TYPE_CHECKING:
    import jsonschema_rs

MAX_REPAIRS = 100
MAX_PROBLEMS = 20
MAX_MESSAGE = 300
# The library holds all other threads up while it works: some 10 ns a step to check, 50 µs a step to say what is wrong.
CHECKED_STEPS = 10_000_000
EXPLAINED_STEPS = 5_000
ACCEPT_ALL: Schema = {"type": "object"}


class Validator:
    """Gives up on what would take long: a value it can't check in time is left to the service."""

    def __init__(self, schema: Schema) -> None:
        import jsonschema_rs  # for the first schema; see docs/decisions/imports-at-first-use.md

        # Patterns come from documents: an expression that explodes gives up instead of holding the process.
        patterns = jsonschema_rs.FancyRegexOptions(backtrack_limit=100_000, size_limit=1_000_000)
        self._compiled = jsonschema_rs.Draft202012Validator(schema, offline=True, pattern_options=patterns)
        self._effort = ValidationCost(schema)

    def errors(self, value: Any) -> list[jsonschema_rs.ValidationError] | None:
        """None if the value is wrong and it would take too long to say where."""
        if self._effort.is_plain and self._compiled.is_valid(value):
            return []
        steps = self._effort.steps(value)
        if steps > CHECKED_STEPS or self._compiled.is_valid(value):
            return []
        return list(islice(self._compiled.iter_errors(value), MAX_PROBLEMS)) if steps <= EXPLAINED_STEPS else None


def compile_schema(schema: Schema) -> Validator:
    """Deletes keyword after keyword that the schema standard does not allow, until what is left is valid."""
    import jsonschema_rs

    for _ in range(MAX_REPAIRS):
        try:
            return Validator(schema)
        except jsonschema_rs.ValidationError as error:
            if not cut(schema, list(error.instance_path)):
                break
        except ValueError:  # nested too deeply
            break
    return Validator(ACCEPT_ALL)


def cut(schema: Any, path: Sequence[str | int]) -> bool:
    """Remove what the path leads to; False if there is nothing to remove."""
    if not path:
        return False
    node = schema
    for key in path[:-1]:
        node = node[key]
    last = path[-1]
    if isinstance(node, list):  # an entry of `enum`, `required` or `type`: an empty list would be wrong again
        return cut(schema, path[:-1])
    del node[last]
    return True


def problems(validator: Validator, arranged: dict[str, Any], arguments: dict[str, Any], tool: Tool) -> list[Problem]:
    try:
        errors = validator.errors(arranged)
    except ValueError:
        return [{"at": "", "message": "the arguments are nested too deeply"}]
    if errors is None:
        return [
            {"at": "", "message": ("they do not match the schema; pass fewer arguments at once to find the wrong one")}
        ]
    return [problem for error in errors for problem in explain(error, arguments, tool)][:MAX_PROBLEMS]


Problem = dict[str, str]


def explain(error: jsonschema_rs.ValidationError, arguments: dict[str, Any], tool: Tool) -> list[Problem]:
    import jsonschema_rs

    where = as_given(list(error.instance_path), arguments, tool.body_argument)
    kind: Any = error.kind
    if isinstance(kind, jsonschema_rs.ValidationErrorKind.AdditionalProperties):
        return [unknown(where, str(name), tool) for name in kind.unexpected]
    if isinstance(kind, jsonschema_rs.ValidationErrorKind.Required):
        name = str(kind.property)
        return [{"at": pointer([*where, name]), "message": f"{name} is required"}]
    message = error.message
    return [{"at": pointer(where), "message": message if len(message) <= MAX_MESSAGE else message[:MAX_MESSAGE] + "…"}]


def as_given(path: list[str | int], arguments: dict[str, Any], name: str) -> list[str | int]:
    """A body field that was given beside the parameters is named as it was given, without `name` in front."""
    if not path or path[0] != "body":
        return path
    whole = arguments.get(name)
    inside = isinstance(whole, dict) and (len(path) == 1 or path[1] in whole or path[1] not in arguments)
    is_whole = name in arguments and (inside or not isinstance(whole, dict)) and not is_field(path, arguments, name)
    return [name, *path[1:]] if is_whole else path[1:]


def is_field(path: list[str | int], arguments: dict[str, Any], name: str) -> bool:
    """A field with the name of the whole body: `/body/body` was given as `/body`."""
    return len(path) > 1 and path[1] == name and not isinstance(arguments.get(name), dict)


def unknown(where: list[str | int], name: str, tool: Tool) -> Problem:
    known = [] if where else list(tool.input_schema.get("properties", {}))
    close = difflib.get_close_matches(name.lower(), [one.lower() for one in known], 1, 0.6)
    suggestion = next((one for one in known if close and one.lower() == close[0]), "")
    ending = f"; did you mean {suggestion!r}?" if suggestion else (f"; known: {', '.join(known[:12])}" if known else "")
    return {"at": pointer([*where, name]), "message": f"{name[:100]!r} is not an argument here{ending}"}


def pointer(path: Sequence[str | int]) -> str:
    return "".join("/" + str(key).replace("~", "~0").replace("/", "~1") for key in path)[:300]


def invalid_arguments(tool: Tool, found: list[Problem], hint: str) -> ToolError:
    said = "; ".join(f"{one['at']}: {one['message']}" if one["at"] else one["message"] for one in found[:3])
    more = f" (and {len(found) - 3} more)" if len(found) > 3 else ""
    message = f"{tool.path} can't be called with these arguments: {said}{more}"
    return ToolError("invalid_arguments", message, details={"problems": found}, hint=hint)
