"""What every handler needs: the library object and who is asking. Every route says whom it is for."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from fastapi.routing import APIRoute
from starlette.requests import Request
from starlette.responses import Response

from executor.catalog.indexes import Veil
from executor.daemon.executor import Executor
from executor.errors import Forbidden
from executor.model.tenancy import Actor, Permission
from executor.surfaces.api.guard import ACTOR
from executor.surfaces.api.parameters import names_of, refuse_unknown
from executor.surfaces.body import StrictRequest
from executor.surfaces.open_requests import declare_needs
from executor.surfaces.waiting import Held

F = TypeVar("F", bound=Callable[..., Any])
# credential: anybody who is known · human: somebody at a terminal or a browser of theirs, not a program with a key
Need = Permission | Literal["credential", "human"]


@dataclass(frozen=True, slots=True)
class Context:
    executor: Executor
    actor: Actor
    held: Held

    @property
    def workspace_id(self) -> str:
        return self.actor.workspace_id


async def veil_of(here: Context) -> Veil | None:
    """What the actor must not see described; whoever administers the policies sees also what they deny."""
    return None if here.actor.may("administer") else await here.executor.rules.veil(here.workspace_id, here.actor.id)


def context(request: Request) -> Context:
    executor: Executor = request.app.state.executor
    held: Held = request.app.state.streams
    return Context(executor, request.scope[ACTOR], held)


def needs(*any_of: Need) -> Callable[[F], F]:
    """What an actor must be allowed to use an endpoint. Checked before its body is read; an endpoint must say it."""

    def mark(endpoint: F) -> F:
        endpoint.needs = any_of  # type: ignore[attr-defined]
        return endpoint

    return mark


def public(endpoint: F) -> F:
    """Mark an endpoint that shows nothing and needs nobody."""
    endpoint.needs = None  # type: ignore[attr-defined]
    return endpoint


def meets(actor: Actor, need: Need) -> bool:
    if need == "credential":
        return True
    return actor.is_in_person if need == "human" else actor.may(need)


class EdgeRoute(APIRoute):
    @property
    def needs(self) -> tuple[Need, ...] | None:
        """None for a route that is open to anyone."""
        found: tuple[Need, ...] | None = self.endpoint.needs  # type: ignore[attr-defined]
        return found

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handler = super().get_route_handler()
        if not hasattr(self.endpoint, "needs"):
            raise TypeError(f"{self.path} does not say what it needs")
        any_of = self.needs
        known = frozenset(names_of(self.dependant.query_params))
        # What is not in the document is called by other services, which may add what they like.
        strict = self.include_in_schema

        async def handle(request: Request) -> Response:
            declare_needs(any_of or ())
            if any_of is not None and not any(meets(request.scope[ACTOR], need) for need in any_of):
                raise refusal(any_of, request.scope[ACTOR])
            if strict:
                refuse_unknown(request, known)
            return await handler(StrictRequest(request.scope, request.receive))

        return handle


def refusal(any_of: tuple[Need, ...], actor: Actor) -> Forbidden:
    what = "a human" if any_of == ("human",) else f"the permission `{'` or `'.join(any_of)}`"
    if meets(actor, "human"):
        return Forbidden(
            f"your role may not do this: it needs {what}",
            hint="an admin or owner does it, or gives you another role: `executor members list` names them",
        )
    return Forbidden(
        f"this credential may not do this: it needs {what}",
        hint="an operator does it: `executor` in a terminal, or a browser that has signed in",
    )
