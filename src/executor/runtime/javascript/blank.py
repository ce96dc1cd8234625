"""TypeScript to JavaScript by blanking: every type becomes as many spaces, so lines and columns stay true."""

from __future__ import annotations

import bisect
import re
from collections.abc import Callable, Iterator

from tree_sitter import Language, Node, Parser, Tree
from tree_sitter_typescript._binding import language_typescript

LANGUAGE = Language(language_typescript())
_BLANKS = bytes(byte if byte in b"\r\n" else 32 for byte in range(256))
_SEMICOLON, _SPACE, _PARENTHESIS = 59, 32, 41
_NEW_STATEMENT = re.compile(rb"\s*?\n\s*[(\[`]")
_LOOK_AHEAD = 1000

# Blanked whole. A statement leaves a semicolon behind, so that the line before it can't run on into the line after it.
_TYPES = (
    "type_annotation",
    "type_parameters",
    "type_arguments",
    "asserts_annotation",
    "type_predicate_annotation",
    "opting_type_annotation",
    "omitting_type_annotation",
    "adding_type_annotation",
    "accessibility_modifier",
    "override_modifier",
    "implements_clause",
)
_STATEMENTS = (
    "interface_declaration",
    "type_alias_declaration",
    "ambient_declaration",
    "function_signature",
    "import_alias",
)
_MEMBERS = ("abstract_method_signature", "index_signature", "method_signature")
_REWRITTEN = (
    "as_expression",
    "satisfies_expression",
    "type_assertion",
    "non_null_expression",
    "required_parameter",
    "optional_parameter",
    "public_field_definition",
    "method_definition",
    "abstract_class_declaration",
    "variable_declarator",
    "arrow_function",
    "import_statement",
    "export_statement",
    "enum_declaration",
    "internal_module",
    "module",
    "instantiation_expression",
    "catch_clause",
)
_KINDS = {
    LANGUAGE.id_for_node_kind(name, True): name
    for name in (*_TYPES, *_STATEMENTS, *_MEMBERS, *_REWRITTEN, "array_type", "lookup_type", "import", "ERROR")
}


class Refused(Exception):
    """What can't run here, and where. Line and column count from 1, the column in characters."""

    def __init__(self, message: str, hint: str, line: int, column: int) -> None:
        super().__init__(message)
        self.message, self.hint, self.line, self.column = message, hint, line, column


class Blanked:
    """The bytes of a program on their way to JavaScript. `tree` is of the text as it was submitted."""

    def __init__(self, source: bytes) -> None:
        self.source = source
        self.out = bytearray(source)
        self.tree = Parser(LANGUAGE).parse(source)  # without end for some nonsense: only where it can be killed
        self._nodes = _nodes_by_kind(self.tree)
        self._cuts = self._find_cuts()

    def _of(self, *kinds: str) -> Iterator[Node]:
        for kind in kinds:
            yield from self._nodes.get(kind, ())

    def _find_cuts(self) -> list[int]:
        """Where a type ends though the grammar reads on: a bracket on the next line begins a statement."""
        cuts = []
        for node in self._of("array_type", "lookup_type"):
            of, bracket = node.children[:2]
            if bracket.start_point.row > of.end_point.row:
                cuts.append(of.end_byte)
        return sorted(cuts)

    def blank(self, start: int, end: int, first: int = _SPACE) -> None:
        nearest = bisect.bisect_right(self._cuts, start)
        if nearest < len(self._cuts):
            end = min(end, self._cuts[nearest])
        self.out[start:end] = self.out[start:end].translate(_BLANKS)
        if end > start and first != _SPACE:
            self.out[start] = first

    def blank_node(self, node: Node, first: int = _SPACE) -> None:
        self.blank(node.start_byte, node.end_byte, first)

    def text(self, node: Node) -> bytes:
        return self.source[node.start_byte : node.end_byte]

    def position(self, at: int) -> tuple[int, int]:
        line_start = self.source.rfind(b"\n", 0, at) + 1
        line = self.source.count(b"\n", 0, at) + 1
        return line, len(self.source[line_start:at].decode("utf-8", "replace")) + 1

    def _outermost(self, names: tuple[str, ...]) -> Iterator[Node]:
        """Nodes of these kinds that lie in no other of them: types a million levels deep are blanked once."""
        found = [(node.start_byte, -node.end_byte, node) for node in self._of(*names)]
        done = 0
        for _, end, node in sorted(found, key=lambda item: item[:2]):
            if -end > done:
                done = -end
                yield node

    def stray_bracket(self) -> tuple[int, int]:
        """The first bracket that closes nothing; (0, 0) if every one does."""
        for error in self._of("ERROR"):
            for node in (error, *error.children):
                if self.text(node) in (b"}", b")", b"]"):
                    return self.position(node.start_byte)
        return 0, 0

    def refuse(self, node: Node, message: str, hint: str) -> Refused:
        return Refused(message, hint, *self.position(node.start_byte))

    def run(self) -> None:
        for node in self._outermost(_TYPES):
            self.blank_node(node)
        for name in _REWRITTEN:
            rewrite = _REWRITES[name]
            for node in self._of(name):
                rewrite(self, node)
        for node in self._outermost((*_STATEMENTS, *_MEMBERS)):
            self.blank_node(node, _SEMICOLON)
        for node in self._of("import"):
            raise self.refuse(node, "import() is not available in the sandbox", _NO_MODULES)


