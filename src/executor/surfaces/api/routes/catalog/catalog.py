"""/v1/catalog: for anyone who writes code: is it right, and what could stand here."""

from __future__ import annotations

from typing import cast

from fastapi import APIRouter

from executor.checking.diagnostics import Lines
from executor.errors import CodeTooLarge, InvalidRequest
from executor.surfaces.api.context import Context, EdgeRoute, needs, within_toolkit
from executor.surfaces.api.json_response import PROBLEMS, Answer, answer
from executor.surfaces.api.schemas.requests import CheckedCode, CompletedCode
from executor.surfaces.views.catalog.tools import CheckView, Completion, Completions
from executor.surfaces.views.executions import Diagnostic

router = APIRouter(prefix="/v1/catalog", route_class=EdgeRoute, tags=["catalog"], responses=PROBLEMS)
LANGUAGES = ("typescript", "python")


@router.post("/check")
@needs("discover")
@within_toolkit
async def check(here: Context, body: CheckedCode) -> Answer[CheckView]:
    """Check code against the connected tools, without running it. `ok` if nothing would keep it from running."""
    _refuse_unusable(here, body)
    actor = here.actor
    verdict = await here.executor.checker.verdict(
        here.workspace_id, body.language, body.code, actor.id, actor.toolkit_id
    )
    diagnostics = cast("list[Diagnostic]", [one.to_dict() for one in verdict.diagnostics])
    ok = not verdict.errors and not verdict.unavailable
    return answer({"ok": ok, "diagnostics": diagnostics, "unavailable": verdict.unavailable or None})


@router.post("/complete")
@needs("discover")
@within_toolkit
async def complete(here: Context, body: CompletedCode) -> Answer[Completions]:
    """Complete unfinished code at a position: tools, arguments, values, properties of results."""
    _refuse_unusable(here, body)
    items = await here.executor.checker.complete(
        here.workspace_id, body.language, body.code, _offset(body), here.actor.id, here.actor.toolkit_id
    )
    return answer({"items": cast("list[Completion]", items)})


def _offset(body: CompletedCode) -> int:
    if body.offset is not None and body.line is None and body.column is None:
        return body.offset
    if body.offset is None and body.line is not None and body.column is not None:
        return Lines(body.code).offset(body.line, body.column)
    raise InvalidRequest("the position in the code is ambiguous", hint="pass either line and column, or offset")


def _refuse_unusable(here: Context, body: CheckedCode) -> None:
    if body.language not in LANGUAGES:
        raise InvalidRequest(f"there is no checker for {body.language[:80]!r}", hint=f"use {' or '.join(LANGUAGES)}")
    limit = here.executor.settings.max_code_bytes
    if len(body.code.encode(errors="replace")) > limit:
        raise CodeTooLarge(
            f"the code has more than {limit} bytes", hint="the setting EXECUTOR_MAX_CODE_BYTES is the limit"
        )
