"""Servers that answer a call with "input first": people answer, and the call is sent again with that.

So do servers of revision 2026-07-28, instead of asking while the call is under way, and older ones that want a page to
be visited first. Such an answer means that nothing has been carried out yet.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from executor.errors import ExecutorError, InvalidRequest, ToolError
from executor.model.interaction import LISTENER, ElicitationAnswer
from executor.sources.mcp.sessions.elicitation import read_elicitation
from executor.sources.mcp.sessions.server_requests import ELICITATION, NO_SAMPLING, SAMPLING, result_of
from executor.sources.mcp.sessions.session import RpcError

PAGES_REQUIRED = -32042
MAX_ROUNDS = 10
MAX_REQUESTS = 10  # in one answer
NEXT_SECONDS = 0.25  # before a call is sent again that only has to be sent again

Send = Callable[[dict[str, Any]], Awaitable[dict[str, Any]]]


async def call(path: str, send: Send, params: dict[str, Any]) -> dict[str, Any]:
    for _ in range(MAX_ROUNDS):
        try:
            result = await send(params)
        except RpcError as error:
            if not await visit_pages(error):
                raise
            continue
        if result.get("resultType") != "input_required":
            return result
        params = {**params, **await answer_all(path, result)}
    raise refusal(path, f"it asked for input more than {MAX_ROUNDS} times")


async def visit_pages(error: RpcError) -> bool:
    """Whether people have visited every page that the server wants to be visited before this call."""
    data = error.data if isinstance(error.data, dict) else {}
    pages = data.get("elicitations")
    if error.code != PAGES_REQUIRED or not isinstance(pages, list) or not 0 < len(pages) <= MAX_REQUESTS:
        return False
    for page in pages:
        try:
            answer = await ask({**page, "mode": "url"} if isinstance(page, dict) else {})
        except ExecutorError:
            return False
        if answer.action != "accept":
            return False
    return True


async def answer_all(path: str, result: dict[str, Any]) -> dict[str, Any]:
    """What goes with the call when it is sent again. The server's state goes back as it came."""
    asked = result.get("inputRequests") or {}
    state = {"requestState": result["requestState"]} if isinstance(result.get("requestState"), str) else {}
    if not isinstance(asked, dict) or len(asked) > MAX_REQUESTS or not (asked or state):
        raise refusal(path, f"it is not an object of at most {MAX_REQUESTS} requests")
    if not asked:
        await asyncio.sleep(NEXT_SECONDS)
        return state
    answers = {key: asyncio.create_task(answer_one(path, one)) for key, one in asked.items()}
    try:
        await asyncio.gather(*answers.values())
    finally:
        for task in answers.values():
            task.cancel()
    return {**state, "inputResponses": {key: one.result() for key, one in answers.items()}}


async def answer_one(path: str, request: Any) -> dict[str, Any]:
    method = request.get("method") if isinstance(request, dict) else None
    if method == SAMPLING:
        raise refusal(path, NO_SAMPLING)
    if method != ELICITATION:
        raise refusal(path, f"{str(method)[:100]!r} is not known")
    params = request.get("params")
    try:
        return result_of(await ask(params if isinstance(params, dict) else {}))
    except ToolError:
        raise
    except ExecutorError as error:
        raise refusal(path, error.message) from error


async def ask(params: dict[str, Any]) -> ElicitationAnswer:
    listener = LISTENER.get()
    elicitation = read_elicitation(params)
    if listener is None:
        raise InvalidRequest("no one can be asked here", hint="call the tool from code")
    return await listener.elicit(elicitation)


def refusal(path: str, why: str) -> ToolError:
    hint = "the server did not carry the call out; see its documentation"
    return ToolError("upstream_error", f"{path} asked for input, which was refused: {why}", hint=hint)
