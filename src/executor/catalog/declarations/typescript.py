"""Tools as ambient TypeScript declarations: what a type checker holds code against."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from executor.catalog.declarations.call_forms import forms
from executor.catalog.declarations.path_tree import Node, tree
from executor.catalog.signatures.escape import comment, key, literal
from executor.catalog.signatures.type_names import Names, pascal
from executor.model.tool import Schema, Tool
from executor.schemas.shapes.arguments import ArgumentShapes
from executor.schemas.shapes.results import ResultShapes
from executor.schemas.shapes.shape import (
    Anything,
    Both,
    Either,
    Field,
    Fields,
    ListOf,
    Named,
    Never,
    OneOf,
    Scalar,
    Shape,
    Table,
    either,
)

MAX_SUMMARY = 160
ARGUMENT_STEPS = 30
RESULT_STEPS = 3
SCALARS = {"string": "string", "number": "number", "boolean": "boolean", "null": "null", "time": "string | Date"}
TAKEN = frozenset({"Promise", "ReadonlyArray", "Date", "Executor", "Tools"})
RESERVED = frozenset(
    {
        "any", "bigint", "boolean", "never", "null", "number", "object", "string", "symbol", "undefined", "unknown",
        "void", "break", "case", "catch", "class", "const", "continue", "debugger", "default", "delete", "do", "else",
        "enum", "export", "extends", "false", "finally", "for", "function", "if", "import", "in", "instanceof", "new",
        "return", "super", "switch", "this", "throw", "true", "try", "typeof", "var", "while", "with", "yield", "let",
        "static", "implements", "interface", "package", "private", "protected", "public", "await", "async", "type",
        "namespace", "module", "declare", "abstract", "as", "asserts", "infer", "is", "keyof", "readonly", "require",
        "global", "of", "get", "set", "unique", "constructor",
    }
)  # fmt: skip
# Every object has these already, and not of the type that a field of that name would have.
INHERITED = frozenset(
    {
        "constructor", "toString", "toLocaleString", "valueOf", "hasOwnProperty", "isPrototypeOf",
        "propertyIsEnumerable", "__proto__",
    }
)  # fmt: skip
OPEN = "[key: string]: any;"
ANY_ARGUMENTS = f"{{ {OPEN} }}"


def typescript_declarations(
    tools: Sequence[Tool], definitions: Mapping[str, Mapping[str, Schema]], *, anything: Iterable[str] = ()
) -> str:
    """`declare const tools`. `definitions` are by source; `anything` names what may be called in any way."""
    return Declarations(definitions).text(tree(tools, anything))


class Declarations:
    def __init__(self, definitions: Mapping[str, Mapping[str, Schema]]) -> None:
        self._definitions = definitions
        self._names = Names(TAKEN | RESERVED)
        self._arguments: dict[str, tuple[ArgumentShapes, Types]] = {}
        self._results: dict[str, tuple[ResultShapes, Types]] = {}

    def text(self, root: Node) -> str:
        written = [self._interface(node) for node in root.walk() if node.below]
        for _, types in [*self._arguments.values(), *self._results.values()]:
            written += types.write_definitions()
        kind = "any" if root.anything else "Executor.Tools" if root.below else "{}"
        return "\n".join(["declare namespace Executor {", *written, "}", f"declare const tools: {kind};", ""])

    def _interface(self, node: Node) -> str:
        lines = [f"interface {self._name(node)} {{"]
        if node.tool is not None:
            lines.append(f"{self._call(node.tool)};")
        return "\n".join([*lines, *(self._member(segment, one) for segment, one in node.below.items()), "}"])

    def _member(self, segment: str, node: Node) -> str:
        name = literal(segment) if segment in RESERVED else key(segment)
        if node.anything:
            return f"{name}: any;"
        note = f"/** {comment(node.tool.description, MAX_SUMMARY)} */ " if node.tool is not None else ""
        if node.tool is not None and not node.below:
            return f"{note}{name}{self._call(node.tool)};"
        return f"{note}{name}: {self._name(node)};"

    def _name(self, node: Node) -> str:
        return self._names.of(("node", node.path), node.path.replace(".", "_")) if node.path else "Tools"

    def _call(self, tool: Tool) -> str:
        """`(args: …): Promise<…>`"""
        accepting, arguments = self._accepting(tool)
        shapes = forms(tool, accepting)
        given = arguments.write(either(shapes))
        needed = "" if not any(accepting.needs_nothing(shape) for shape in shapes) else "?"
        giving, results = self._giving(tool)
        result = "any" if tool.output_schema is None else results.write(giving.read(tool.output_schema))
        return f"(args{needed}: {ANY_ARGUMENTS if given == 'unknown' else given}): Promise<{result}>"

    def _accepting(self, tool: Tool) -> tuple[ArgumentShapes, Types]:
        if tool.source_id not in self._arguments:
            reader = ArgumentShapes(self._definitions.get(tool.source_id, {}))
            self._arguments[tool.source_id] = reader, Types(reader, self._names, "", "unknown", ARGUMENT_STEPS)
        return self._arguments[tool.source_id]

    def _giving(self, tool: Tool) -> tuple[ResultShapes, Types]:
        if tool.source_id not in self._results:
            reader = ResultShapes(self._definitions.get(tool.source_id, {}))
            self._results[tool.source_id] = reader, Types(reader, self._names, "Result", "any", RESULT_STEPS)
        return self._results[tool.source_id]


class Reader(Protocol):
    def definition(self, name: str) -> Shape: ...


class Types:
    """Shapes of one source as types; definitions get names as far as `steps` references away."""

    def __init__(self, reader: Reader, names: Names, ending: str, anything: str, steps: int) -> None:
        self._reader = reader
        self._names = names
        self._ending = ending
        self._anything = anything
        self._steps = steps
        self._level = 0
        self._levels: dict[str, int] = {}
        self._written = 0

    def write_definitions(self) -> list[str]:
        """`type Name = …;` for each definition that was named, and for those that these name in turn."""
        lines = []
        while self._written < len(self._levels):
            definition = list(self._levels)[self._written]
            self._written += 1
            self._level = self._levels[definition]
            lines.append(f"type {self._name(definition)} = {self.write(self._reader.definition(definition))};")
        return lines

    def write(self, shape: Shape) -> str:
        match shape:
            case Anything():
                return self._anything
            case Never():
                return "never"
            case Scalar(kind):
                return SCALARS[kind]
            case OneOf(values):
                return " | ".join(dict.fromkeys(literal(value) for value in values))
            case ListOf(item):
                inner = self.write(item)
                return f"ReadonlyArray<{inner}>" if self._anything == "unknown" else f"Array<{inner}>"
            case Table(value):
                return f"{{ [key: string]: {self.write(value)}; }}"
            case Named(definition):
                return self._name_definition(definition)
            case Either(parts):
                return " | ".join(dict.fromkeys(self.write(part) for part in parts))
            case Both(parts):
                return " & ".join(dict.fromkeys(self._write_group(part) for part in parts))
            case Fields():
                return self._object(shape)

    def _write_group(self, shape: Shape) -> str:
        written = self.write(shape)
        return f"({written})" if isinstance(shape, Either | OneOf | Scalar) and " | " in written else written

    def _object(self, shape: Fields) -> str:
        if not shape.fields:
            return ANY_ARGUMENTS if shape.open else "{ [key: string]: never; }"
        fields = [self._field(one) for one in shape.fields]
        return f"{{ {' '.join([*fields, OPEN] if shape.open else fields)} }}"

    def _field(self, field: Field) -> str:
        if field.required:
            return f"{key(field.name)}: {self.write(field.shape)};"
        return f"{key(field.name)}?: {'any' if field.name in INHERITED else self.write(field.shape)};"

    def _name_definition(self, definition: str) -> str:
        if definition not in self._levels:
            if self._level >= self._steps:
                return self._anything
            self._levels[definition] = self._level + 1
        return self._name(definition)

    def _name(self, definition: str) -> str:
        return self._names.of((id(self), definition), pascal(definition)[:50] + self._ending)
