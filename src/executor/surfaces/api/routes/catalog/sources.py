"""/v1/sources: what is connected, and how something gets connected."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import cast

from fastapi import APIRouter
from starlette.responses import StreamingResponse

from executor.connections.new_connection import Offer
from executor.connections.placement import is_protocol_header
from executor.errors import InvalidRequest
from executor.execution.approvals.orphans import deny_orphans
from executor.execution.dependents import check_dropped
from executor.execution.policies.administration import list_covering
from executor.execution.policies.approval_defaults import find_approval_defaults, set_approval_defaults, version_of
from executor.execution.policies.trusted_hints import KIND as MCP
from executor.execution.policies.trusted_hints import Trust, decide_hints, find_hints
from executor.model import policy as model
from executor.model.identity.actor import Actor
from executor.model.identity.permissions import refusal_of
from executor.model.source import HOSTED, Choice, Source
from executor.network.client import check_headers
from executor.policy.drafts import text
from executor.sources.familiar_words import in_own_words
from executor.sources.lifecycle.edit import revision_of
from executor.sources.lifecycle.persistence import NewChoice, present
from executor.sources.source_request import Consent, Progress, ReadContext, SourceRequest
from executor.surfaces.api.context import Context, EdgeRoute, needs
from executor.surfaces.api.etag import IF_MATCH, TAGGED, etag, expected_version, precondition
from executor.surfaces.api.idempotency import creates
from executor.surfaces.api.json_response import PROBLEMS, Answer, answer
from executor.surfaces.api.progress import with_progress
from executor.surfaces.api.routes.credentials.connections import offer_of
from executor.surfaces.api.schemas.requests import ApprovalDefaults, HintsDecision, NewSource, ToolChoice
from executor.surfaces.api.sse import wants_stream
from executor.surfaces.views.catalog import sources as views

router = APIRouter(prefix="/v1/sources", route_class=EdgeRoute, tags=["sources"], responses=PROBLEMS)
SKIPPED = 100
# Fields of a body that familiar words are about.
WORDS = {
    "location": "location",
    "url": "url",
    "endpoint": "endpoint",
    "transport": "transport",
    "kind": "kind",
    "baseUrl": "base_url",
    "specUrl": "spec_url",
}


@router.get("")
@needs("discover")
async def listing(here: Context) -> Answer[views.SourcePage]:
    """List the connected sources."""
    found = await here.executor.catalog.sources(here.workspace_id)
    return answer({"items": [views.source_view(source, secrets=here.actor.may_decide) for source in found]})


@router.post("", status_code=201)
@creates
@needs("administer")
async def add(here: Context, body: NewSource) -> Answer[views.AddedView] | StreamingResponse:
    """Connect a source. With `Accept: text/event-stream`, the response streams progress first."""
    wanted = wish(body, here.actor)

    async def work(progress: Progress) -> views.AddedView:
        asked = replace(wanted, context=ReadContext(progress))
        added = await here.executor.catalog.add_source(
            here.workspace_id, asked, by=here.actor, offer=offered_credential(body)
        )
        decided = await first_hints(here, added, body.hints)
        return {
            **views.source_view(added, secrets=True),
            "rules": await covering(here, added),
            "hints": decided,
            "defaults": views.approval_defaults_view(chosen_defaults(body.defaults)),
        }

    if wants_stream(here):
        return with_progress(work)
    view = await work(wanted.context.progress)
    return answer(view, 201, {"Location": f"/v1/sources/{view['id']}"})


@router.post("/probe")
@needs("administer")
async def probe(here: Context, body: NewSource) -> Answer[views.ProbeView]:
    """Detect what is at an address, without connecting it. If it is `guarded`, `ways` are the credentials that it
    accepts before anything can be read."""
    lifecycle, request = here.executor.catalog.lifecycle, wish(body, here.actor)
    return answer(views.probe_view(await lifecycle.probe(request, offered_credential(body), by=here.actor), request))


@router.post("/preview")
@needs("administer")
async def preview(here: Context, body: NewSource) -> Answer[views.PreviewView] | StreamingResponse:
    """Read everything that would be connected, without storing it. Can stream progress, like adding a source."""
    wanted = wish(body, here.actor)

    async def work(progress: Progress) -> views.PreviewView:
        asked = replace(wanted, context=ReadContext(progress))
        found = await here.executor.catalog.lifecycle.preview(asked, offered_credential(body), by=here.actor)
        return views.preview_view(found)

    return with_progress(work) if wants_stream(here) else answer(await work(wanted.context.progress))


@router.post("/demo")
@needs("administer")
async def demo(here: Context) -> Answer[views.SourceView]:
    """Connect a sample API that the daemon runs, as `demo`. Calling this again returns the same source."""
    source, is_new = await here.executor.hosting.demo(here.workspace_id, by=here.actor)
    where = {"Location": f"/v1/sources/{source.id}"} if is_new else None
    return answer(views.source_view(source, secrets=True), 201 if is_new else 200, where)


@router.get("/{source}", responses=TAGGED)
@needs("discover")
async def show(here: Context, source: str) -> Answer[views.SourceView]:
    """Get a source by ID or namespace. Its `ETag`, which is its revision, goes into the `If-Match` of an edit."""
    found = await present(here.executor.database, here.workspace_id, source)
    view = views.source_view(found, secrets=here.actor.may_decide)
    if warning := await here.executor.catalog.lifecycle.warning_of(found):
        view["warning"] = warning
    return answer(view, headers=etag(revision_of(found)))


@router.delete("/{source}")
@needs("administer")
async def remove(here: Context, source: str) -> Answer[views.SourceView]:
    """Disconnect a source. Its pending approvals are denied."""
    removed = await here.executor.catalog.lifecycle.remove(here.workspace_id, source, by=here.actor)
    await deny_orphans(here.executor.engine, removed, by=here.actor)
    return answer(views.source_view(removed))


@router.post("/{source}/refresh")
@needs("administer")
async def refresh(here: Context, source: str) -> Answer[views.RefreshedView] | StreamingResponse:
    """Refresh a source and return what changed. If that fails, its tools stay unchanged.

    Only the operator of this installation can run a command or a Python module again.
    """
    refreshing = here.executor.catalog.lifecycle.refresh

    async def work(progress: Progress) -> views.RefreshedView:
        return views.refreshed_view(await refreshing(here.workspace_id, source, progress, by=here.actor))

    return with_progress(work) if wants_stream(here) else answer(await work(lambda text: None))


@router.get("/{source}/hints")
@needs("read")
async def show_hints(here: Context, source: str) -> Answer[views.HintsView]:
    """List which tools an MCP server marks as read-only, and which of them are trusted."""
    found = await present(here.executor.database, here.workspace_id, source)
    return answer(views.hints_view(await find_hints(here.executor.database, found)))


@router.put("/{source}/hints")
@needs("administer")
async def put_hints(here: Context, source: str, body: HintsDecision) -> Answer[views.HintsView]:
    """Trust the read-only hints of an MCP server, by a policy for the tools in their current form; or require approval
    again."""
    found = await present(here.executor.database, here.workspace_id, source)
    return answer(
        views.hints_view(await decide_hints(here.executor.pipeline, found, body.decision, body.tools, by=here.actor))
    )


async def first_hints(here: Context, added: Source, trust: Trust) -> views.HintsView | None:
    if added.kind != MCP:
        return None
    if trust == "trust":
        return views.hints_view(await decide_hints(here.executor.pipeline, added, trust, None, by=here.actor))
    return views.hints_view(await find_hints(here.executor.database, added))


@router.get("/{source}/defaults", responses=TAGGED)
@needs("read")
async def show_defaults(here: Context, source: str) -> Answer[views.ApprovalDefaultsView]:
    """Get what happens to calls of a source that no policy decides about, by their effect."""
    found = await present(here.executor.database, here.workspace_id, source)
    defaults = await find_approval_defaults(here.executor.database, found)
    return answer(views.approval_defaults_view(defaults), headers=etag(version_of(defaults)))


@router.put("/{source}/defaults", openapi_extra=IF_MATCH)
@needs("administer")
async def put_defaults(here: Context, source: str, body: ApprovalDefaults) -> Answer[views.ApprovalDefaultsView]:
    """Set what happens to calls of a source that no policy decides about. Pending approvals are requested again."""
    found = await present(here.executor.database, here.workspace_id, source)
    wanted, version = chosen_defaults(body), expected_version(here)
    with precondition(version):
        defaults = await set_approval_defaults(here.executor.database, found, wanted, by=here.actor, version=version)
    return answer(views.approval_defaults_view(defaults), headers=etag(version_of(defaults)))


def chosen_defaults(body: ApprovalDefaults) -> model.ApprovalDefaults:
    return cast("model.ApprovalDefaults", body.model_dump(exclude_none=True))


@router.put("/{source}/choice")
@needs("administer")
async def choose(here: Context, source: str, body: ToolChoice) -> Answer[views.RefreshedView] | StreamingResponse:
    """Choose which of its tools to include. The response lists the tools that are added and removed."""
    check = (lambda c, source, gone: None) if body.drop else check_dropped
    new = NewChoice(Choice(tuple(body.include), tuple(body.exclude)), body.preview, check, here.actor)

    async def work(progress: Progress) -> views.RefreshedView:
        lifecycle = here.executor.catalog.lifecycle
        return views.refreshed_view(await lifecycle.choose(here.workspace_id, source, new, progress, by=here.actor))

    return with_progress(work) if wants_stream(here) else answer(await work(lambda text: None))


async def covering(here: Context, source: Source) -> list[views.CoveringPolicy]:
    """Policies that allow calls in the namespace of a source, and whether they apply to it."""
    policies = await list_covering(here.executor.database, source)
    return [{"id": one.id, "text": text(one), "holds": source.id not in one.excluded} for one in policies]


def offered_credential(body: NewSource) -> Offer | None:
    return offer_of(body.credential) if body.credential is not None else None


def wish(body: NewSource, by: Actor) -> SourceRequest:
    body = with_own_words(body)
    check_own_headers(body.headers)
    if body.hints == "trust" and body.kind not in ("", MCP):
        raise InvalidRequest(f"only MCP servers give hints, not {body.kind} sources", hint="leave out `hints`")
    if HOSTED in body.options:
        raise InvalidRequest(f"the option `{HOSTED}` is reserved for the daemon", hint="leave it out")
    if body.command and (body.location or body.document is not None):
        raise InvalidRequest("a source has a command or a location, not both", hint="leave out one of them")
    return SourceRequest(
        kind=body.kind,
        location=location_for(by, body),
        document=None if body.document is None else body.document.encode(),
        command=tuple(body.command),
        namespace=body.namespace,
        name=body.name,
        base_url=body.base_url,
        spec_url=body.spec_url,
        headers=tuple(body.headers.items()),
        options=body.options,
        choice=Choice(tuple(body.include), tuple(body.exclude)),
        consented=Consent(
            runs_code=body.consent,
            inherit_policies=body.inherit_rules,
            private_network=True,
            by_operator=by.may("operate"),
            approval_defaults=chosen_defaults(body.defaults),
        ),
    )


def check_own_headers(headers: Mapping[str, str]) -> None:
    check_headers(headers)
    if own := next((name for name in headers if is_protocol_header(name)), None):
        raise InvalidRequest(f"the header {own} is set by the protocol", hint="leave it out")


def with_own_words(body: NewSource) -> NewSource:
    given = {name: getattr(body, field) for name, field in WORDS.items()}
    words = in_own_words(given, "location")
    transport = words.pop("transport", "")
    changed = {WORDS[name]: value for name, value in words.items()} | {"url": "", "endpoint": ""}
    options = {**body.options, "transport": transport} if transport and not body.command else body.options
    return body.model_copy(update={**changed, "options": options})


def location_for(by: Actor, body: NewSource) -> str:
    """Where the document can be fetched later. Only the operator names files of this machine; others upload them."""
    if by.may("operate"):
        return body.location
    if body.spec_url and "://" not in body.spec_url:
        raise refusal_of("reading a file of this machine")
    return body.location if body.document is None or "://" in body.location else ""
