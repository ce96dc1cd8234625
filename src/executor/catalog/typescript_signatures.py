"""`tools.path(args: …): Promise<…>`"""

from __future__ import annotations

from executor.catalog.calls import MAX_SUMMARY, Call, Part, fitting, is_composed, shown
from executor.catalog.text import comment
from executor.catalog.typescript import Types, braced
from executor.model.tool import Tool


def call(tool: Tool, types: Types, budget: int, part: Part = "") -> Call:
    given, left = ("…", 0) if part == "result" else arguments(tool, types, budget)
    before = len(types.waiting)
    result = "unknown" if tool.output_schema is None or part == "arguments" else types.render(tool.output_schema)
    is_large = len(result) > budget
    if is_large:
        result = "object /* large */"
        del types.waiting[before:]
    note = f"/** {comment(tool.description, MAX_SUMMARY)}{' (deprecated)' if tool.deprecated else ''} */\n"
    return Call(f"{note}tools.{tool.path}({given}): Promise<{result}>", left, is_large)


def arguments(tool: Tool, types: Types, budget: int) -> tuple[str, int]:
    properties, required = shown(tool, types.definitions)
    if not properties:
        return (f"args: {types.render({'type': 'object', **tool.input_schema})}", 0) if is_composed(tool) else ("", 0)
    fields = [types.field(name, part, name in required, 0) for name, part in properties.items()]
    fitted, left = fitting(fields, len(required), budget)
    if left:
        fitted = [*fitted, (f"/* {left} more */", "")]
    return f"args{'' if required else '?'}: {braced(fitted, 0)}", left
