"""What every handler needs: the library object and who is asking. Every route says whom it is for."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Iterator
from difflib import get_close_matches
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from fastapi._compat import ModelField
from fastapi.routing import APIRoute
from fastapi.utils import create_model_field
from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope

from executor.daemon.wiring.executor import Executor
from executor.errors import Forbidden, InvalidRequest
from executor.model.identity.actor import Actor
from executor.model.identity.permissions import Permission
from executor.policy.visibility import Visibility
from executor.surfaces.api.idempotency import create_once
from executor.surfaces.api.json_response import Answer
from executor.surfaces.api.plain_requests import answer_plainly, is_plain
from executor.surfaces.http.guard import ACTOR
from executor.surfaces.http.long_wait import LongWaits
from executor.surfaces.http.open_requests import declare_needs
from executor.surfaces.http.strict_json import StrictRequest


# Parameters of an address. One that a route does not know is refused: a misspelt filter would filter nothing.
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
        return "remove it: this route takes no parameters"
    near = get_close_matches(name, names, n=1)
    return f"did you mean `{near[0]}`?" if near else f"it takes {', '.join(f'`{one}`' for one in names)}"


F = TypeVar("F", bound=Callable[..., Any])
# credential: anyone who is known · human: someone at a terminal or a browser of theirs, not a program with a key
# stranger: the browser of an anonymous workspace
Need = Permission | Literal["credential", "human", "stranger"]


TOOLKIT_HINT = "a key of a toolkit runs code and finds tools; use `executor` in a terminal for all else"


class Context(StrictRequest):
    """The request as a handler gets it, with the library object and who is asking."""

    @property
    def executor(self) -> Executor:
        executor: Executor = self.app.state.executor
        return executor

    @property
    def long_waits(self) -> LongWaits:
        long_waits: LongWaits = self.app.state.streams
        return long_waits

    @property
    def actor(self) -> Actor:
        actor: Actor = self.scope[ACTOR]
        return actor

    @property
    def workspace_id(self) -> str:
        return self.actor.workspace_id


async def visibility_for(here: Context) -> Visibility | None:
    """What the actor must not see described; anyone who administers the policies sees also what they deny."""
    return (
        None
        if here.actor.may("administer")
        else await here.executor.policies.visibility(here.workspace_id, here.actor.id, here.actor.toolkit_id)
    )


def needs(*any_of: Need) -> Callable[[F], F]:
    """What an actor must be allowed to use an endpoint. Checked before its body is read; an endpoint must say it."""

    def mark(endpoint: F) -> F:
        endpoint.needs = any_of  # type: ignore[attr-defined]
        return endpoint

    return mark


def within_toolkit(endpoint: F) -> F:
    """Mark an endpoint that keys of a toolkit may use: it shows and reaches nothing outside of that. All others are
    closed to them."""
    endpoint.is_narrowed = True  # type: ignore[attr-defined]
    return endpoint


def public(endpoint: F) -> F:
    """Mark an endpoint that shows nothing and needs no one."""
    endpoint.needs = None  # type: ignore[attr-defined]
    return endpoint


def meets(actor: Actor, need: Need) -> bool:
    if need == "credential":
        return True
    if need == "stranger":
        return actor.via == "anonymous_browser"
    return actor.is_in_person if need == "human" else actor.may(need)


def answered_type(endpoint: Callable[..., Any]) -> Any:
    """The T of a handler that returns `Answer[T]` or one of several responses; None for a handler without one."""
    returned = get_type_hints(endpoint).get("return")
    for one in (returned, *get_args(returned)):
        if get_origin(one) is Answer:
            return get_args(one)[0]
    return None


class EdgeRoute(APIRoute):
    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        """No response model: nothing is validated, and few ask for the document that needs it."""
        super().__init__(path, endpoint, **{**options, "response_model": None})
        if is_plain(self) and not self.takes_key:
            self.app = answer_plainly(self, self.admit, self.app)

    def describe_answer(self) -> None:
        if (type_ := answered_type(self.endpoint)) is not None:
            name = f"Response_{self.unique_id}"
            self.response_field = create_model_field(name=name, type_=type_, mode="serialization")

    @property
    def needs(self) -> tuple[Need, ...] | None:
        """None for a route that is open to anyone."""
        found: tuple[Need, ...] | None = self.endpoint.needs  # type: ignore[attr-defined]
        return found

    @property
    def takes_key(self) -> bool:
        """Whether it takes an `Idempotency-Key`."""
        return getattr(self.endpoint, "creates", False)

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handler = super().get_route_handler()
        if not hasattr(self.endpoint, "needs"):
            raise TypeError(f"{self.path} does not declare its permission")
        creates = self.takes_key

        async def handle(request: Request) -> Response:
            here = self.admit(request.scope, request.receive)
            return await create_once(here, handler) if creates else await handler(here)

        return handle

    def admit(self, scope: Scope, receive: Receive) -> Context:
        """The request, if its actor may make it and it names no parameter that the route does not know."""
        here, any_of = Context(scope, receive), self.needs
        declare_needs(any_of or ())
        if any_of is not None and not any(meets(here.actor, need) for need in any_of):
            raise refusal(any_of, here.actor)
        if any_of is not None and here.actor.toolkit_id and not getattr(self.endpoint, "is_narrowed", False):
            raise Forbidden("permission denied: this key reaches only its toolkit", hint=TOOLKIT_HINT)
        if self.include_in_schema:  # what is not in the document is called by others, which may add what they like
            refuse_unknown(here, names_of(self.dependant.query_params))
        return here


def refusal(any_of: tuple[Need, ...], actor: Actor) -> Forbidden:
    if any_of == ("stranger",):
        return Forbidden(
            "permission denied: this is only for the browser of an anonymous workspace",
            hint="the sign-in page opens one, where the setting `anonymous` allows it",
        )
    what = "a person" if any_of == ("human",) else f"`{'` or `'.join(any_of)}`"
    if meets(actor, "human"):
        return Forbidden(
            f"permission denied: your role lacks {what}",
            hint="ask an admin or owner; `executor members list` shows who they are",
        )
    return Forbidden(
        f"permission denied: {what} is required",
        hint="use `executor` in a terminal, or a signed-in browser",
    )
