"""`async def name(*, …) -> …`, valid Python as it stands."""

from __future__ import annotations

from executor.catalog.calls import MAX_SUMMARY, Call, Part, fitting, is_composed, shown
from executor.catalog.declared_python_types import is_word
from executor.catalog.naming import pascal
from executor.catalog.python_types import PythonTypes
from executor.catalog.text import comment
from executor.catalog.typescript import Types
from executor.model.tool import Tool


def call(tool: Tool, types: Types, budget: int, part: Part = "") -> Call:
    last = tool.path.rpartition(".")[2]
    if isinstance(types, PythonTypes):
        types.starting(last)
    given, left = ("**arguments: Any", 0) if part == "result" else parameters(tool, types, budget)
    before = len(types.waiting)
    result = "Any" if tool.output_schema is None or part == "arguments" else types.render(tool.output_schema)
    is_large = len(result) > budget
    if is_large:
        result = "dict"
        del types.waiting[before:]
    note = comment(tool.description, MAX_SUMMARY).replace("\\", "/").replace('"', "'")
    about = f'    """{note}{" (deprecated)" if tool.deprecated else ""}"""'
    name = last if is_word(last) else "call"
    return Call(f"# await tools.{tool.path}(…)\nasync def {name}({given}) -> {result}:\n{about}", left, is_large)


def parameters(tool: Tool, types: Types, budget: int) -> tuple[str, int]:
    """Keywords; or one dict, where a name can't be written as a keyword."""
    properties, required = shown(tool, types.definitions)
    if not isinstance(types, PythonTypes) or (not properties and not is_composed(tool)):
        return "", 0
    if not properties or not all(is_word(name) and not name.startswith("__") for name in properties):
        schema = {**tool.input_schema, "properties": properties} if properties else tool.input_schema
        return f"args: {types.whole(schema, pascal(tool.path.rpartition('.')[2]) + 'Arguments')}", 0
    fields = [types.parameter(name, part, name in required) for name, part in properties.items()]
    fitted, left = fitting(fields, len(required), budget)
    if not any(note for _, note in fitted) and not left and sum(len(one) for one, _ in fitted) <= 90:
        return ", ".join(["*", *(written.rstrip(",") for written, _ in fitted)]), 0
    lines = [f"    {written}{f'  # {note}' if note else ''}" for written, note in fitted]
    lines += [f"    # {left} more"] if left else []
    return "\n".join(["", "    *,", *lines, ""]), left
