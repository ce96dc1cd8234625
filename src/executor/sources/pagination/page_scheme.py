"""How the pages of a list follow each other: JSON that kinds store as `all` in the binding of a tool."""

from __future__ import annotations

from typing import TypedDict

# `by` is cursor, next, last, page, offset or link. `argument` takes where the next page begins; `from` is the way to it
# in an answer, `header` the header that has it instead. `items` is the way to the list. If the argument is `required`,
# the walk has to give it; if it is `given`, the caller does. `start` may be `guessed`. With `undeclared` the document
# does not say where a cursor comes from. `otherwise` is another scheme to fall back to. `size` is the largest page. Of
# GraphQL: `way` is where a connection has its items, `nested` the same for each list of an object.
PageScheme = TypedDict(
    "PageScheme",
    {
        "by": str,
        "argument": str,
        "from": list[str],
        "header": str,
        "more": str,
        "items": list[str],
        "start": int,
        "guessed": bool,
        "required": bool,
        "given": bool,
        "undeclared": bool,
        "place": str,
        "size": dict[str, int],
        "sizeArgument": str,
        "otherwise": "PageScheme",
        "way": str,
        "nested": dict[str, str],
    },
    total=False,
)
