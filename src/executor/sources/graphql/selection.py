"""Which fields a call asks for when it doesn't choose, and the JSON Schema of what comes back.

A type is seen at a level. At level 0 it shows its first few plain fields; above, most plain fields, and the objects it
points at by level 0. A type that only wraps others (a connection, an edge, the payload of a mutation) hands its level
less one down instead, so that what it wraps is seen in full. Every view is a definition, made once.
"""

from __future__ import annotations

from dataclasses import dataclass

from executor.model.tool import Schema
from executor.sources.graphql.outline import Field, NamedType, Outline, inner_name, is_list
from executor.sources.graphql.schemas import Schemas, described, reference, summary, typed

TOP = 3
FULL_LEAVES = 30
BRIEF_LEAVES = 8
MEMBER_LEAVES = 12
MAX_OBJECTS = 8
MAX_WRAPPED = 4
MAX_MEMBERS = 12
MAX_TEXT = 6_000
WRAPPERS = ("Connection", "Edge", "Payload")
TELLING = ("id", "name", "title", "login", "slug", "key", "number", "state", "status", "url", "email", "createdAt")
ECHO = "clientMutationId"  # only says what was sent
MAX_NOTE = 80


@dataclass(frozen=True, slots=True)
class View:
    """The text of a selection set, and the schema of an object it selects. No text: there is nothing to select."""

    text: str
    schema: Schema


NOTHING = View("", {})


