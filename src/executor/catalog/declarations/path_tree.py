"""Tools by the segments of their paths: a place in the tree may be a tool, have others below it, or both."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from executor.model.tool import Tool


@dataclass(slots=True)
class Node:
    path: str = ""
    tool: Tool | None = None
    anything: bool = False
    below: dict[str, Node] = field(default_factory=dict)

    def at(self, path: str) -> Node:
        node = self
        for segment in path.split("."):
            node = node.below.setdefault(segment, Node(f"{node.path}.{segment}" if node.path else segment))
        return node

    def walk(self) -> Iterator[Node]:
        """Depth first, what is below before what it is below of."""
        for node in self.below.values():
            yield from node.walk()
        yield self


def tree(tools: Iterable[Tool], anything: Iterable[str] = ()) -> Node:
    """`anything` names places about which nothing is said: whatever is there may be called in any way."""
    root = Node()
    for tool in sorted(tools, key=lambda one: one.path):
        root.at(tool.path).tool = tool
    for path in anything:
        (root.at(path) if path else root).anything = True
    return root
