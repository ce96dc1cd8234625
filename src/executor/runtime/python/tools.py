"""`tools` inside the interpreter: objects whose attributes are resolved as the code names them."""

from __future__ import annotations

from typing import Any, Literal
from uuid import UUID

from pydantic_monty import ClassInstance

_MOST_NODES = 10_000
_LONGEST_PATH = 1000


class Tool:
    """What the interpreter holds a handle of; its path is known out here alone."""


class Refused(Exception):
    """The interpreter raises an error of the kind `name` where the code asked for this."""

    def __init__(self, name: Literal["TypeError", "ValueError", "RuntimeError"], message: str) -> None:
        super().__init__(message)
        self.name: Literal["TypeError", "ValueError", "RuntimeError"] = name


class Tools:
    def __init__(self) -> None:
        self.root = ClassInstance(Tool(), lazy_attrs="all", allowed_methods="all")
        self._paths: dict[UUID, str] = {self.root.id: ""}
        self._nodes: dict[str, ClassInstance] = {}

    def owns(self, handle: UUID | None) -> bool:
        return handle in self._paths

    def attribute(self, handle: UUID, name: str) -> ClassInstance:
        path = self._path(handle, name)
        node = self._nodes.get(path)
        if node is None:
            if len(self._nodes) >= _MOST_NODES:
                raise Refused("RuntimeError", f"the code names more than {_MOST_NODES} tools")
            node = self._nodes[path] = ClassInstance(Tool(), lazy_attrs="all", allowed_methods="all")
            self._paths[node.id] = path
        return node

    def call(self, handle: UUID, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[str, Any]:
        """The path that is called, and its one argument."""
        path = self._paths[handle] if name == "__call__" else self._path(handle, name)
        if path == "" and args and isinstance(args[0], str):  # tools("namespace._name", …)
            path, args = args[0], args[1:]
        if not 0 < len(path) <= _LONGEST_PATH:
            raise Refused("TypeError", 'tools is not a function: name a tool, like tools.discover(query="...")')
        return path, _argument(path, args, kwargs)

    def _path(self, handle: UUID, name: str) -> str:
        above = self._paths[handle]
        path = f"{above}.{name}" if above else name
        if len(path) > _LONGEST_PATH:
            raise Refused("TypeError", f"the name of a tool has at most {_LONGEST_PATH} characters")
        return path


def _argument(path: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[Any, Any]:
    if not args:
        return kwargs
    if kwargs or len(args) > 1 or not isinstance(args[0], dict):
        given = f"{len(args)} positional" + (" and keyword" if kwargs else "")
        what = type(args[0]).__name__ if len(args) == 1 and not kwargs else f"{given} arguments"
        raise Refused("TypeError", f"tools.{path} takes keyword arguments or one dict; it got {what}")
    return args[0]
