"""`Idempotency-Key` of routes that create something: a request that is sent again gets the answer of the first one.

Answers are kept in memory for a while, since some have a token that is stored nowhere. Later, and after a restart, the
audit log still knows what the key has created.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

import orjson
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from executor.errors import ExecutorError, InternalError, InvalidRequest, StorageError
from executor.execution.submissions import checked_key
from executor.identity import creations

if TYPE_CHECKING:
    from executor.surfaces.api.context import Context

KEPT_SECONDS: Final = 600.0
MOST: Final = 200
LARGEST: Final = 64 * 1024
CREATION: Final = "executor.creation"  # of the request, until its outcome is written down
F = TypeVar("F", bound=Callable[..., Any])
Handler = Callable[["Context"], Awaitable[Response]]
# Read by hand: FastAPI takes as long to look for one header as all else that it does for a request.
IDEMPOTENCY_KEY: Final[dict[str, Any]] = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": "Your own name for this request, such as a UUID. Sent again, it creates nothing more.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 255},
}


class Written(NamedTuple):
    status: int
    body: bytes
    headers: dict[str, str]


@dataclass(slots=True)
class Entry:
    creation: creations.Creation
    sent: bytes  # a digest, only in memory
    answer: asyncio.Future[Written]
    at: float


class Answers:
    """By actor and key: those that are under way, and the last ones."""

    def __init__(self) -> None:
        self._entries: dict[tuple[str, str], Entry] = {}

    def find(self, actor_id: str, key: str) -> Entry | None:
        oldest = time.monotonic() - KEPT_SECONDS
        for name in [name for name, one in self._entries.items() if one.answer.done() and one.at < oldest]:
            del self._entries[name]
        return self._entries.get((actor_id, key))

    def open(self, actor_id: str, creation: creations.Creation, sent: bytes) -> Entry:
        done = [name for name, one in self._entries.items() if one.answer.done()]
        for name in done[: max(0, len(done) - MOST + 1)]:
            del self._entries[name]
        entry = Entry(creation, sent, asyncio.get_running_loop().create_future(), time.monotonic())
        self._entries[actor_id, creation.key] = entry
        return entry

    def drop(self, actor_id: str, key: str) -> None:
        self._entries.pop((actor_id, key), None)


def creates(endpoint: F) -> F:
    """Mark an endpoint that takes an `Idempotency-Key`."""
    endpoint.creates = True  # type: ignore[attr-defined]
    return endpoint


def read_key(here: Context) -> str:
    keys = here.headers.getlist("idempotency-key")
    if len(keys) > 1:
        raise InvalidRequest("the request has several Idempotency-Key headers", hint="send one")
    return checked_key(keys[0]) if keys else ""


async def create_once(here: Context, handler: Handler) -> Response:
    key = read_key(here)
    if not key:
        return await handler(here)
    if "text/event-stream" in here.headers.get("accept", ""):
        raise InvalidRequest("a stream can't be repeated", hint="leave out the Idempotency-Key, or accept JSON")
    creation = creations.name_creation(here.actor, key, f"{here.method} {here.url.path}")
    sent = hashlib.sha256(here.scope["query_string"] + b"\0" + await here.body()).digest()
    answers: Answers = here.app.state.answers
    known = answers.find(here.actor.id, creation.key)
    if known is not None:
        return await repeat(known, creation, sent)
    entry = answers.open(here.actor.id, creation, sent)
    try:
        response = await create(here, handler, creation)
    except BaseException as error:
        answers.drop(here.actor.id, creation.key)
        entry.answer.set_exception(error if isinstance(error, Exception) else interruption_error())
        entry.answer.exception()  # no one else may be waiting for it
        raise
    entry.answer.set_result(Written(response.status_code, bytes(response.body), dict(response.headers)))
    if len(response.body) > LARGEST:
        answers.drop(here.actor.id, creation.key)
    return response


async def repeat(known: Entry, creation: creations.Creation, sent: bytes) -> Response:
    if (known.creation, known.sent) != (creation, sent):
        raise creations.reuse_error()
    written = await asyncio.shield(known.answer)
    return Response(written.body, written.status, {**written.headers, "Idempotent-Replayed": "true"})


async def create(here: Context, handler: Handler, creation: creations.Creation) -> Response:
    database, actor = here.executor.database, here.actor
    await creations.begin(database, actor, creation)
    here.scope[CREATION] = creation
    try:
        response = await handler(here)
    except (ExecutorError, RequestValidationError, HTTPException) as error:
        is_open = here.scope[CREATION] is not None and not isinstance(error, (InternalError, StorageError))
        if is_open:  # else it exists, or may exist
            await creations.note_refusal(database, actor, creation, getattr(error, "code", "invalid_request"))
        raise
    if here.scope[CREATION] is not None:
        await creations.note_answer(database, actor, creation, id_in(bytes(response.body)))
    return response


async def note_created(here: Context, id: str) -> None:
    """Of a handler that has created something, and now waits for what becomes of it."""
    creation: creations.Creation | None = here.scope.get(CREATION)
    if creation is not None:
        here.scope[CREATION] = None
        await creations.note_answer(here.executor.database, here.actor, creation, id)


def id_in(body: bytes) -> str:
    view = orjson.loads(body) if body else {}
    return str(view.get("id") or view.get("name") or "") if isinstance(view, dict) else ""


def interruption_error() -> InternalError:
    return InternalError("the request was interrupted", hint="check whether it was created")
