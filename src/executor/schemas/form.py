"""Forms: the flat part of JSON Schema in which an MCP server may ask a person for input, and answers to them.

The protocol allows one object of texts, numbers, yes-or-no values and choices. Anything else is refused: a person can't
answer what can't be shown completely.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any, Literal, cast

from executor.dataclass import dataclass
from executor.errors import InvalidRequest
from executor.model.tool import Schema

if TYPE_CHECKING:
    import jsonschema_rs

FieldKind = Literal["text", "integer", "number", "boolean", "choice", "choices"]

MAX_BYTES = 64_000  # of a schema, and of an answer
MAX_FIELDS = 50
MAX_OPTIONS = 200
MAX_NUMBER = 2**53  # as a limit; beyond it, numbers are not exact everywhere
MAX_TEXT = 2_000  # characters of a title, a description, a name or an option
FORMATS = ("email", "uri", "date", "date-time")
KINDS: dict[str, FieldKind] = {"string": "text", "integer": "integer", "number": "number", "boolean": "boolean"}
LIMITS: dict[FieldKind, tuple[str, ...]] = {
    "text": ("minLength", "maxLength"),
    "integer": ("minimum", "maximum"),
    "number": ("minimum", "maximum"),
    "choices": ("minItems", "maxItems"),
}
SAID = frozenset({"type", "title", "description", "default"})
KNOWN = SAID | {"format", "enum", "enumNames", "oneOf", "items", "minLength", "maxLength", "minimum", "maximum",
                "minItems", "maxItems"}  # fmt: skip
# Words of JSON Schema that would change what is valid. Words that it does not know say nothing, and are left out.
FORBIDDEN = frozenset({"$ref", "$dynamicRef", "allOf", "anyOf", "not", "if", "then", "else", "const", "pattern",
                       "properties", "patternProperties", "additionalProperties", "prefixItems", "contains",
                       "uniqueItems", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"})  # fmt: skip
ROOT_FORBIDDEN = FORBIDDEN - {"properties", "additionalProperties"}
_SECRET = re.compile(
    r"pass ?(?:word|wd|phrase|code)|secret|token|api ?key|private ?key|access ?key|credential|\bpin\b|\bcvv\b|\bcvc\b"
    r"|card ?number|\bssn\b|social security|one ?time ?(?:code|password)|\botp\b|verification ?code|seed ?phrase"
)
_WORDS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[_\-.\s]+")


@dataclass(frozen=True, slots=True)
class Option:
    value: str
    title: str


@dataclass(frozen=True, slots=True)
class Field:
    """`limits` are the keywords of JSON Schema that bound it. `default` is None unless a valid one is given."""

    name: str
    kind: FieldKind
    title: str = ""
    description: str = ""
    required: bool = False
    format: str = ""
    options: tuple[Option, ...] = ()
    limits: Mapping[str, float] = field(default_factory=dict)
    default: Any = None

    @property
    def looks_secret(self) -> bool:
        """By its labels: what must not be typed into a form that its server reads."""
        words = (" ".join(_WORDS.split(text)).lower() for text in (self.name, self.title))
        return any(_SECRET.search(text) for text in words)


def read_form(schema: Any) -> tuple[Field, ...]:
    """Raises InvalidRequest if the protocol does not allow such a schema."""
    if not isinstance(schema, dict) or schema.get("type") != "object":
        raise refuse('its type must be "object"')
    if len(json.dumps(schema)) > MAX_BYTES:
        raise refuse(f"it has more than {MAX_BYTES} bytes")
    properties, required = schema.get("properties", {}), schema.get("required", [])
    if word := next((word for word in schema if word in ROOT_FORBIDDEN), ""):
        raise refuse(f"it uses {word!r}")
    if not isinstance(properties, dict) or len(properties) > MAX_FIELDS:
        raise refuse(f"`properties` must be an object of at most {MAX_FIELDS} properties")
    if not isinstance(required, list) or not all(isinstance(name, str) and name in properties for name in required):
        raise refuse("`required` must be a list of names in `properties`")
    return tuple(read_field(name, definition, name in required) for name, definition in properties.items())


def read_field(name: str, definition: Any, required: bool) -> Field:
    if not isinstance(definition, dict):
        raise refuse(f"the property {name[:100]!r} is not an object")
    check_text(name, name, "name")
    options = read_options(name, definition)
    kind: FieldKind | None = KINDS.get(str(definition.get("type")))
    if definition.get("type") == "array":
        kind = "choices"
    elif kind == "text" and options:
        kind = "choice"
    if kind is None or (kind == "choices" and not options):
        raise refuse(f"the property {name!r} is not a string, number, integer, boolean or a list of choices")
    allowed = SAID | set(LIMITS.get(kind, ())) | ({"format"} if kind == "text" else set())
    allowed |= {"choice": {"enum", "enumNames", "oneOf"}, "choices": {"items"}}.get(kind, set())
    if word := next((word for word in definition if word in (FORBIDDEN | KNOWN) - allowed), ""):
        raise refuse(f"the property {name!r} uses {word!r}, which such a property can't have")
    read = Field(
        name,
        kind,
        title=check_text(name, definition.get("title", ""), "title"),
        description=check_text(name, definition.get("description", ""), "description"),
        required=required,
        format=read_format(name, definition.get("format", "")),
        options=options,
        limits={word: read_limit(name, word, definition[word]) for word in LIMITS.get(kind, ()) if word in definition},
        default=definition.get("default"),
    )
    return read if is_valid(read, read.default) else without_default(read)


def read_options(name: str, definition: dict[str, Any]) -> tuple[Option, ...]:
    """Values alone (`enum`, older ones with `enumNames`), or each with its title."""
    is_list = definition.get("type") == "array"
    holder = definition.get("items", {}) if is_list else definition
    if not isinstance(holder, dict):
        raise refuse(f"`items` of the property {name!r} is not an object")
    titled = holder.get("oneOf", holder.get("anyOf") if is_list else None)
    if titled is not None:
        given = [one if isinstance(one, dict) else {} for one in as_list(titled)]
        pairs = [(one.get("const"), one.get("title")) for one in given]
    else:
        values, names = as_list(holder.get("enum", [])), holder.get("enumNames")
        titles = values if names is None else as_list(names)
        if len(titles) != len(values):
            raise refuse(f"the property {name!r} has {len(values)} values and {len(titles)} names for them")
        pairs = list(zip(values, titles, strict=True))
    if len(pairs) > MAX_OPTIONS:
        raise refuse(f"the property {name!r} has more than {MAX_OPTIONS} options")
    return tuple(Option(check_text(name, value, "option"), check_text(name, title, "option")) for value, title in pairs)


def as_list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise refuse("options must be a list")
    return value


def read_format(name: str, value: Any) -> str:
    if value and value not in FORMATS:
        raise refuse(f"the property {name!r} has the format {str(value)[:100]!r}; known: {', '.join(FORMATS)}")
    return str(value)


def read_limit(name: str, word: str, value: Any) -> float:
    is_count = word not in ("minimum", "maximum")
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    if not is_number or abs(value) > MAX_NUMBER or (is_count and (value < 0 or value != int(value))):
        raise refuse(f"{word!r} of the property {name!r} is not a number that it can have")
    return cast("float", value)


def check_text(name: str, value: Any, what: str) -> str:
    if not isinstance(value, str) or len(value) > MAX_TEXT:
        raise refuse(f"a {what} of the property {name[:100]!r} is not a text of at most {MAX_TEXT} characters")
    return value


def refuse(why: str) -> InvalidRequest:
    hint = "send one flat object of strings, numbers, booleans and choices"
    return InvalidRequest(f"the requested schema is not allowed in an elicitation: {why}", hint=hint)


# -- answers ----------------------------------------------------------------------------------------------------------


def find_problems(fields: tuple[Field, ...], content: Any) -> list[str]:
    """What keeps an answer from being sent. Values are not repeated: people may have typed what no one should read."""
    if not isinstance(content, dict):
        return ["the answer must be an object"]
    if len(json.dumps(content)) > MAX_BYTES:
        return [f"the answer has more than {MAX_BYTES} bytes"]
    return [describe(error) for error in validator_of(fields).iter_errors(content)]


def describe(error: jsonschema_rs.ValidationError) -> str:
    import jsonschema_rs

    at, kind = list(error.instance_path), error.kind
    if isinstance(kind, jsonschema_rs.ValidationErrorKind.Required):
        return f"{kind.property}: it is required"
    if isinstance(kind, jsonschema_rs.ValidationErrorKind.AdditionalProperties):
        return f"{', '.join(map(str, kind.unexpected))}: not part of this form"
    return f"{at[0]}: {error.message}" if at else error.message


def validator_of(fields: tuple[Field, ...]) -> jsonschema_rs.Draft202012Validator:
    schema = {
        "type": "object",
        "properties": {one.name: schema_of(one) for one in fields},
        "required": [one.name for one in fields if one.required],
        "additionalProperties": False,
    }
    return compile_validator(schema, validate_formats=True, mask="it")


def compile_validator(schema: Schema, **options: Any) -> jsonschema_rs.Draft202012Validator:
    import jsonschema_rs  # for the first form; see docs/decisions/imports-at-first-use.md

    return jsonschema_rs.Draft202012Validator(schema, offline=True, **options)


def schema_of(one: Field) -> Schema:
    values = [option.value for option in one.options]
    if one.kind == "choices":
        return {"type": "array", "items": {"type": "string", "enum": values}, "uniqueItems": True, **one.limits}
    if one.kind == "choice":
        return {"type": "string", "enum": values}
    kind = "string" if one.kind == "text" else one.kind
    return {"type": kind, **one.limits, **({"format": one.format} if one.format else {})}


def is_valid(one: Field, value: Any) -> bool:
    return value is None or compile_validator(schema_of(one)).is_valid(value)


def without_default(one: Field) -> Field:
    return Field(one.name, one.kind, one.title, one.description, one.required, one.format, one.options, one.limits)
