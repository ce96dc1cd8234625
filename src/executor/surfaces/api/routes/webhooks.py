"""/v1/webhooks: where messages about events are sent, and what became of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from fastapi import APIRouter, Query

from executor.model.webhook import EVENTS
from executor.surfaces.api.context import Context, EdgeRoute, needs
from executor.surfaces.api.etag import IF_MATCH, TAGGED, etag, expected_version, precondition
from executor.surfaces.api.idempotency import creates
from executor.surfaces.api.json_response import PROBLEMS, Answer, answer
from executor.surfaces.api.schemas.webhooks import LookingForDeliveries, NewWebhook, WebhookChange
from executor.surfaces.views import webhooks as views
from executor.webhooks.webhooks import Change

router = APIRouter(prefix="/v1/webhooks", route_class=EdgeRoute, tags=["webhooks"], responses=PROBLEMS)


@router.get("")
@needs("administer")
async def listing(here: Context) -> Answer[views.WebhookPage]:
    """List the webhooks of the workspace, and the events that a webhook can be sent."""
    found = await here.executor.webhooks.listing(here.actor)
    return answer({"items": [views.webhook_view(one) for one in found], "events": list(EVENTS)})


@router.post("", status_code=201)
@creates
@needs("administer")
async def add(here: Context, body: NewWebhook) -> Answer[views.WebhookWithSecret]:
    """Add a webhook. The answer has its secret, which no other route returns.

    Only the operator of this installation can send webhooks to a private address.
    """
    webhooks = here.executor.webhooks
    added, secret = await webhooks.add(here.actor, name=body.name, url=body.url, kind=body.kind, chosen=body.events)
    view = views.webhook_view(await webhooks.show(here.actor, added.id))
    return answer({**view, "secret": secret or None}, 201, {"Location": f"/v1/webhooks/{added.id}"})


@router.get("/{webhook_id}", responses=TAGGED)
@needs("administer")
async def show(here: Context, webhook_id: str) -> Answer[views.WebhookView]:
    """Get a webhook. Its `ETag`, which is its revision, goes into the `If-Match` of an edit."""
    view = views.webhook_view(await here.executor.webhooks.show(here.actor, webhook_id))
    return answer(view, headers=etag(view["revision"]))


@router.patch("/{webhook_id}", openapi_extra=IF_MATCH)
@needs("administer")
async def change(here: Context, webhook_id: str, body: WebhookChange) -> Answer[views.WebhookView]:
    """Change the fields you pass. A webhook that is enabled again is sent what happens from then on."""
    version = expected_version(here)
    wanted = Change(**body.model_dump())
    if version:
        wanted = replace(wanted, revision=int(version) if version.isdecimal() else -1)
    with precondition(version):
        view = views.webhook_view(await here.executor.webhooks.change(here.actor, webhook_id, wanted))
    return answer(view, headers=etag(view["revision"]))


@router.delete("/{webhook_id}")
@needs("administer")
async def remove(here: Context, webhook_id: str) -> Answer[views.WebhookView]:
    """Remove a webhook with its deliveries. Nothing more is sent to it."""
    return answer(views.webhook_view(await here.executor.webhooks.remove(here.actor, webhook_id)))


@router.post("/{webhook_id}/rotate")
@needs("administer")
async def rotate(here: Context, webhook_id: str) -> Answer[views.WebhookWithSecret]:
    """Create a new secret. For 24 hours each message is signed with the one before it too."""
    rotated, secret = await here.executor.webhooks.rotate(here.actor, webhook_id)
    return answer({**views.webhook_view(rotated), "secret": secret})


@router.post("/{webhook_id}/test", status_code=202)
@needs("administer")
async def test(here: Context, webhook_id: str) -> Answer[views.DeliveryView]:
    """Send a test message, `webhook.test`. It is attempted once; its delivery says how that went."""
    return answer(views.delivery_view(await here.executor.webhooks.send_test(here.actor, webhook_id)), 202)


@router.get("/{webhook_id}/deliveries")
@needs("administer")
async def deliveries(
    here: Context, webhook_id: str, looking: Annotated[LookingForDeliveries, Query()]
) -> Answer[views.DeliveryPage]:
    """List deliveries, newest first. `next` is the `before` of the following page."""
    found = await here.executor.webhooks.list_deliveries(
        here.actor, webhook_id, status=looking.status, before=looking.before, limit=looking.limit
    )
    following = found[-1].id if len(found) == looking.limit else None
    return answer({"items": [views.delivery_view(one) for one in found], "next": following})


@router.get("/{webhook_id}/deliveries/{delivery_id}")
@needs("administer")
async def delivery(here: Context, webhook_id: str, delivery_id: str) -> Answer[views.DeliveryView]:
    """Get a delivery with what was answered."""
    return answer(views.delivery_view(await here.executor.webhooks.show_delivery(here.actor, webhook_id, delivery_id)))


@router.post("/{webhook_id}/deliveries/{delivery_id}/resend", status_code=202)
@needs("administer")
async def resend(here: Context, webhook_id: str, delivery_id: str) -> Answer[views.DeliveryView]:
    """Send a message again, with the same `webhook-id`."""
    return answer(views.delivery_view(await here.executor.webhooks.resend(here.actor, webhook_id, delivery_id)), 202)
