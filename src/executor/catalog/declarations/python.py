"""Tools as Python stubs: what the type checker holds code against."""

from __future__ import annotations

import builtins
import keyword
from collections.abc import Iterable, Mapping, Sequence

from executor.catalog.declarations.call_forms import forms
from executor.catalog.declarations.path_tree import Node, tree
from executor.catalog.declarations.python_types import ANY_OBJECT, Types, is_word, result
from executor.catalog.signatures.type_names import Names, pascal
from executor.model.tool import Schema, Tool
from executor.schemas.shapes.arguments import ArgumentShapes
from executor.schemas.shapes.results import ResultShapes
from executor.schemas.shapes.shape import ANYTHING, Field, Fields, Shape, either

HEAD = """from __future__ import annotations
from collections.abc import Mapping, Sequence
from executor_sandbox import Call, Group
from typing import Any, Literal, Required, TypeAlias, TypedDict, overload
"""
TAKEN = frozenset(
    {
        *keyword.kwlist, *keyword.softkwlist, *dir(builtins), "Any", "Call", "Group", "Literal", "Mapping", "Required",
        "Sequence", "Tools", "TypeAlias", "TypedDict", "annotations", "overload", "tools",
    }
)  # fmt: skip


def python_declarations(
    tools: Sequence[Tool], definitions: Mapping[str, Mapping[str, Schema]], *, anything: Iterable[str] = ()
) -> str:
    """A stub with `tools`. `definitions` are by source; `anything` names what may be called in any way."""
    root = tree(tools, anything)
    segments = {segment for node in root.walk() for segment in node.below}
    return Declarations(definitions, Names(TAKEN | segments)).text(root)


class Declarations:
    def __init__(self, definitions: Mapping[str, Mapping[str, Schema]], names: Names) -> None:
        self._definitions = definitions
        self._names = names
        self._readers: dict[str, tuple[ArgumentShapes, Types, ResultShapes]] = {}

    def text(self, root: Node) -> str:
        nodes = [line for node in root.walk() if not node.anything for line in self._node(node)]
        types = [line for _, one, _ in self._readers.values() for line in one.write_definitions()]
        return "\n".join([HEAD, *types, *nodes, f"tools: {'Any' if root.anything else 'Tools'}", ""])

    def _node(self, node: Node) -> list[str]:
        """Names below a tool must not hide what its types need: then the call is a class of its own."""
        name = self._name(node)
        if node.tool is not None and not node.below:
            return self._call(node.tool, name)
        call = f"{name}_call" if node.tool is not None else ""
        members = [
            f"    {segment}: {'Any' if one.anything else self._name(one)}"
            for segment, one in node.below.items()
            if is_word(segment)
        ]
        lines = self._call(node.tool, call) if node.tool is not None else []
        return [*lines, f"class {name}({f'{call}, ' if call else ''}Group):", *(members or ["    pass"])]

    def _name(self, node: Node) -> str:
        return self._names.of(("node", node.path), f"tools_{node.path.replace('.', '_')}") if node.path else "Tools"

    def _call(self, tool: Tool, name: str) -> list[str]:
        accepting, types, giving = self._of(tool)
        given = "Any" if tool.output_schema is None else result(giving.read(tool.output_schema), giving)
        ways = call_forms(tool, accepting, types)
        lines = [f"class {name}:"]
        for way in ways:
            lines += ["    @overload"] if len(ways) > 1 else []
            lines.append(f"    def __call__(_self, {way}) -> Call[{given}]: ...")
        return lines

    def _of(self, tool: Tool) -> tuple[ArgumentShapes, Types, ResultShapes]:
        if tool.source_id not in self._readers:
            known = self._definitions.get(tool.source_id, {})
            accepting = ArgumentShapes(known)
            self._readers[tool.source_id] = accepting, Types(accepting, self._names), ResultShapes(known)
        return self._readers[tool.source_id]


def call_forms(tool: Tool, accepting: ArgumentShapes, types: Types) -> list[str]:
    """The parameters of each way to call: with keywords, or with one dict."""
    shapes = forms(tool, accepting)
    known = [one for one in (types.fields(shape) for shape in shapes) if one is not None]
    if len(known) < len(shapes):
        return [f"args: {ANY_OBJECT} = ..., /, **more: Any"]
    hint = pascal(tool.path.partition(".")[2] or tool.path)
    whole = types.write(dict_form(known), f"{hint}Arguments")
    optional = " = ..." if any(accepting.needs_nothing(shape) for shape in shapes) else ""
    return [*dict.fromkeys(keywords(one, types, hint) for one in reversed(known)), f"args: {whole}{optional}, /"]


def keywords(shape: Fields, types: Types, hint: str) -> str:
    """Names that Python can't write may still come from `**`."""
    words = [one for one in shape.fields if is_word(one.name) and not one.name.startswith("__")]
    words = [one for one in words if one.name not in ("_self", "more")]
    parameters = [
        f"{one.name}: {types.write(one.shape, hint + pascal(one.name))}{'' if one.required else ' = ...'}"
        for one in sorted(words, key=lambda one: not one.required)
    ]
    if shape.open or len(words) < len(shape.fields):
        parameters.append("**more: Any")
    star = ["*"] if words else []
    return ", ".join(["/", *star, *parameters])


def dict_form(known: list[Fields]) -> Fields:
    """One dict for all ways: only what each demands is required; another way may fill in what one leaves open."""
    if len(known) == 1:
        return known[0]
    required = set.intersection(*({one.name for one in each.fields if one.required} for each in known))
    shapes: dict[str, list[Shape]] = {}
    for each in known:
        for one in each.fields:
            shapes.setdefault(one.name, []).append(one.shape)
    typed = {name: [part for part in parts if part != ANYTHING] or parts for name, parts in shapes.items()}
    fields = (Field(name, either(parts), name in required) for name, parts in typed.items())
    return Fields(tuple(fields), any(each.open for each in known))
