"""Parameters of an address. One that a route does not know is refused: a misspelt filter would filter nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from difflib import get_close_matches

from fastapi._compat import ModelField
from pydantic import BaseModel
from starlette.requests import Request

from executor.errors import InvalidRequest


def names_of(fields: Iterable[ModelField]) -> Iterator[str]:
    """The names that a route takes; those of a model stand for it."""
    for field in fields:
        shape = field.field_info.annotation
        if isinstance(shape, type) and issubclass(shape, BaseModel):
            yield from (one.alias or name for name, one in shape.model_fields.items())
        else:
            yield field.alias


def refuse_unknown(request: Request, known: Iterable[str]) -> None:
    if not request.scope["query_string"]:
        return
    names = sorted(known)
    for name in request.query_params:
        if name not in names:
            raise InvalidRequest(f"{request.url.path} has no parameter `{name[:100]}`", hint=hint(name, names))


def hint(name: str, names: list[str]) -> str:
    if not names:
        return "leave it out: this address takes none"
    near = get_close_matches(name, names, n=1)
    return f"did you mean `{near[0]}`?" if near else f"it takes {', '.join(f'`{one}`' for one in names)}"
