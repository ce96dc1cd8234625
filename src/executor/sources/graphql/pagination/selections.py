"""Selections that callers write for all pages of a list: completed so that the next page can be asked for."""

from __future__ import annotations

from typing import Any

from graphql.language import (
    ArgumentNode,
    DocumentNode,
    FieldNode,
    IntValueNode,
    NameNode,
    OperationDefinitionNode,
    SelectionSetNode,
    StringValueNode,
)
from graphql.language.ast import Node

from executor.sources.graphql.pagination.lists import BACKWARD, CURSOR, SIZE
from executor.sources.pagination.page_scheme import PageScheme


class Unfit(Exception):
    """What such a selection must be, in words for its caller."""


def complete_selection(document: DocumentNode, paging: PageScheme, cursor: str = "", size: int = 0) -> DocumentNode:
    """With the list and `pageInfo` in it. `cursor` and `size` are for a list below the root field. Raises Unfit."""
    operation, *fragments = document.definitions
    if not isinstance(operation, OperationDefinitionNode) or paging["by"] != "cursor":
        return document
    selections = operation.selection_set
    if "nested" in paging:
        field = find_list(selections, paging["nested"])
        given = [*(field.arguments or ())]
        names = {one.name.value for one in given}
        if names & set(BACKWARD):
            raise Unfit(f"it only reads forward: leave out {' and '.join(sorted(names & set(BACKWARD)))}")
        if cursor:
            given = [one for one in given if one.name.value != CURSOR]
            given.append(argument(CURSOR, StringValueNode(value=cursor)))
        if size and SIZE not in names:
            given.append(argument(SIZE, IntValueNode(value=str(size))))
        way = paging["nested"][field.name.value]
        inner = with_pages(field.selection_set or SelectionSetNode(selections=()), way)
        selections = SelectionSetNode(selections=(change_node(field, arguments=tuple(given), selection_set=inner),))
    else:
        selections = with_pages(selections, paging["way"])
    return DocumentNode(definitions=(change_node(operation, selection_set=selections), *fragments))


def find_list(selections: SelectionSetNode, ways: dict[str, str]) -> FieldNode:
    """The one list that is selected."""
    fields = selections.selections
    if len(fields) != 1 or not isinstance(fields[0], FieldNode) or fields[0].name.value not in ways:
        first = next(iter(ways))
        names = ", ".join(list(ways)[:20])
        raise Unfit(f"it must select one list and nothing else, such as `{{ {first} {{ id }} }}`; lists: {names}")
    return fields[0]


def with_pages(selections: SelectionSetNode, way: str) -> SelectionSetNode:
    """Fields of one item are taken for those of every item."""
    fields = {one.name.value: one for one in selections.selections if isinstance(one, FieldNode)}
    if any(one.alias is not None for name, one in fields.items() if name in ("nodes", "edges", "node", "pageInfo")):
        raise Unfit("`nodes`, `edges` and `pageInfo` can't have aliases")
    edges = fields.get("edges")
    if "nodes" not in fields and edges is None:
        inner = plain("nodes", selections) if way == "nodes" else in_edges(selections)
        selections = SelectionSetNode(selections=(inner,))
    elif edges is not None and "nodes" not in fields and "node" not in names_in(edges.selection_set):
        raise Unfit("`edges` must contain a `node`")
    kept = tuple(
        one for one in selections.selections if not (isinstance(one, FieldNode) and one.name.value == "pageInfo")
    )
    info = SelectionSetNode(selections=(plain("hasNextPage"), plain("endCursor")))
    return SelectionSetNode(selections=(*kept, plain("pageInfo", info)))


def in_edges(selections: SelectionSetNode) -> FieldNode:
    return plain("edges", SelectionSetNode(selections=(plain("node", selections),)))


def names_in(selections: SelectionSetNode | None) -> set[str]:
    return {one.name.value for one in selections.selections if isinstance(one, FieldNode)} if selections else set()


def plain(name: str, selections: SelectionSetNode | None = None) -> FieldNode:
    return FieldNode(name=NameNode(value=name), arguments=(), directives=(), selection_set=selections)


def argument(name: str, value: Any) -> ArgumentNode:
    return ArgumentNode(name=NameNode(value=name), value=value)


def change_node(node: Node, **parts: Any) -> Any:
    return type(node)(**{**{key: getattr(node, key) for key in node.keys}, **parts})
