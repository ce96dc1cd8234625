"""Parts of an answer, by the way to them."""

from __future__ import annotations

from typing import Any

from executor.sources.openapi.paging_names import ASIDE, BESIDE, plain

NOT_LISTS = ASIDE | BESIDE


def items_in(value: Any, path: list[str]) -> list[Any]:
    """The list, wherever a service puts it: some give it bare, or under another name of the document, and an object
    for a list of one."""
    if isinstance(value, list):
        return value
    holder, found = at(value, path[:-1]), at(value, path)
    if isinstance(holder, dict) and path and path[-1] not in holder:
        others = [part for name, part in holder.items() if isinstance(part, list) and plain(name) not in NOT_LISTS]
        found = others[0] if len(others) == 1 else None
    return found if isinstance(found, list) else [found] if isinstance(found, dict) and path else []


def is_absent(value: Any, path: list[str]) -> bool:
    """Whether a field is not even there; one that is null is there."""
    for name in path:
        if not isinstance(value, dict):
            return isinstance(value, list)
        if name not in value:
            return True
        value = value[name]
    return False


def at(value: Any, path: list[str]) -> Any:
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value
