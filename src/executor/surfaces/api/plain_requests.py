"""Requests of the plain kind, as most are: texts in the path, and perhaps one JSON body.

FastAPI solves them like any other, which takes longer than most handlers do. What is not plain is left to it.
"""

from __future__ import annotations

from collections.abc import Callable
from inspect import iscoroutinefunction
from typing import TypeVar

from fastapi.exceptions import RequestValidationError
from fastapi.params import Body
from fastapi.routing import APIRoute
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

R = TypeVar("R", bound=Request)


def is_plain(route: APIRoute) -> bool:
    """Whether its handler takes the request, texts of the path and at most one JSON body, and nothing else."""
    takes, code = route.dependant, route.endpoint.__code__
    are_texts = all(one.field_info.annotation is str and not one.field_info.metadata for one in takes.path_params)
    are_json = all(type(one.field_info) is Body for one in takes.body_params)
    known = len(takes.path_params) + len(takes.body_params) + (takes.request_param_name is not None)
    has_others = code.co_argcount + code.co_kwonlyargcount != known or takes.dependencies
    return are_texts and are_json and not has_others and len(takes.body_params) < 2 and iscoroutinefunction(takes.call)


def answer_plainly(route: APIRoute, admit: Callable[[Scope, Receive], R], otherwise: ASGIApp) -> ASGIApp:
    """Those that are plain. `admit` gives the request that the handler takes; `otherwise` answers the rest."""
    endpoint, own, body = route.endpoint, route.dependant.request_param_name, route.body_field

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if body is not None and not has_json(scope):
            await otherwise(scope, receive, send)
            return
        request = admit(scope, receive)
        values = dict(scope["path_params"])
        if own is not None:
            values[own] = request
        if body is not None:
            given = await request.json()
            values[body.name], errors = body.validate(given, loc=("body",))
            if errors:
                raise RequestValidationError(errors, body=given)
        response: Response = await endpoint(**values)
        await response(scope, receive, send)

    return app


def has_json(scope: Scope) -> bool:
    """A body, and it says what it is in the usual words."""
    found = dict(scope["headers"])
    return found.get(b"content-type") == b"application/json" and found.get(b"content-length", b"0") != b"0"