def _nodes_by_kind(tree: Tree) -> dict[str, list[Node]]:
    """A plain walk: tree-sitter's queries take quadratic time on a row of a hundred thousand brackets."""
    found: dict[str, list[Node]] = {}
    cursor = tree.walk()
    while True:
        node = cursor.node
        kind = None if node is None else _KINDS.get(node.kind_id)
        if kind is not None and node is not None:
            found.setdefault(kind, []).append(node)
        if cursor.goto_first_child():
            continue
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return found


_NO_MODULES = "there are no modules; use tools.* for everything outside"
_ERASABLE = "only erasable TypeScript syntax is supported: "


def _cast(code: Blanked, node: Node) -> None:
    """`value as T`, `value satisfies T`. Only `as T` keeps a bracket on the next line from being read as its call."""
    start = node.children[0].end_byte
    code.blank(start, node.end_byte)
    rest = code.out[start : node.end_byte + _LOOK_AHEAD]
    if _NEW_STATEMENT.match(rest):
        code.out[start] = _SEMICOLON


def _assertion(code: Blanked, node: Node) -> None:
    code.blank_node(node.children[0])


def _non_null(code: Blanked, node: Node) -> None:
    code.blank(node.end_byte - 1, node.end_byte)


def _parameter(code: Blanked, node: Node) -> None:
    children = node.children
    if any(child.type in ("accessibility_modifier", "readonly", "override_modifier") for child in children):
        hint = _ERASABLE + "declare the field and assign it in the constructor"
        raise code.refuse(node, "parameter properties are not supported", hint)
    if children and children[0].type == "this":
        after = node.next_sibling
        code.blank(node.start_byte, after.end_byte if after is not None and after.type == "," else node.end_byte)
        return
    for child in children:
        if child.type == "?":
            code.blank_node(child)


def _member(code: Blanked, node: Node) -> None:
    children = node.children
    if node.type == "public_field_definition" and any(child.type in ("declare", "abstract") for child in children):
        code.blank_node(node, _SEMICOLON)
        return
    for child in children:
        if child.type in ("readonly", "?", "!", "abstract", "declare", "accessor"):
            code.blank_node(child)


def _abstract_class(code: Blanked, node: Node) -> None:
    for child in node.children:
        if child.type == "abstract":
            code.blank_node(child)


def _declarator(code: Blanked, node: Node) -> None:
    for child in node.children:
        if child.type == "!":
            code.blank_node(child)


def _arrow(code: Blanked, node: Node) -> None:
    """No line may end between `)` and `=>`: the parenthesis moves to the end of a return type of several lines."""
    returns, parameters = node.child_by_field_name("return_type"), node.child_by_field_name("parameters")
    if returns is not None and parameters is not None and returns.start_point.row != returns.end_point.row:
        code.out[parameters.end_byte - 1] = _SPACE
        code.out[returns.end_byte - 1] = _PARENTHESIS


def _import(code: Blanked, node: Node) -> None:
    if any(child.type == "type" for child in node.children):
        code.blank_node(node, _SEMICOLON)
        return
    raise code.refuse(node, "import is not available in the sandbox", _NO_MODULES)


def _export(code: Blanked, node: Node) -> None:
    if node.child_by_field_name("source") is not None:
        raise code.refuse(node, "export … from is not available in the sandbox", _NO_MODULES)
    declaration = node.child_by_field_name("declaration")
    if any(child.type in ("type", "export_clause") for child in node.children) or (
        declaration is not None and declaration.type in _STATEMENTS
    ):
        code.blank_node(node, _SEMICOLON)


def _enum(code: Blanked, node: Node) -> None:
    hint = _ERASABLE + "use an object `as const`"
    raise code.refuse(node, "enum is not supported", hint)


def _namespace(code: Blanked, node: Node) -> None:
    parent = node.parent
    while parent is not None and parent.type in ("expression_statement", "export_statement"):
        parent = parent.parent
    if parent is not None and parent.type == "ambient_declaration":
        return
    raise code.refuse(node, "namespace is not supported", _ERASABLE + "use an object or plain functions")


def _nothing(code: Blanked, node: Node) -> None:
    """Its types are blanked on their own."""


_REWRITES: dict[str, Callable[[Blanked, Node], None]] = {
    "as_expression": _cast,
    "satisfies_expression": _cast,
    "type_assertion": _assertion,
    "non_null_expression": _non_null,
    "required_parameter": _parameter,
    "optional_parameter": _parameter,
    "public_field_definition": _member,
    "method_definition": _member,
    "abstract_class_declaration": _abstract_class,
    "variable_declarator": _declarator,
    "arrow_function": _arrow,
    "import_statement": _import,
    "export_statement": _export,
    "enum_declaration": _enum,
    "internal_module": _namespace,
    "module": _namespace,
    "instantiation_expression": _nothing,
    "catch_clause": _nothing,
}
