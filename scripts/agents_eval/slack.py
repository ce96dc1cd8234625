"""A chat: channels, people, a channel with threads, and the messages that were posted."""

from __future__ import annotations

from typing import Any

from agents_eval.service import Reply, Request, Service, route
from agents_eval.stripe import CUSTOMERS

CHANNELS = ("general", "random", "support", "payments", "eng-web", "eng-api", "design", "old-launch", "sales")
QUESTIONS = 3


class Slack(Service):
    name = "slack"
    document = "slack.com"

    def __init__(self) -> None:
        self.posted: list[dict[str, Any]] = []

    @route("GET", "/conversations.list")
    def list_channels(self, request: Request) -> Reply:
        kept = request.query.get("exclude_archived") == "true"
        found = [one for one in map(channel, range(len(CHANNELS))) if not (kept and one["is_archived"])]
        return Reply({"ok": True, "channels": found, "response_metadata": {"next_cursor": ""}})

    @route("GET", "/conversations.history")
    def read_history(self, request: Request) -> Reply:
        if request.query.get("channel") != "C02":
            return failure("channel_not_found")
        return Reply({"ok": True, "messages": [message(number) for number in range(8)], "has_more": False})

    @route("POST", "/conversations.open")
    def open_direct(self, request: Request) -> Reply:
        users = str(request.body.get("users") or "")
        return Reply({"ok": True, "channel": {"id": f"D{users[1:]}"}}) if users else failure("users_not_found")

    @route("GET", "/users.lookupByEmail")
    def find_by_email(self, request: Request) -> Reply:
        found = next((one for one in people() if one["profile"]["email"] == request.query.get("email")), None)
        return Reply({"ok": True, "user": found}) if found else failure("users_not_found")

    @route("GET", "/users.list")
    def list_people(self, request: Request) -> Reply:
        return Reply({"ok": True, "members": people(), "response_metadata": {"next_cursor": ""}})

    @route("POST", "/chat.postMessage")
    def post_message(self, request: Request) -> Reply:
        if not request.body.get("channel"):
            return failure("channel_not_found")
        made = {key: request.body[key] for key in ("channel", "text", "thread_ts") if key in request.body}
        self.posted.append(made)
        ts = f"177252{len(self.posted):04}.000100"
        sent = made | {"ts": ts, "type": "message"}
        return Reply({"ok": True, "channel": made["channel"], "ts": ts, "message": sent})


def failure(code: str) -> Reply:
    return Reply({"ok": False, "error": code})


def channel(number: int) -> dict[str, Any]:
    return {
        "id": f"C{number:02}",
        "name": CHANNELS[number],
        "is_channel": True,
        "is_archived": CHANNELS[number].startswith("old-"),
        "num_members": (number * 13 + 5) % 40,
        "topic": {"value": f"All about {CHANNELS[number]}", "creator": "U01", "last_set": 0},
        "purpose": {"value": "", "creator": "", "last_set": 0},
    }


def message(number: int) -> dict[str, Any]:
    """Three of them are questions that nobody has answered."""
    asks = number in (1, 4, 6)
    said = f"How do I reset part {number}?" if asks else f"Done with part {number}."
    ts = f"1772500{number:03}.000200"
    return {"type": "message", "user": f"U{number:02}", "text": said, "ts": ts, "reply_count": 0 if asks else 2}


def people() -> list[dict[str, Any]]:
    names = [one[4:] for one in CUSTOMERS]
    return [
        {"id": f"U{at:02}", "name": name, "deleted": False, "profile": {"email": f"{name}@acme.example"}}
        for at, name in enumerate(names)
    ]
