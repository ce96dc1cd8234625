"""Tools that return one page at a time and have no `.all` beside them."""

from __future__ import annotations

import re

from executor.model.tool import Tool

_PAGING = re.compile(
    r"cursor|offset|continu|marker|skip|after|token|^start|(?<!per)(?<!per_)page(?![_-]?(?:size|limit|count|len))",
    re.IGNORECASE,
)


def page_hint(tool: Tool) -> str:
    """What to do instead of calling `.all`."""
    properties = tool.input_schema.get("properties", {})
    names = [name for name in properties if _PAGING.search(name)]
    if not names:
        return f"{tool.path} has no `.all`: call it as it is, without `.all`"
    return f"{tool.path} has no `.all`: call it page by page, with {' or '.join(f'`{name}`' for name in names[:3])}"
