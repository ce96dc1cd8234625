"""GraphQL schemas: what calls ask for by themselves, judged by graphql-core and not by what is being checked."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from graphql import (
    GraphQLSchema,
    TypeInfo,
    TypeInfoVisitor,
    Visitor,
    build_client_schema,
    build_schema,
    get_named_type,
    parse,
    validate,
    visit,
)

from executor.errors import ExecutorError
from executor.model.tool import Tool
from executor.sources.graphql.loader import build_catalog
from executor.sources.graphql.request import call_of
from executor.sources.source_request import SourceRequest

ENDPOINT = "https://example.com/graphql"
ENDINGS = (".graphql", ".graphqls", ".gql", ".sdl")
_ROOT = re.compile(rb"^\s*(?:extend\s+)?(?:type\s+(?:Query|Mutation)\b|schema\b[^\n{]*\{)", re.MULTILINE)
# Plainer than what is checked, so that the one does not excuse the other.
_DEMANDS = re.compile(
    r"\[internal\]|\[alpha\]|\[beta\]|requires? (?:one of )?(?:the )?(?:following )?(?:\w+ )?(?:permission|scope)"
    r"|(?:permissions?|scopes?) (?:is|are) required|staff only|admins? only|internal use only",
    re.IGNORECASE,
)


@dataclass
class Schema:
    document: str
    fields: int = 0
    tools: int = 0
    selections: int = 0
    invalid: int = 0
    guarded: int = 0
    deprecated: int = 0
    connections: int = 0
    followed: int = 0
    nested: int = 0
    counted: int = 0
    error: str = ""


def check_schemas(folders: list[Path], as_json: bool, names: bool) -> int:
    found = [check(path, names) for folder in folders for path in schemas_in(folder)]
    total = Schema(f"{len(found)} schemas")
    for one in fields(Schema):
        if one.name not in ("document", "error"):
            setattr(total, one.name, sum(getattr(schema, one.name) for schema in found))
    total.error = "" if all(not one.error for one in found) else f"{sum(bool(one.error) for one in found)} not read"
    for schema in [*found, total]:
        print(json.dumps(asdict(schema)) if as_json else line(schema), flush=True)
    return 0 if found and not (total.invalid or total.guarded or total.deprecated) else 1


def line(one: Schema) -> str:
    if one.error and not one.fields:
        return f"{one.document}: {one.error}"
    return (
        f"{one.document}: {one.fields} root fields, {one.selections} selections ({one.invalid} invalid, "
        f"{one.guarded} with guarded and {one.deprecated} with deprecated fields), "
        f"{one.followed} of {one.connections} connections with .all, {one.nested} things with lists, "
        f"{one.counted} counted lists" + (f"; {one.error}" if one.error else "")
    )


def schemas_in(folder: Path) -> Iterator[Path]:
    for path in [folder] if folder.is_file() else sorted(folder.rglob("*")):
        if path.is_file() and is_schema(path):
            yield path


def is_schema(path: Path) -> bool:
    if path.suffix in ENDINGS:
        return _ROOT.search(path.read_bytes()) is not None
    return path.suffix == ".json" and b'"__schema"' in path.read_bytes()[:5_000]


def check(path: Path, names: bool) -> Schema:
    found = Schema(path.name)
    try:
        request = SourceRequest(namespace="it", base_url=ENDPOINT, location=str(path))
        loaded = build_catalog(request, path.read_bytes(), ENDPOINT, [])
        schema = read(path)
    except (ExecutorError, ValueError, TypeError, KeyError) as error:
        found.error = str(error)[:200]
        return found
    tools = [tool for tool in loaded.tools if tool.binding["type"] in ("query", "mutation")]
    roots = [root for root in (schema.query_type, schema.mutation_type) if root is not None]
    found.fields = sum(len(root.fields) for root in roots)
    found.tools = len(tools)
    for tool in tools:
        judge(found, tool, schema, names)
    lists = {tool.binding["field"]: tool.binding["all"] for tool in tools if "all" in tool.binding}
    wanted = [name for name, one in (schema.query_type.fields if schema.query_type else {}).items() if is_paged(one)]
    found.connections = len(wanted)
    found.followed = sum(name in lists and "nested" not in lists[name] for name in wanted)
    found.nested = sum("nested" in one for one in lists.values())
    found.counted = sum(one["by"] != "cursor" for one in lists.values())
    if names:
        for name in wanted:
            if name not in lists:
                print(f"  no .all: {name}")
    return found


def read(path: Path) -> GraphQLSchema:
    text = path.read_text("utf-8-sig", errors="replace")
    if path.suffix != ".json":
        return build_schema(text, assume_valid=True, assume_valid_sdl=True)
    value = json.loads(text)
    return build_client_schema(value.get("data", value), assume_valid=True)


def is_paged(field: Any) -> bool:
    """Takes a cursor, and answers with the page it is."""
    inner = get_named_type(field.type)
    return "after" in field.args and "pageInfo" in getattr(inner, "fields", {})


def judge(found: Schema, tool: Tool, schema: GraphQLSchema, names: bool) -> None:
    selection = tool.binding["selection"]
    if not selection and "all" in tool.binding:
        return
    needed = {name: None for name, type in tool.binding["arguments"].items() if type.endswith("!")}
    document = parse(call_of(tool, needed, selection).query)
    problems = validate(schema, document)
    seen = Seen(schema)
    visit(document, TypeInfoVisitor(seen.info, seen))
    found.selections += 1
    found.invalid += bool(problems)
    found.guarded += bool(seen.guarded)
    found.deprecated += bool(seen.deprecated)
    if names:
        for one in [*(problem.message for problem in problems), *seen.guarded, *seen.deprecated]:
            print(f"  {tool.path}: {one}")


class Seen(Visitor):
    """The fields below the root field that nobody should be asked for unasked."""

    def __init__(self, schema: GraphQLSchema) -> None:
        super().__init__()
        self.info = TypeInfo(schema)
        self.guarded: list[str] = []
        self.deprecated: list[str] = []
        self._depth = 0

    def enter_field(self, node: Any, *_: Any) -> None:
        self._depth += 1
        field, parent = self.info.get_field_def(), self.info.get_parent_type()
        if field is None or self._depth == 1:
            return
        way = f"{parent.name if parent else '?'}.{node.name.value}"
        if field.deprecation_reason is not None:
            self.deprecated.append(way)
        if _DEMANDS.search(" ".join((field.description or "").split())):
            self.guarded.append(way)

    def leave_field(self, *_: Any) -> None:
        self._depth -= 1
