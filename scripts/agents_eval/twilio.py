"""A phone service: one account, two numbers, and the messages that were sent."""

from __future__ import annotations

from typing import Any

from agents_eval.service import Reply, Request, Service, route

ACCOUNT = "AC" + "0123456789abcdef" * 2
NUMBERS = ("+15005550006", "+15005550009")


class Twilio(Service):
    name = "twilio"
    document = "twilio.com/api"

    def __init__(self) -> None:
        self.sent: list[dict[str, Any]] = []

    @route("GET", "/2010-04-01/Accounts.json")
    def list_accounts(self, request: Request) -> Reply:
        account = {"sid": ACCOUNT, "friendly_name": "Acme", "status": "active", "type": "Full"}
        return Reply({"accounts": [account], "page": 0, "page_size": 50, "next_page_uri": None})

    @route("GET", "/2010-04-01/Accounts/{account}/IncomingPhoneNumbers.json")
    def list_numbers(self, request: Request, account: str) -> Reply:
        found = [
            {"sid": f"PN{at:032}", "phone_number": number, "friendly_name": number, "capabilities": {"sms": at == 0}}
            for at, number in enumerate(NUMBERS)
        ]
        shown = found if account == ACCOUNT else []
        return Reply({"incoming_phone_numbers": shown, "page": 0, "page_size": 50, "next_page_uri": None})

    @route("POST", "/2010-04-01/Accounts/{account}/Messages.json")
    def send(self, request: Request, account: str) -> Reply:
        missing = next((name for name in ("To", "From", "Body") if not request.body.get(name)), None)
        if missing or account != ACCOUNT:
            return Reply({"code": 21604, "message": f"A '{missing}' is required.", "status": 400}, 400)
        made = {"sid": f"SM{len(self.sent):032}", "status": "queued"}
        made |= {name.lower(): request.body[name] for name in ("To", "From", "Body")}
        self.sent.append(made)
        return Reply(made, 201)
