"""What a message says, how it is signed, and that the words of others stay words."""

from __future__ import annotations

import base64
from datetime import UTC, datetime
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from standardwebhooks import Webhook, WebhookVerificationError

from executor.model.event import Event
from executor.model.webhook import EVENTS
from executor.webhooks import slack
from executor.webhooks.messages import compose
from executor.webhooks.signature import new_secret, signed_headers

ADDRESS = "https://executor.example"


def event(type: str, data: dict[str, Any], execution_id: str = "") -> Event:
    return Event(7, "ws_1", execution_id, type, 1_700_000_000_000, data)


def request_event(tool: str = "shop.orders.create", **more: Any) -> Event:
    return event("interaction.requested", {"id": "int_1", "kind": "approval", "tool": tool, **more}, "exec_1")


def test_the_reference_implementation_accepts_our_signatures() -> None:
    secret, now = new_secret(), int(datetime.now(UTC).timestamp())
    body = orjson.dumps(compose(request_event(), ADDRESS))
    headers = signed_headers([secret], "msg_1", now, body)
    assert Webhook(secret).verify(body, headers)["type"] == "interaction.requested"
    for changed in ({"webhook-id": "msg_2"}, {"webhook-timestamp": str(now - 1)}):
        with pytest.raises(WebhookVerificationError):
            Webhook(secret).verify(body, {**headers, **changed})
    with pytest.raises(WebhookVerificationError):
        Webhook(secret).verify(body + b" ", headers)
    assert len(base64.b64decode(secret.removeprefix("whsec_"))) == 32


def test_during_a_rotation_either_secret_verifies() -> None:
    old, new, other = new_secret(), new_secret(), new_secret()
    headers = signed_headers([new, old], "msg_1", int(datetime.now(UTC).timestamp()), b"{}")
    assert Webhook(old).verify(b"{}", headers) == Webhook(new).verify(b"{}", headers) == {}
    with pytest.raises(WebhookVerificationError):
        Webhook(other).verify(b"{}", headers)


def test_a_message_has_ids_a_title_and_a_link_and_nothing_else() -> None:
    message = compose(request_event(arguments={"card": "4111"}, reason="because"), ADDRESS)
    assert message == {
        "type": "interaction.requested",
        "timestamp": "2023-11-14T22:13:20.000Z",
        "data": {
            "title": "An approval is pending",
            "subject": "shop.orders.create",
            "url": f"{ADDRESS}/approvals/int_1",
            "workspaceId": "ws_1",
            "eventId": "7",
            "executionId": "exec_1",
            "interactionId": "int_1",
        },
    }


@pytest.mark.parametrize("type", EVENTS)
def test_every_event_has_a_title_and_a_page(type: str) -> None:
    data = compose(event(type, {"id": "x_1", "sessionId": "ses_1"}), ADDRESS)["data"]
    assert data["title"]
    assert data["url"].startswith(f"{ADDRESS}/")


def test_pages_fit_what_is_requested() -> None:
    assert compose(request_event(kind="oauth"), ADDRESS)["data"]["url"].endswith("/connect/int_1")
    of_session = compose(request_event("agent.bash", sessionId="ses_1"), ADDRESS)["data"]
    assert (of_session["title"], of_session["sessionId"]) == ("An agent requests permission", "ses_1")


@given(st.text(max_size=300))
def test_no_name_becomes_a_mention_a_link_or_words_of_ours(name: str) -> None:
    message = compose(request_event(name), ADDRESS)
    rendered = slack.render(message)
    lines = rendered["text"].split("\n")
    assert lines[0] == "*An approval is pending*"
    assert lines[-1] == f"<{ADDRESS}/approvals/int_1|Open in Executor>"
    assert len(lines) <= 3
    for line in lines[1:-1]:
        assert line.startswith("`")
        assert line.endswith("`")
        assert not set(line[1:-1]) & set("<>`")
    marked = [block["text"]["text"] for block in rendered["blocks"] if block["text"]["type"] == "mrkdwn"]
    assert marked == [lines[0], lines[-1]]


def test_a_tool_can_not_ping_a_channel() -> None:
    text = orjson.dumps(
        slack.render(compose(request_event("<!channel> @here\n*approved by Executor*"), ADDRESS))
    ).decode()
    assert "<!channel>" not in text.replace('"plain_text","text":"<!channel>', "")
    assert "@here" not in text
