"""From what was submitted to one JavaScript expression that gives an async function, lines and columns kept."""

from __future__ import annotations

import re

from tree_sitter import Node

from executor.runtime.javascript.blank import Blanked, Refused
from executor.runtime.javascript.plain_source import OPEN, OPEN_EXPRESSION, RETURN
from executor.runtime.worker.frames import Source
from executor.runtime.worker.submitted_code import without_fence

__all__ = ["Refused", "Source", "prepare"]

_DEFAULT = b"var __default="  # as long as `export default`, so columns stay true
_EXPORT_DEFAULT = re.compile(rb"export\s+default")
_SKIPPED = ("comment", "empty_statement", "interface_declaration", "type_alias_declaration", "ambient_declaration")
_FUNCTIONS = ("function_declaration", "generator_function_declaration")
_ASSIGNMENTS = ("assignment_expression", "augmented_assignment_expression")


def prepare(submitted: bytes) -> Source:
    code = Blanked(without_fence(submitted))
    code.run()
    statements = [node for node in code.tree.root_node.children if node.type not in _SKIPPED]
    for node in statements:
        if node.type == "export_statement" and any(child.type == "default" for child in node.children):
            return _default(code, node)
    _bare_exports(code, statements)
    if len(statements) == 1 and statements[0].type == "expression_statement":
        return _expression(code, statements[0])
    if len(statements) == 1 and statements[0].type in _FUNCTIONS:
        return _wrap_declared(code, statements[0])
    inserted = _return_last(code, statements)
    return _wrap(code, b"\n})")._replace(inserted=inserted)


def _wrap(code: Blanked, tail: bytes, *, head: bytes = OPEN, callable_: bool = False) -> Source:
    end = code.position(len(code.source.rstrip()))
    return Source(head + bytes(code.out) + tail, len(head), callable_, end, code.stray_bracket())


def _return_last(code: Blanked, statements: list[Node]) -> tuple[int, int]:
    """Turns a last expression into the result, as in Python; functions below it exist already. Where `return(` was put.

    An assignment is no result, as in Python: what it assigns may be anything.
    """
    last = next((node for node in reversed(statements) if node.type not in _FUNCTIONS), None)
    if last is None or last.type != "expression_statement" or code.tree.root_node.has_error:
        return 0, 0
    expression = last.children[0]
    if expression.type in _ASSIGNMENTS:
        return 0, 0
    code.out[expression.end_byte : expression.end_byte] = b")"
    code.out[expression.start_byte : expression.start_byte] = RETURN
    return code.position(expression.start_byte)


def _expression(code: Blanked, statement: Node) -> Source:
    for node in code.tree.root_node.children:
        if node.type in _SKIPPED and node.type != "comment":
            code.blank_node(node)  # also the semicolon it left: nothing may stand before the expression
    last = statement.children[-1]
    if last.type == ";":
        code.blank_node(last)
    _without_tools_parameter(code, statement.children[0])
    return _wrap(code, b"\n)})", head=OPEN_EXPRESSION, callable_=True)


def _wrap_declared(code: Blanked, function: Node) -> Source:
    _without_tools_parameter(code, function)
    name = function.child_by_field_name("name")
    give = b"\n;return " + (code.text(name) if name is not None else b"undefined")
    return _wrap(code, give + b"\n})", callable_=True)


def _default(code: Blanked, statement: Node) -> Source:
    _bare_exports(code, [node for node in code.tree.root_node.children if node.id != statement.id])
    value = statement.child_by_field_name("declaration") or statement.child_by_field_name("value")
    keywords = _EXPORT_DEFAULT.search(code.source, statement.start_byte)
    if value is None or keywords is None:
        return _wrap(code, b"\n})")
    if value.type in (*_FUNCTIONS, "class_declaration", "abstract_class_declaration"):
        code.blank(*keywords.span())
        return _wrap_declared(code, value)
    if value.type == "interface_declaration":
        return _wrap(code, b"\n})")
    _without_tools_parameter(code, value)
    start, end = keywords.span()
    code.out[start:end] = _DEFAULT.ljust(end - start)
    if code.source[statement.end_byte - 1 : statement.end_byte] != b";":
        code.out[statement.end_byte : statement.end_byte] = b";"
    return _wrap(code, b"\n;return __default\n})", callable_=True)


def _bare_exports(code: Blanked, statements: list[Node]) -> None:
    """`export const x = 1` is a declaration here: no one imports it."""
    for node in statements:
        if node.type == "export_statement" and node.child_by_field_name("declaration") is not None:
            code.blank_node(node.children[0])


def _without_tools_parameter(code: Blanked, function: Node) -> None:
    """A program is called with nothing; one that names `tools` as its parameter means the global."""
    while function.type == "parenthesized_expression" and len(function.named_children) == 1:
        function = function.named_children[0]
    single = function.child_by_field_name("parameter")
    if single is not None and code.text(single) == b"tools":
        code.out[single.start_byte : single.end_byte] = b"()   "
        return
    parameters = function.child_by_field_name("parameters")
    if parameters is None or len(parameters.named_children) != 1:
        return
    pattern = parameters.named_children[0].child_by_field_name("pattern")
    if pattern is not None and re.sub(rb"\s", b"", code.text(pattern)) in (b"tools", b"{tools}"):
        code.blank_node(parameters.named_children[0])
