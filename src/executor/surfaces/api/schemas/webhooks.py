"""Bodies of requests about webhooks."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, BaseModel, Field

from executor.model.webhook import DeliveryStatus, WebhookKind
from executor.surfaces.api.schemas.requests import Body, check_printable

Name = Annotated[str, Field(min_length=1, max_length=100), AfterValidator(check_printable)]
Address = Annotated[str, Field(min_length=1, max_length=2_000)]
Events = Annotated[list[Annotated[str, Field(max_length=100)]], Field(min_length=1, max_length=50)]


class NewWebhook(Body):
    """`events` are types, or `noun.*` for all of a noun."""

    name: Name
    url: Address
    kind: WebhookKind = "standard"
    events: Events = Field(default_factory=lambda: ["interaction.requested"])


class WebhookChange(Body):
    """Only what you pass changes. `revision` is the one you saw: if the webhook has another by now, nothing changes."""

    name: Name | None = None
    url: Address | None = None
    events: Events | None = None
    enabled: bool | None = None
    revision: int | None = None


class LookingForDeliveries(BaseModel):
    status: DeliveryStatus | None = None
    before: Annotated[str, Field(max_length=100)] = ""
    limit: Annotated[int, Field(ge=1, le=200)] = 50
