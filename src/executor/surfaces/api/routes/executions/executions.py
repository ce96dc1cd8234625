"""/v1/executions: run code, look at it, wait for it, end it."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from executor.errors import Forbidden, InvalidRequest
from executor.execution import history
from executor.execution.outcome import Outcome
from executor.execution.submissions import Submission
from executor.model.execution import ExecutionFilter, Status
from executor.surfaces.api.context import Context, EdgeRoute, needs, within_toolkit
from executor.surfaces.api.idempotency import IDEMPOTENCY_KEY, read_key
from executor.surfaces.api.json_response import PROBLEMS, Answer, answer
from executor.surfaces.api.schemas.requests import MAX_WAIT, NewExecution, ResultForm, Resume
from executor.surfaces.api.sse import MOST, After, EventStream, LastEventId, Types, events_answer
from executor.surfaces.http import long_wait
from executor.surfaces.views import executions as views
from executor.surfaces.views.events import EventPage

# How executions are looked for: what the address of the list says, and who may find what by it.
LATEST = 2**48 - 1  # what the time part of an id can hold
Name = Annotated[str, Field(max_length=200)]
Time = Annotated[int, Field(ge=0, le=LATEST, description="milliseconds since 1970")]


class Looking(BaseModel):
    """Filters that are left out match everything. `tool` is a path, or the beginning of one up to a dot."""

    status: Annotated[list[Status], Field(max_length=20)] = []
    language: Name = ""
    runtime: Name = ""
    actor: Name = ""
    tool: Annotated[str, Field(max_length=500)] = ""
    text: Name = ""
    since: Time = 0
    until: Time | None = None
    limit: Annotated[int, Field(ge=1, le=500)] = 50
    before: Name = ""


def read_filter(looking: Looking) -> ExecutionFilter:
    tool = looking.tool.removesuffix(".**").removesuffix(".*").strip(".")
    same = looking.model_dump(include={"language", "runtime", "text", "since", "until"})
    return ExecutionFilter(statuses=tuple(looking.status), tool=tool, **same)


router = APIRouter(prefix="/v1/executions", route_class=EdgeRoute, tags=["executions"], responses=PROBLEMS)
PARTS = frozenset({"calls", "code", "heads"})


@router.post("", status_code=201, openapi_extra={"parameters": [IDEMPOTENCY_KEY]})
@needs("execute")
@within_toolkit
async def execute(here: Context, body: NewExecution) -> Answer[views.ExecutionView]:
    """Run code, and wait up to `wait` seconds for it to end or pause.

    Sent again with the same `Idempotency-Key`, it returns the execution that the first request started.
    """
    limits = None if body.timeout_ms is None else replace(here.executor.limits, wall_ms=body.timeout_ms)
    key = read_key(here)
    await check_named(here, body)
    runtime = chosen_runtime(body)
    submission = Submission(body.code, body.language, runtime, limits, body.typecheck, key, body.client_id or "")
    submission = replace(submission, priority=body.priority) if body.priority else submission
    outcome, is_known = await long_wait.run(here.executor, here.long_waits, here.actor, submission, body.wait)
    view = views.execution_view(outcome, here.executor.settings.address, whole=body.result == "whole")
    headers = {"Location": f"/v1/executions/{outcome.execution.id}"}
    return answer(view, 201, headers | ({"Idempotent-Replayed": "true"} if is_known else {}))


def chosen_runtime(body: NewExecution) -> str | None:
    if body.runtime_id is not None and body.runtime not in (None, body.runtime_id):
        raise InvalidRequest("`runtime` and `runtimeId` name different runtimes", hint="leave out `runtimeId`")
    return body.runtime_id if body.runtime is None else body.runtime


async def check_named(here: Context, body: NewExecution) -> None:
    """Names of who is asking are accepted where they say what the credential says."""
    for field, given, own in (
        ("workspaceId", body.workspace_id, here.workspace_id),
        ("actorId", body.actor_id, here.actor.id),
    ):
        if given is not None and given != own:
            raise Forbidden(f"`{field}` is {given[:100]!r}, but this credential acts as {own}", hint="leave it out")
    if body.client_id is None or here.actor.via != "anonymous":
        return
    own = await here.executor.anonymous.client_of(here.actor)
    if body.client_id != own:
        raise Forbidden(f"`clientId` is {body.client_id!r}, but this session has {own}", hint="leave it out")


@router.get("")
@needs("execute", "read")
@within_toolkit
async def page(here: Context, looking: Annotated[Looking, Query()]) -> Answer[views.ExecutionPage]:
    """List executions, newest first. `next` is the `before` of the following page.

    A search that has passed 20,000 executions ends its page, with what it found, as `partial`.
    """
    found = await history.search(
        here.executor.database,
        here.actor,
        read_filter(looking),
        actor=looking.actor,
        limit=looking.limit,
        before=looking.before,
    )
    items = [views.execution_summary(one.execution, one.actor, one.calls) for one in found]
    return answer({"items": items, "next": found.next, "partial": found.partial})


@router.get("/{execution_id}")
@needs("execute", "read")
@within_toolkit
async def show(
    here: Context,
    execution_id: str,
    wait: Annotated[float, Query(ge=0, le=MAX_WAIT, allow_inf_nan=False)] = 0,
    include: str = "",
    result: ResultForm = "whole",
) -> Answer[views.ExecutionView]:
    """Get an execution. `include=calls,code` adds those; `heads` are the calls without arguments and results.

    `result=preview` leaves out large results.
    """
    whole = result == "whole"
    parts = set(filter(None, include.split(",")))
    if not parts <= PARTS:
        raise InvalidRequest(f"include={include!r} contains an unknown name", hint="use calls, heads and code")
    outcome = await long_wait.wait(here.executor, here.long_waits, here.actor, execution_id, wait, whole=whole)
    view = views.execution_view(outcome, here.executor.settings.address, whole=whole)
    if "code" in parts:
        actor = await history.find_submitter(here.executor.database, outcome.execution)
        view = {**view, "code": outcome.execution.code, **views.submitted_by(outcome.execution, actor)}
    if "calls" in parts:
        view["calls"] = await _calls(here, execution_id, whole=whole)
    if "heads" in parts:
        heads = await history.read_call_heads(here.executor.database, here.actor, execution_id)
        view["heads"] = [views.call_head(head) for head in heads]
    return answer(view)


@router.post("/{execution_id}/resume")
@needs("execute")
@within_toolkit
async def resume(here: Context, execution_id: str, body: Resume | None = None) -> Answer[views.ExecutionView]:
    """Wait for an execution again. This decides nothing: a paused execution continues after a decision."""
    body = body or Resume()
    whole = body.result == "whole"
    resumed = long_wait.resume(here.executor, here.long_waits, here.actor, execution_id, body.wait, whole=whole)
    return _respond(here, await resumed, whole=whole)


@router.post("/{execution_id}/cancel")
@needs("execute")
@within_toolkit
async def cancel(here: Context, execution_id: str) -> Answer[views.ExecutionView]:
    """Cancel an execution: operators can cancel any, agents their own."""
    execution = await history.find(here.executor.database, here.actor, execution_id)
    if not here.actor.may_decide and execution.actor_id != here.actor.id:
        raise Forbidden(
            f"execution {execution_id} was submitted by someone else",
            hint="an operator can cancel it: `executor executions cancel`",
        )
    await here.executor.engine.cancel(here.actor, execution_id)
    return _respond(here, await here.executor.engine.wait(here.actor, execution_id, 0))


@router.post("/{execution_id}/replay")
@needs("read")
async def replay(here: Context, execution_id: str) -> Answer[views.ReplayView]:
    """Replay a finished journal without sending anything, and compare."""
    report = await here.executor.engine.replay(here.actor, execution_id)
    return answer(views.replay_view(report))


@router.get("/{execution_id}/calls")
@needs("execute", "read")
@within_toolkit
async def journal(
    here: Context,
    execution_id: str,
    seq: Annotated[int | None, Query(ge=0, le=MOST)] = None,
    result: ResultForm = "whole",
) -> Answer[views.CallPage]:
    """List all calls, or the one with the number `seq`. `result=preview` leaves out large results."""
    return answer({"items": await _calls(here, execution_id, whole=result == "whole", seq=seq)})


@router.get("/{execution_id}/logs")
@needs("execute", "read")
@within_toolkit
async def logs(here: Context, execution_id: str) -> Answer[views.LogPage]:
    """List the lines that the code logged."""
    found = await history.read_logs(here.executor.database, here.actor, execution_id)
    return answer({"items": [views.log_view(event) for event in found]})


@router.get("/{execution_id}/events")
@needs("execute", "read")
@within_toolkit
async def follow(
    here: Context,
    execution_id: str,
    after: After = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 500,
    last_event_id: LastEventId = None,
    type: Types = [],  # noqa: B006 - FastAPI copies it
) -> Answer[EventPage] | EventStream:
    """List events as JSON, or with `Accept: text/event-stream` as a live stream that ends with the execution. A page
    can be limited to some `type`s, each whole or ending in `.*`."""
    return await events_answer(here, execution_id, after=last_event_id or after, limit=limit, types=type)


async def _calls(here: Context, execution_id: str, *, whole: bool, seq: int | None = None) -> list[views.CallView]:
    """Every call, or that of the number `seq`."""
    found = await history.read_calls(here.executor.contents, here.actor, execution_id, whole=whole, seq=seq)
    return [views.call_view(call, kept=kept) for call, kept in found]


def _respond(here: Context, outcome: Outcome, *, whole: bool = True) -> Answer[views.ExecutionView]:
    return answer(views.execution_view(outcome, here.executor.settings.address, whole=whole))
