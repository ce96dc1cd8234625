"""From functions to tools: the signature gives the schemas, the docstring the description."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from types import ModuleType
from typing import Any, get_type_hints

from pydantic import BaseModel, ConfigDict, TypeAdapter, create_model
from pydantic.errors import PydanticUserError

from executor.errors import DocumentInvalid
from executor.model.digest import digest
from executor.model.source import Loaded
from executor.model.tool import Schema, Skipped, Tool
from executor.schemas.digests import with_digests
from executor.schemas.references import rename_references
from executor.sources.python.decorator import marks_of
from executor.sources.source_request import SourceRequest
from executor.sources.tool_names import identifier

MAX_DESCRIPTION = 4_000
VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


class NotATool(Exception):
    """Why a function can't become one."""


def public_functions(module: ModuleType) -> Iterator[tuple[str, Any]]:
    """What the module defines itself, or what its `__all__` names."""
    named = getattr(module, "__all__", None)
    for name in named if named is not None else vars(module):
        value = getattr(module, name, None)
        own = named is not None or getattr(value, "__module__", "") == module.__name__
        if inspect.isroutine(value) and own and not name.startswith("_"):
            yield name, value


def build(request: SourceRequest, module: ModuleType) -> Loaded:
    namespace = request.namespace or namespace_from(module.__name__)
    tools, skipped = [], []
    definitions: dict[str, Schema] = {}
    for name, function in public_functions(module):
        try:
            tools.append(tool_of(namespace, name, function, request.names, definitions))
        except NotATool as reason:
            skipped.append(Skipped(name, str(reason)))
    if not tools:
        reasons = f"; first reason: {skipped[0].reason}" if skipped else ""
        raise DocumentInvalid(
            f"the module {module.__name__} has no public function that can be a tool",
            hint=f"define functions with type hints in it{reasons}",
        )
    with_digest = with_digests(tools, definitions)
    return Loaded(
        name=request.name or module.__name__,
        namespace=namespace,
        tools=with_digest,
        definitions=definitions,
        skipped=tuple(skipped),
        document_digest=digest(sorted(tool.schema_digest for tool in with_digest)),
        config={"location": request.location, "transport": "in-process"},
    )


def tool_of(namespace: str, name: str, function: Any, names: dict[str, str], definitions: dict[str, Schema]) -> Tool:
    marks = marks_of(function)
    taken = arguments_model(name, function).model_json_schema()
    given = output_schema(function)
    return Tool(
        path=f"{namespace}.{names.get(name) or identifier(marks['name'] or name, 'function')}",
        source_id="",
        description=(inspect.getdoc(function) or f"{name} of {function.__module__}")[:MAX_DESCRIPTION],
        effect=marks["effect"],
        input_schema={**lift_definitions(taken, f"{name}_", definitions), "additionalProperties": False},
        output_schema=lift_definitions(given, f"{name}_result_", definitions) if given else None,
        binding={"operation": name, "function": name},
        idempotent=bool(marks["idempotent"]),
    )


def arguments_model(name: str, function: Any) -> type[BaseModel]:
    """Validates and converts arguments: what is a dataclass or a model in the signature arrives as one."""
    try:
        parameters = inspect.signature(function).parameters.values()
        hints = get_type_hints(function, include_extras=True)
    except (ValueError, TypeError, NameError) as error:
        raise NotATool(f"its signature can't be read: {error}") from error
    fields: dict[str, Any] = {}
    for parameter in parameters:
        if parameter.kind in VARIADIC or parameter.kind is inspect.Parameter.POSITIONAL_ONLY:
            raise NotATool(f"its parameter {parameter.name!r} can't be passed by name")
        default = ... if parameter.default is inspect.Parameter.empty else parameter.default
        fields[parameter.name] = (hints.get(parameter.name, Any), default)
    try:
        model: type[BaseModel] = create_model(name, __config__=ConfigDict(extra="forbid"), **fields)
        model.model_json_schema()
    except (PydanticUserError, NameError, TypeError, ValueError) as error:
        raise NotATool(f"a parameter can't be expressed as JSON: {str(error).splitlines()[0][:200]}") from error
    return model


def result_adapter(function: Any) -> TypeAdapter[Any]:
    try:
        hint = get_type_hints(function, include_extras=True).get("return", Any)
        return TypeAdapter(hint)
    except (PydanticUserError, NameError, TypeError) as error:
        raise NotATool(f"its result can't be expressed as JSON: {str(error).splitlines()[0][:200]}") from error


def output_schema(function: Any) -> dict[str, Any] | None:
    adapter = result_adapter(function)
    try:
        return adapter.json_schema(mode="serialization") or None
    except PydanticUserError as error:
        raise NotATool(f"its result can't be expressed as JSON: {str(error).splitlines()[0][:200]}") from error


def lift_definitions(schema: Schema, prefix: str, definitions: dict[str, Schema]) -> Schema:
    """The schema without its own `$defs`: they join the source's definitions under names that can't clash."""

    def rename(name: str) -> str:
        return prefix + name

    definitions.update({rename(name): rename_references(one, rename) for name, one in schema.get("$defs", {}).items()})
    return dict(rename_references({key: value for key, value in schema.items() if key != "$defs"}, rename))


def namespace_from(module: str) -> str:
    cleaned = "".join(c if c.isascii() and (c.isalnum() or c == "_") else "_" for c in module.lower()).strip("_")
    return (cleaned if cleaned[:1].isalpha() else f"py_{cleaned}")[:63]