class Selections:
    def __init__(self, schemas: Schemas) -> None:
        self.outline: Outline = schemas.outline
        self._schemas = schemas
        self._views: dict[str, View] = {}
        self._wrappers: dict[str, bool] = {}

    def default(self, type: str) -> View:
        """For a field of this type."""
        if not self.outline.is_composite(type):
            return View("", typed(type, self._schemas.output_leaf))
        view = self.view(inner_name(type), TOP)
        if not view.text:
            view = self.only_typename(inner_name(type))
        return View(view.text, typed(type, lambda _: view.schema))

    def view(self, name: str, level: int) -> View:
        named = self.outline.types[name]
        level = level if self.is_wrapper(named) else min(level, 1)
        is_whole = level == (TOP if self.is_wrapper(named) else 1)
        label = name if is_whole else f"{name}.{level or 'brief'}"
        if label not in self._views:
            self._views[label] = NOTHING  # while it is being made: a wrapper of itself is left out
            made = self.made(named, level, label)
            too_long = level and len(made.text) > MAX_TEXT
            self._views[label] = self.view(name, level - 1) if too_long else made
        return self._views[label]

    def made(self, named: NamedType, level: int, label: str) -> View:
        if named.kind == "object":
            text, schema = self.object_view(named, level)
        else:
            text, schema = self.abstract_view(named, level)
        if not text:
            return NOTHING
        self._schemas.definitions[label] = schema
        return View(f"{{{text}}}", reference(label))

    def only_typename(self, name: str) -> View:
        self._schemas.definitions[f"{name}.empty"] = object_schema({"__typename": {"type": "string"}})
        return View("{__typename}", reference(f"{name}.empty"))

    def object_view(self, named: NamedType, level: int) -> tuple[str, Schema]:
        leaves = {field.name for field in self.leaves(named, FULL_LEAVES if level else BRIEF_LEAVES)}
        child = level - 1 if self.is_wrapper(named) else 0
        objects = self.objects(named) if level else []
        views = {field.name: view for field in objects if (view := self.view(inner_name(field.type), child)).text}
        chosen = [field for field in named.fields.values() if field.name in leaves or field.name in views]
        text = " ".join(field.name + views.get(field.name, NOTHING).text for field in chosen)
        return text, object_schema({field.name: self.property(field, views, level) for field in chosen})

    def property(self, field: Field, views: dict[str, View], level: int) -> Schema:
        view = views.get(field.name)
        schema = typed(field.type, self._schemas.output_leaf if view is None else lambda _: view.schema)
        return described(schema, summary(field.description, MAX_NOTE)) if level else schema

    def leaves(self, named: NamedType, limit: int) -> list[Field]:
        found = [
            field
            for field in named.fields.values()
            if not (field.deprecated or field.needs_arguments or self.outline.is_composite(field.type))
            and (field.name != ECHO or len(named.fields) == 1)
        ]
        if len(found) <= limit:
            return found
        rank = {name: number for number, name in enumerate(TELLING)}
        return sorted(found, key=lambda field: rank.get(field.name, len(rank)))[:limit]

    def objects(self, named: NamedType) -> list[Field]:
        """Single objects before lists; never pages of things inside things, which most services want bounded."""
        found = [
            field
            for field in named.fields.values()
            if not (field.deprecated or field.needs_arguments)
            and self.outline.is_composite(field.type)
            and (self.is_wrapper(named) or not self.is_connection(field.type))
        ]
        if self.is_connection(named.name):
            has_nodes = any(field.name == "nodes" for field in found)
            found = [field for field in found if not (field.name == "edges" and has_nodes)]
        return sorted(found, key=lambda field: is_list(field.type))[:MAX_OBJECTS]

    def is_connection(self, type: str) -> bool:
        name = inner_name(type)
        fields = self.outline.types[name].fields
        return name.endswith("Connection") and ("edges" in fields or "nodes" in fields)

    def is_wrapper(self, named: NamedType) -> bool:
        if named.name not in self._wrappers:
            self._wrappers[named.name] = named.kind == "object" and self.wraps(named)
        return self._wrappers[named.name]

    def wraps(self, named: NamedType) -> bool:
        objects = [field for field in named.fields.values() if self.outline.is_composite(field.type)]
        leaves = len(named.fields) - len(objects)
        few = leaves <= 2 and len(objects) <= MAX_WRAPPED and "id" not in named.fields
        return bool(objects) and (few or (named.name.endswith(WRAPPERS) and len(objects) <= MAX_OBJECTS))

    def abstract_view(self, named: NamedType, level: int) -> tuple[str, Schema]:
        """Fields of the interface itself, then those of each possible type in an inline fragment."""
        common_text, common = self.object_view(named, level)
        members = self.outline.possible(named.name)
        if named.kind == "interface" and (not level or len(members) > MAX_MEMBERS):
            members = ()
        fragments = Fragments(self, named, common["properties"])
        choices = [
            fragments.add(member, MEMBER_LEAVES if level else BRIEF_LEAVES // 2)
            for member in members[: MAX_MEMBERS if level else MAX_MEMBERS // 2]
        ]
        if len(members) != len(choices) or not choices:
            choices.append(object_schema({"__typename": {"type": "string"}, **common["properties"]}))
        schema = choices[0] if len(choices) == 1 else {"anyOf": choices}
        return " ".join(["__typename", *([common_text] if common_text else []), *fragments.texts]), schema


class Fragments:
    """Inline fragments of one selection set.

    Two types may give one name to different things, which may not stand in one answer: the later one is asked for under
    a name of its own.
    """

    def __init__(self, selections: Selections, owner: NamedType, common: dict[str, Schema]) -> None:
        self.texts: list[str] = []
        self._selections = selections
        self._common = common
        self._shapes = {name: owner.fields[name].type for name in common}

    def add(self, member: str, limit: int) -> Schema:
        named = self._selections.outline.types[member]
        properties: dict[str, Schema] = {"__typename": {"const": member}, **self._common}
        texts = []
        for field in self._selections.leaves(named, limit):
            alias = self.alias(field, member)
            if field.name not in self._common and alias:
                texts.append(field.name if alias == field.name else f"{alias}:{field.name}")
                properties[alias] = self._selections.property(field, {}, 0)
        if texts:
            self.texts.append(f"...on {member}{{{' '.join(texts)}}}")
        return object_schema(properties)

    def alias(self, field: Field, member: str) -> str:
        names = (field.name, f"{field.name}_{member}")
        return next((name for name in names if self._shapes.setdefault(name, field.type) == field.type), "")


def object_schema(properties: dict[str, Schema]) -> Schema:
    """Everything that is selected is there; what may be null says so."""
    return {"type": "object", "properties": properties, "required": list(properties)}
