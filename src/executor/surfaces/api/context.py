"""What every handler needs: the library object and who is asking. Routes that only an operator may use say so."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, TypeVar

from fastapi.routing import APIRoute
from starlette.requests import Request
from starlette.responses import Response

from executor.daemon.executor import Executor
from executor.errors import Forbidden
from executor.model.tenancy import Actor
from executor.surfaces.api.guard import KIND
from executor.surfaces.body import StrictRequest
from executor.surfaces.waiting import Held

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Context:
    executor: Executor
    actor: Actor
    held: Held

    @property
    def workspace_id(self) -> str:
        return self.actor.workspace_id


def contexts(executor: Executor, held: Held) -> dict[str, Context]:
    """By the kind of actor that a token stands for."""
    tenancy = executor.tenancy
    return {"human": Context(executor, tenancy.operator, held), "agent": Context(executor, tenancy.agent, held)}


def context(request: Request) -> Context:
    found: Context = request.app.state.contexts[request.scope[KIND]]
    return found


def operator_only(endpoint: F) -> F:
    """Mark an endpoint that the agent's token may not use. Checked before its body is read."""
    endpoint.operator_only = True  # type: ignore[attr-defined]
    return endpoint


class EdgeRoute(APIRoute):
    @property
    def operator_only(self) -> bool:
        return bool(getattr(self.endpoint, "operator_only", False))

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handler = super().get_route_handler()
        operator_only = self.operator_only

        async def handle(request: Request) -> Response:
            if operator_only and not context(request).actor.may_decide:
                raise Forbidden(
                    "the agent's token may not do this",
                    hint="an operator does it: `executor` in a terminal, or a request with the operator's token",
                )
            return await handler(StrictRequest(request.scope, request.receive))

        return handle
