"""Tools from an outline: one per field of the query and mutation types, and a few for documents of one's own."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from executor.model.tool import ALL, Effect, Schema, Skipped, Tool
from executor.schemas.references import names_in
from executor.sources.documents.threads import Abandoned, Stopped, never
from executor.sources.graphql.pagination.lists import BACKWARD, list_of, node_of, way_of
from executor.sources.graphql.schema.outline import Argument, Field, Outline, inner_name
from executor.sources.graphql.schemas import Schemas, summary
from executor.sources.graphql.selection import Selections
from executor.sources.graphql.storage_format import GraphQLBinding, binding_of
from executor.sources.pagination.all_tool import all_input, all_output
from executor.sources.pagination.page_scheme import PageScheme
from executor.sources.tool_names import MAX_LENGTH, TAKEN, short_hash, unique

MAX_DESCRIPTION = 1_000
MAX_TOOLS = 20_000
SHOWN_LISTS = 40
TELLING = ("id", "title", "name", "login", "number", "key")
ECHOES = ("clientMutationId", "lastSyncId")
OPERATIONS = ("query", "mutation")
RAW = "graphql"
DESTRUCTIVE = frozenset(
    {"delete", "remove", "destroy", "purge", "erase", "wipe", "drop", "truncate", "revoke", "terminate", "uninstall"}
)
NO_SUBSCRIPTIONS = "a call has one answer; look for a query that returns the same data"


class Reader:
    def __init__(
        self, outline: Outline, namespace: str, given_names: Mapping[str, str], stopped: Stopped = never
    ) -> None:
        self.outline = outline
        self._stopped = stopped
        self.skipped: list[Skipped] = []
        self._namespace = namespace
        self._given = given_names
        self._schemas = Schemas(outline)
        self._selections = Selections(self._schemas)

    def tools(self, *, raw: bool = True) -> list[Tool]:
        found = [tool for operation in OPERATIONS for tool in self.of_root(operation)]
        if count := len(self.fields_of("subscription")):
            said = f"{count:,} {'subscription is' if count == 1 else 'subscriptions are'} left out: {NO_SUBSCRIPTIONS}"
            self.skipped.append(Skipped("subscription", said))
        return [*found, *(self.raw_tools() if raw and found else [])]

    def definitions(self, tools: list[Tool]) -> dict[str, Schema]:
        """Only what the tools reach."""
        reached: dict[str, Schema] = {}
        wanted = names_in(*(part for tool in tools for part in (tool.input_schema, tool.output_schema)))
        while wanted:
            reached |= {name: self._schemas.definitions[name] for name in wanted}
            wanted = names_in(*(reached[name] for name in wanted)) - reached.keys()
        return reached

    def fields_of(self, operation: str) -> dict[str, Field]:
        root = self.outline.roots.get(operation)
        return self.outline.types[root].fields if root else {}

    def of_root(self, operation: str) -> list[Tool]:
        fields = self.fields_of(operation)
        names = tool_names(operation, list(fields), self._given)
        kept = list(fields.values())[:MAX_TOOLS]
        if len(fields) > MAX_TOOLS:
            self.skipped.append(
                Skipped(f"{operation}.…", f"it has {len(fields):,} fields; the first {MAX_TOOLS:,} are used")
            )
        found = []
        for field in kept:
            tool = self.tool(operation, field, names[field.name])
            whole = self.all_pages(tool, field) if operation == "query" else None
            found += [tool] if whole is None else [tool, whole]
        return found

    def tool(self, operation: str, field: Field, name: str) -> Tool:
        if self._stopped():
            raise Abandoned
        view = self._selections.default(field.type)
        schema = self._schemas.arguments(field.arguments)
        choosing = select_name(field.arguments) if view.text else ""
        if choosing:
            schema["properties"][choosing] = {"type": "string", "description": self.select_note(field)}
        binding: GraphQLBinding = {
            "operation": f"{operation}.{field.name}",
            "type": "mutation" if operation == "mutation" else "query",
            "field": field.name,
            "arguments": {one.name: one.type for one in field.arguments},
            "selection": view.text,
            "select": choosing,
        }
        return Tool(
            path=f"{self._namespace}.{operation}.{name}",
            source_id="",
            description=self.description(operation, field),
            effect=effect(operation, field.name),
            input_schema=schema,
            output_schema=view.schema,
            binding={**binding},
            tags=(operation, inner_name(field.type)),
            deprecated=field.deprecated,
        )

    def all_pages(self, tool: Tool, field: Field) -> Tool | None:
        """The tool that reads every page, if the field gives a list or holds lists."""
        found = list_of(field, self._selections)
        choosing = binding_of(tool)["select"]
        if found is None or not choosing:
            return None
        shown = all_input({**tool.input_schema, "required": required_in(tool, found.paging)}, found.paging)
        if shown is None:
            return None
        properties = {name: one for name, one in shown["properties"].items() if name not in BACKWARD}
        properties[choosing] = {"type": "string", "description": self.all_note(field, found.paging)}
        if "nested" in found.paging:
            shown["required"] = [*shown.get("required", []), choosing]
        return replace(
            tool,
            path=f"{tool.path}{ALL}",
            description=f"All pages of {tool.path}: {tool.description}"[:MAX_DESCRIPTION],
            input_schema={**shown, "properties": properties},
            output_schema=all_output(found.items),
            binding={**tool.binding, "selection": found.selection, "all": found.paging},
        )

    def all_note(self, field: Field, paging: PageScheme) -> str:
        named = self.outline.types[inner_name(field.type)]
        if "nested" in paging:
            names = list(paging["nested"])
            inner = self.outline.types[inner_name(named.fields[names[0]].type)]
            fields = self.example(inner_name(node_of(inner, self.outline)))
            more = f", … ({len(names)} in all)" if len(names) > SHOWN_LISTS else ""
            which = ", ".join(names[:SHOWN_LISTS])
            return f"`{{ {names[0]} {fields} }}`: one list, with the fields of each item; lists: {which}{more}"
        if paging["by"] != "cursor":
            return self.select_note(field)
        name = inner_name(node_of(named, self.outline))
        return f"`{self.example(name)}`: fields of each {name}; default: those of the result type"

    def description(self, operation: str, field: Field) -> str:
        text = field.description or self.outline.types[inner_name(field.type)].description
        return summary(text, MAX_DESCRIPTION) or f"The {operation} {field.name}, which returns {field.type}."

    def select_note(self, field: Field) -> str:
        name = inner_name(field.type)
        return f"`{self.example(name)}`: fields of {name} to return; default: those of the result type"

    def example(self, name: str, depth: int = 2) -> str:
        named = self.outline.types[name]
        if self._selections.is_connection(name) and depth == 2:
            items = self.example(inner_name(node_of(named, self.outline) or "String"), 1)
            way = f"nodes {items}" if way_of(named) == "nodes" else f"edges {{ node {items} }}"
            return f"{{ {way} pageInfo {{ hasNextPage endCursor }} }}"
        leaves = [one.name for one in self._selections.leaves(named, 12) if one.name not in ECHOES]
        leaves = sorted(leaves, key=lambda one: TELLING.index(one) if one in TELLING else len(TELLING))[:2]
        inside = next(iter(self._selections.objects(named)), None)
        if inside and depth and (not leaves or self._selections.is_wrapper(named)):
            return f"{{ {inside.name} {self.example(inner_name(inside.type), depth - 1)} }}"
        return f"{{ {' '.join(leaves or ['__typename'])} }}"

    def raw_tools(self) -> list[Tool]:
        found = [self.raw("query", "read", "Send a GraphQL document with queries only.")]
        if self.fields_of("mutation"):
            found.append(self.raw("mutate", "destructive", "Send a GraphQL document with mutations."))
        return [*found, self.describing()]

    def describing(self) -> Tool:
        properties = {"name": {"type": "string", "description": "a type such as `Query`"}}
        return Tool(
            path=f"{self._namespace}.{RAW}.type",
            source_id="",
            description="Fields and arguments of a type, in GraphQL's schema language: what `select` can choose from.",
            effect="read",
            input_schema={
                "type": "object",
                "properties": properties,
                "required": ["name"],
                "additionalProperties": False,
            },
            output_schema={"type": "string"},
            binding={"operation": f"{RAW}.type", "type": "describe"},
            tags=(RAW,),
        )

    def raw(self, name: str, effect: Effect, description: str) -> Tool:
        schema: Schema = {
            "type": "object",
            "properties": {
                "query": {"type": "string", "description": "the document; values belong in `variables`"},
                "variables": {"type": "object"},
                "operationName": {"type": "string", "description": "which operation, if there are several"},
            },
            "required": ["query"],
            "additionalProperties": False,
        }
        binding: GraphQLBinding = {"operation": f"{RAW}.{name}", "type": "raw", "mutations": name == "mutate"}
        path = f"{self._namespace}.{RAW}.{name}"
        return Tool(path, "", description, effect, schema, {"type": "object"}, {**binding}, tags=(RAW,))


def required_in(tool: Tool, paging: PageScheme) -> list[str]:
    """The size of a page is set automatically."""
    return [name for name in tool.input_schema.get("required", []) if name not in paging.get("size", {})]


def select_name(arguments: tuple[Argument, ...]) -> str:
    """`select`, unless the field has an argument of that name: what is the service's keeps its name."""
    taken = {one.name for one in arguments}
    wanted = ("select", *(f"selectFields{'_' * n}" for n in range(len(taken) + 1)))
    return next(name for name in wanted if name not in taken)


