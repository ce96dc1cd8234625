"""Which fields a call asks for when it doesn't choose, and the JSON Schema of what comes back.

A type is seen at a level. At level 0 it shows the few plain fields that matter most; above, most plain fields, and the
objects it points at by level 0. A type that only wraps others (a connection, an edge, the payload of a mutation, an
amount with its tax) hands its level less one down instead, so that what it wraps is seen, too. Every view is a
definition, made once.
"""

from __future__ import annotations

from executor.dataclass import dataclass
from executor.model.tool import Schema
from executor.sources.graphql.relevance import (
    BRIEF,
    LATE,
    MOMENTS,
    SHORT_PAGES,
    UNNAMED,
    is_copy,
    is_selectable,
    leaf_rank,
    object_rank,
)
from executor.sources.graphql.schema.outline import Field, NamedType, Outline, inner_name, is_list
from executor.sources.graphql.schemas import Schemas, add_description, reference, schema_of_type, summary

TOP = 3
BOTTOM = -3
FULL_LEAVES = 24
FEW_LEAVES = 12
BRIEF_LEAVES = 6
BRIEF_ENTITY = 4
MEMBER_LEAVES = 12
MEMBER_OBJECTS = 3
MAX_OBJECTS = 8
FEW_OBJECTS = 5
VALUE_OBJECTS = 2
VALUE_FIELDS = 12
SHORT_PAGE = 10
MAX_WRAPPED = 4
MAX_MEMBERS = 12
MAX_TEXT = 6_000
WRAPPERS = ("Connection", "Edge", "Payload")
ECHO = "clientMutationId"  # only says what was sent
MAX_NOTE = 80
# Types with such fields need no others.
WHOLE = (("hasNextPage", "endCursor"), ("amount", "currency"), ("amount", "currencyCode"))


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
        self._ranks: dict[str, dict[str, int]] = {}
        self._pointers: dict[str, list[Field]] = {}

    def default(self, type: str) -> View:
        """For a field of this type."""
        if not self.outline.is_composite(type):
            return View("", schema_of_type(type, self._schemas.output_leaf))
        view = self.view(inner_name(type), TOP)
        if not view.text:
            view = self.only_typename(inner_name(type))
        return View(view.text, schema_of_type(type, lambda _: view.schema))

    def view(self, name: str, level: int) -> View:
        named = self.outline.types[name]
        top, bottom = TOP if self.is_wrapper(named) else 1, BOTTOM if self.is_opened(named) else 0
        level = min(max(level, bottom), top)
        label = self.label(name, level, top)
        if label not in self._views:
            self._views[label] = NOTHING  # while it is being made: a wrapper of itself is left out
            made = self.build(named, level, label)
            too_long = level > bottom and len(made.text) > MAX_TEXT
            self._views[label] = self.view(name, level - 1) if too_long else made
        return self._views[label]

    def label(self, name: str, level: int, whole: int) -> str:
        if level == whole:
            return name
        return f"{name}.{level if level > 0 else 'brief' if level == 0 else f'brief{-level}'}"

    def build(self, named: NamedType, level: int, label: str) -> View:
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
        leaves = self.leaves(named, FULL_LEAVES if level > 0 else BRIEF_LEAVES)
        views = self.object_views(named, level)
        chosen = [*leaves, *(named.fields[name] for name in views)]
        text = " ".join(field.name + views.get(field.name, NOTHING).text for field in chosen)
        return text, object_schema({field.name: self.property(field, views, level) for field in chosen})

    def object_views(self, named: NamedType, level: int, limit: int = MAX_OBJECTS) -> dict[str, View]:
        """Of the fields that lead to objects, the first that show anything, by name."""
        is_wrapper = self.is_wrapper(named)
        if level <= (BOTTOM if self.is_opened(named) else 0):
            return {}
        limit = limit if level > 0 or is_wrapper else VALUE_OBJECTS
        found: dict[str, View] = {}
        for field in self.objects(named, level):
            if len(found) >= (MAX_OBJECTS if is_wrapper else room_for(field, limit)):
                break
            if self.is_connection(field.type) and not (is_wrapper and level > 0):
                view = self.short_page(field)
            else:
                view = self.view(inner_name(field.type), level - 1 if is_wrapper or level <= 0 else 0)
            if view.text:
                found[field.name] = view
        return found

    def short_page(self, field: Field) -> View:
        """The first few of what is connected, and whether there are more."""
        named = self.outline.types[inner_name(field.type)]
        texts: list[str] = []
        properties: dict[str, Schema] = {}
        for name in ("nodes", "edges", "pageInfo"):
            inside = named.fields.get(name)
            if inside is None or (name == "edges" and texts):
                continue
            view = self.view(inner_name(inside.type), 0)
            if view.text:
                texts.append(name + view.text)
                properties[name] = self.property(inside, {name: view}, 0)
        if not texts:
            return NOTHING
        label = f"{named.name}.short"
        self._schemas.definitions[label] = object_schema(properties)
        return View(f"(first:{SHORT_PAGE}){{{' '.join(texts)}}}", reference(label))

    def property(self, field: Field, views: dict[str, View], level: int) -> Schema:
        view = views.get(field.name)
        schema = schema_of_type(field.type, self._schemas.output_leaf if view is None else lambda _: view.schema)
        return add_description(schema, summary(field.description, MAX_NOTE)) if level else schema

    def leaves(self, named: NamedType, limit: int) -> list[Field]:
        """At most so many plain fields, best first."""
        ranks = self.ranks(named)
        if whole := next((one for one in WHOLE if ranks.keys() >= set(one)), None):
            return [named.fields[name] for name in whole]
        is_entity, few = "id" in named.fields, FEW_LEAVES
        if limit <= BRIEF_LEAVES:
            few = 2
            limit = min(limit, max(BRIEF_ENTITY, sum(rank < BRIEF for rank in ranks.values()))) if is_entity else limit
            ranks = {name: LATE if rank in MOMENTS and is_entity else rank for name, rank in ranks.items()}
        ranked = sorted(ranks, key=ranks.__getitem__)
        return [named.fields[name] for place, name in enumerate(ranked) if place < few or ranks[name] < LATE][:limit]

    def ranks(self, named: NamedType) -> dict[str, int]:
        """Of the plain fields that may be asked for, in the order of the schema."""
        if named.name not in self._ranks:
            self._ranks[named.name] = {
                field.name: leaf_rank(field, self.outline)
                for field in named.fields.values()
                if not self.outline.is_composite(field.type)
                and is_selectable(field, self.outline)
                and not is_copy(field, named)
                and (field.name != ECHO or len(named.fields) == 1)
                and not (field.name == "cursor" and "node" in named.fields)
            }
        return self._ranks[named.name]

    def pointers(self, named: NamedType) -> list[Field]:
        """The fields that lead to objects and may be asked for, best first."""
        if named.name not in self._pointers:
            composite = (field for field in named.fields.values() if self.outline.is_composite(field.type))
            found = [field for field in composite if is_selectable(field, self.outline)]
            self._pointers[named.name] = sorted(found, key=object_rank)
        return self._pointers[named.name]

    def objects(self, named: NamedType, level: int = 1) -> list[Field]:
        """Best first. Pages inside of things only if they are short and say what these are."""
        through = level > 0 and self.is_wrapper(named)
        found = [
            field
            for field in self.pointers(named)
            if (through or not self.is_connection(field.type) or (level > 0 and is_short_page(field)))
            and (level > 0 or field.name == "node" or self.is_value(field.type))
        ]
        if self.is_connection(named.name):
            has_nodes = any(field.name == "nodes" for field in found)
            found = [field for field in found if not (field.name == "edges" and has_nodes)]
        return found

    def is_connection(self, type: str) -> bool:
        name = inner_name(type)
        fields = self.outline.types[name].fields
        return ("edges" in fields or "nodes" in fields) and (name.endswith("Connection") or "pageInfo" in fields)

    def is_wrapper(self, named: NamedType) -> bool:
        if named.name not in self._wrappers:
            self._wrappers[named.name] = named.kind == "object" and self.wraps(named)
        return self._wrappers[named.name]

    def is_opened(self, named: NamedType) -> bool:
        """Whether something of what it holds is seen even where it is itself seen in brief."""
        is_small = "id" not in named.fields and len(named.fields) <= VALUE_FIELDS
        return self.is_wrapper(named) or (named.kind == "object" and is_small)

    def is_value(self, type: str) -> bool:
        """One object that means nothing alone, such as an amount with its currency."""
        named = self.outline.types[inner_name(type)]
        return not is_list(type) and named.kind == "object" and self.is_opened(named)

    def wraps(self, named: NamedType) -> bool:
        objects = [field for field in named.fields.values() if self.outline.is_composite(field.type)]
        leaves = len(named.fields) - len(objects)
        few = leaves <= 2 and len(objects) <= MAX_WRAPPED and "id" not in named.fields
        return bool(objects) and (few or (named.name.endswith(WRAPPERS) and len(objects) <= MAX_OBJECTS))

    def abstract_view(self, named: NamedType, level: int) -> tuple[str, Schema]:
        """Fields of the interface itself, then those of each possible type in an inline fragment."""
        common_text, common = self.object_view(named, level)
        roots = self.outline.roots.values()  # what is behind these are calls of their own
        possible = self.outline.possible(named.name)
        members = tuple(name for name in possible if name not in roots)
        if named.kind == "interface" and (level <= 0 or len(members) > MAX_MEMBERS):
            members = ()
        fragments = Fragments(self, named, common["properties"])
        choices = [fragments.add(member, level) for member in members[: MAX_MEMBERS if level > 0 else MAX_MEMBERS // 2]]
        if len(possible) != len(choices) or not choices:
            choices.append(object_schema({"__typename": {"type": "string"}, **common["properties"]}))
        schema = choices[0] if len(choices) == 1 else {"anyOf": choices}
        return " ".join(["__typename", *([common_text] if common_text else []), *fragments.texts]), schema


class Fragments:
    """Inline fragments of one selection set.

    Two types may use one name for different things, which may not be in one answer: the later one is selected under
    a name of its own.
    """

    def __init__(self, selections: Selections, owner: NamedType, common: dict[str, Schema]) -> None:
        self.texts: list[str] = []
        self._selections = selections
        self._common = common
        self._shapes = {name: owner.fields[name].type for name in common}

    def add(self, member: str, level: int) -> Schema:
        named = self._selections.outline.types[member]
        properties: dict[str, Schema] = {"__typename": {"const": member}, **self._common}
        views = self._selections.object_views(named, 1, MEMBER_OBJECTS) if level > 0 else {}
        leaves = self._selections.leaves(named, MEMBER_LEAVES if level > 0 else BRIEF_LEAVES // 2)
        texts = []
        objects = [field for name in views if object_rank(field := named.fields[name])[0] < UNNAMED]
        for field in (*leaves, *objects):
            alias = self.alias(field, member)
            if field.name not in self._common and alias:
                called = field.name if alias == field.name else f"{alias}:{field.name}"
                texts.append(called + views.get(field.name, NOTHING).text)
                properties[alias] = self._selections.property(field, views, 0)
        if texts:
            self.texts.append(f"...on {member}{{{' '.join(texts)}}}")
        return object_schema(properties)

    def alias(self, field: Field, member: str) -> str:
        names = (field.name, f"{field.name}_{member}")
        return next((name for name in names if self._shapes.setdefault(name, field.type) == field.type), "")


def room_for(field: Field, limit: int) -> int:
    """How many objects there may be before it is left out."""
    rank = object_rank(field)[0]
    return limit if rank < UNNAMED else min(limit, FEW_OBJECTS) if rank < LATE else 1


def is_short_page(field: Field) -> bool:
    return field.name in SHORT_PAGES and any(one.name == "first" and one.type == "Int" for one in field.arguments)


def object_schema(properties: dict[str, Schema]) -> Schema:
    """Everything that is selected is there; what may be null says so."""
    return {"type": "object", "properties": properties, "required": list(properties)}
