"""From submitted text to code that can run: a last expression is the result, `await` and `return` work at the top."""

from __future__ import annotations

import ast
from types import CodeType

FILE = "main.py"
RESULT = "__result__"
_MAIN = "__main__"
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


def compile_program(text: str) -> CodeType:
    """Its result is left in the global `RESULT`. Raises SyntaxError as the compiler does."""
    tree = ast.parse(text, FILE)
    if "maxsize" in text:
        tree = _Wide().visit(tree)
    _keep_result(tree)
    if _returns(tree.body):
        tree = _as_function(tree)
    return compile(tree, FILE, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)


class _Wide(ast.NodeTransformer):
    """`sys.maxsize` is used as a number that all others are below: with that of 32 bits, many are not."""

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        match node:
            case ast.Attribute(ast.Name("sys"), "maxsize", ast.Load()):
                return ast.copy_location(ast.Constant(2**63 - 1), node)
        return self.generic_visit(node)


def _keep_result(tree: ast.Module) -> None:
    if tree.body and isinstance(last := tree.body[-1], ast.Expr):
        kept = ast.Assign([ast.Name(RESULT, ast.Store())], last.value)
        tree.body[-1] = ast.fix_missing_locations(ast.copy_location(kept, last))


def _returns(body: list[ast.stmt]) -> bool:
    return any(isinstance(node, ast.Return) for statement in body for node in _walk(statement))


def _walk(node: ast.AST) -> list[ast.AST]:
    """The nodes that belong to the scope of `node`."""
    found, waiting = [], [node]
    while waiting:
        one = waiting.pop()
        found.append(one)
        if not isinstance(one, _SCOPES):
            waiting += ast.iter_child_nodes(one)
    return found


class _Global(ast.NodeTransformer):
    """A name that is declared global can't be annotated, and a function can't import all names."""

    def visit_FunctionDef(self, node: ast.AST) -> ast.AST:
        return node

    visit_AsyncFunctionDef = visit_ClassDef = visit_Lambda = visit_FunctionDef  # noqa: N815

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        if node.value is None:
            return ast.copy_location(ast.Pass(), node)
        return ast.copy_location(ast.Assign([node.target], node.value), node)

    def visit_Return(self, node: ast.Return) -> ast.AST:
        kept = ast.Assign([ast.Name(RESULT, ast.Store())], node.value or ast.Constant(None))
        return [ast.copy_location(kept, node), ast.copy_location(ast.Return(None), node)]  # type: ignore[return-value]


def _as_function(tree: ast.Module) -> ast.Module:
    """The whole program as a function, for `return`; its names stay global, so that nothing else is different."""
    names = sorted(
        {name for statement in tree.body for node in _walk(statement) for name in _names_of(node)} | {RESULT}
    )
    futures = [node for node in tree.body if isinstance(node, ast.ImportFrom) and node.module == "__future__"]
    stars = [node for node in tree.body if isinstance(node, ast.ImportFrom) and node.names[0].name == "*"]
    body = [_Global().visit(node) for node in tree.body if node not in futures and node not in stars]
    body = [node for visited in body for node in (visited if isinstance(visited, list) else [visited])]
    main = ast.AsyncFunctionDef(
        _MAIN, ast.arguments([], [], None, [], [], None, []), [ast.Global(names), *body], [], None, None, []
    )
    call = ast.Expr(ast.Await(ast.Call(ast.Name(_MAIN, ast.Load()), [], [])))
    return ast.fix_missing_locations(ast.Module([*futures, *stars, main, call], []))


def _names_of(node: ast.AST) -> list[str]:
    """The names that a node binds in its scope."""
    match node:
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
            return [name]
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return [name]
        case ast.Import(names=names) | ast.ImportFrom(names=names):
            return [alias.asname or alias.name.partition(".")[0] for alias in names if alias.name != "*"]
        case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
            return [name]
        case ast.MatchMapping(rest=str(name)):
            return [name]
    return []
