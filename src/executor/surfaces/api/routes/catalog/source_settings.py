"""PATCH /v1/sources/{source}: other settings for a source. It is read with them first, and people see what ends."""

from __future__ import annotations

from typing import cast

from fastapi import APIRouter
from starlette.responses import StreamingResponse

from executor.errors import InvalidRequest
from executor.execution.approvals.invalidation import Agreement, read_invalidated
from executor.execution.policies.approval_defaults import DefaultChanges, change_approval_defaults
from executor.model.identity.actor import Actor
from executor.sources.familiar_words import in_own_words
from executor.sources.lifecycle.edit import AS_SET, REVIEW_AS_SET, Edit
from executor.sources.lifecycle.edit_application import Terms
from executor.sources.source_request import Consent, Progress, silent
from executor.surfaces.api.context import Context, EdgeRoute, needs
from executor.surfaces.api.etag import IF_MATCH, expected_version, precondition
from executor.surfaces.api.json_response import PROBLEMS, Answer, answer
from executor.surfaces.api.progress import with_progress
from executor.surfaces.api.routes.catalog.sources import WORDS, check_own_headers
from executor.surfaces.api.schemas.requests import SourceChange
from executor.surfaces.api.sse import wants_stream
from executor.surfaces.views.catalog import source_dependents as views

router = APIRouter(prefix="/v1/sources", route_class=EdgeRoute, tags=["sources"], responses=PROBLEMS)


@router.patch("/{source}", openapi_extra=IF_MATCH)
@needs("administer")
async def change(here: Context, source: str, body: SourceChange) -> Answer[views.EditedView] | StreamingResponse:
    """Change settings of a source. If it can't be read with them, nothing changes. The namespace stays: it is part of
    every path.

    An edit that sends calls elsewhere needs `consent`, because approvals, permits and credentials end with it;
    `preview` shows which. Only the operator of this installation can change what a command is run with.
    """
    edit, version = edit_of(body, here.actor), expected_version(here)
    wanted = body.model_copy(update={"revision": version}) if version else body

    async def work(progress: Progress) -> views.EditedView:
        with precondition(version):
            return await edit_source(here, source, wanted, edit, progress)

    return with_progress(work) if wants_stream(here) else answer(await work(silent))


async def edit_source(
    here: Context, source: str, body: SourceChange, edit: Edit, progress: Progress
) -> views.EditedView:
    agreement = Agreement(is_given=body.consent)
    defaults = cast("DefaultChanges", body.defaults.model_dump(exclude_unset=True))
    terms = Terms(
        Consent(private_network=True, runs_code=body.consent, by_operator=here.actor.may("operate")),
        by=here.actor,
        revision=body.revision,
        is_preview=body.preview,
        progress=progress,
        check=agreement.check,
        on_write=lambda c, found: change_approval_defaults(c, found, defaults, by=here.actor),
    )
    edited = await here.executor.catalog.lifecycle.edit(here.workspace_id, source, edit, terms)
    ended = await read_invalidated(here.executor.database, edited.move) if body.preview else agreement.found
    return views.edited_view(edited, ended, preview=body.preview)


def edit_of(body: SourceChange, by: Actor) -> Edit:
    body = with_own_words(body)
    check_own_headers({name: value or "" for name, value in (body.headers or {}).items()})
    is_given = "refresh_seconds" in body.model_fields_set
    has_review = "review" in body.model_fields_set
    return Edit(
        name=body.name,
        location=location_for(by, body),
        document=None if body.document is None else body.document.encode(),
        command=None if body.command is None else tuple(body.command),
        spec_url=body.spec_url,
        base_url=body.base_url,
        headers=body.headers,
        transport=body.transport,
        environment=body.environment,
        handed_on=None if body.pass_environment is None else tuple(body.pass_environment),
        directory=body.directory,
        refresh_seconds=AS_SET if is_given and body.refresh_seconds is None else body.refresh_seconds,
        review=REVIEW_AS_SET if has_review and body.review is None else body.review,
    )


def with_own_words(body: SourceChange) -> SourceChange:
    """Of what is given; `auto` stays, as it takes a transport back."""
    given = {name: value for name, field in WORDS.items() if (value := getattr(body, field, None)) is not None}
    if body.document is not None and ("url" in given or "endpoint" in given):
        raise InvalidRequest("a document and an address are both given", hint="leave out one of them")
    words = in_own_words(given, "location")
    transport = None if body.transport is None else words.get("transport", "")
    taken = {"spec_url": ""} if "specUrl" in given and "specUrl" not in words else {}  # it is the location now
    changed = {WORDS[name]: value for name, value in words.items()}
    return body.model_copy(update={**changed, **taken, "transport": transport})


def location_for(by: Actor, body: SourceChange) -> str | None:
    """Only the operator names files of this machine: others upload their content."""
    if body.document is None:
        return body.location
    return body.location if body.location and (by.may("operate") or "://" in body.location) else ""
