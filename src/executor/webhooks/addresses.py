"""Where webhooks may be sent: https, to public addresses. Private ones are for the operator of this machine."""

from __future__ import annotations

from urllib.parse import urlsplit

from executor.errors import InvalidRequest
from executor.model.identity.actor import Actor
from executor.model.identity.permissions import require
from executor.model.webhook import WebhookKind
from executor.network.addresses import display_url, is_private, is_private_host, parse
from executor.network.client import Egress
from executor.network.private_access import grant_of, resolve


async def check_address(egress: Egress, by: Actor, url: str) -> str:
    """The private address that is allowed with it; empty for a public one, which is checked again at each attempt."""
    target = parse(url)
    if urlsplit(url).fragment:
        raise InvalidRequest("the URL has a fragment, which is never sent", hint="remove what follows the `#`")
    addresses = set() if is_private_host(target.host) else await resolve(target)
    if is_private_host(target.host) or any(map(is_private, addresses)):
        if egress.allow_private:
            return ""
        require(by, "sending webhooks to a private address")
        granted = await grant_of(target)
        if not granted:
            raise InvalidRequest(
                f"{target.host} can't be a webhook: it has public and private addresses, or hands out credentials",
                hint="use an address of its own",
            )
        return granted
    if target.scheme != "https":
        raise InvalidRequest(f"{display_url(url)} is not encrypted", hint="use an https:// address")
    return ""


def shown_address(url: str, kind: WebhookKind) -> str:
    """The path of an incoming webhook of Slack is a credential."""
    return f"{parse(url).origin}/…" if kind == "slack" else display_url(url)