def effect(operation: str, name: str) -> Effect:
    if operation == "query":
        return "read"
    words = {word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)}
    return "destructive" if words & DESTRUCTIVE else "write"


def tool_names(operation: str, fields: list[str], given: Mapping[str, str]) -> dict[str, str]:
    """Those that were given before stay; others are the fields' own names where these can be used."""
    kept = {name: before for name in fields if (before := kept_name(operation, name, given))}
    taken = {name.lower() for name in kept.values()}
    fresh = [name for name in fields if name not in kept]
    found = dict(zip(fresh, unique([(usable(name), name) for name in fresh]), strict=True))
    clashing = {name: f"{found[name]}_{short_hash(name, 8)}" for name in fresh if found[name].lower() in taken}
    return {**kept, **found, **clashing}


def kept_name(operation: str, name: str, given: Mapping[str, str]) -> str:
    group, _, before = given.get(f"{operation}.{name}", "").removesuffix(ALL).partition(".")
    return before if group == operation and re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", before) else ""


def usable(name: str) -> str:
    plain = name.strip("_") if name.startswith("_") else name
    plain = plain if plain[:1].isalpha() else f"field{plain}"
    if len(plain) > MAX_LENGTH:
        plain = f"{plain[: MAX_LENGTH - 9]}_{short_hash(name, 8)}"
    return f"{plain}_" if plain in TAKEN else plain
