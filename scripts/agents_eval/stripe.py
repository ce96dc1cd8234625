"""A payment service: 230 charges on three pages, a dispute, invoices past their day, a balance."""

from __future__ import annotations

from typing import Any

from agents_eval.service import Reply, Request, Service, route

CHARGES = 230
TODAY = 1_772_524_800  # 2026-03-03
DAY = 86_400
DISPUTED = "ch_0042"
CUSTOMERS = ("cus_ana", "cus_ben", "cus_chloe", "cus_dmitri", "cus_eve", "cus_finn", "cus_gail")


class Stripe(Service):
    name = "stripe"
    document = "stripe.com"

    def __init__(self) -> None:
        self.charges = [charge(number) for number in range(CHARGES)]
        self.refunds: list[dict[str, Any]] = []

    @route("GET", "/v1/charges")
    def list_charges(self, request: Request) -> Reply:
        customer = request.query.get("customer")
        return list_of([one for one in self.charges if customer in (None, one["customer"])], request)

    @route("GET", "/v1/charges/{id}")
    def get_charge(self, request: Request, id: str) -> Reply:
        found = next((one for one in self.charges if one["id"] == id), None)
        return Reply(found) if found else no_such("charge", id)

    @route("GET", "/v1/disputes")
    def list_disputes(self, request: Request) -> Reply:
        dispute = {"id": "dp_1", "object": "dispute", "charge": DISPUTED, "amount": charge(42)["amount"]}
        return list_of([dispute | {"currency": "eur", "reason": "duplicate", "status": "needs_response"}], request)

    @route("POST", "/v1/refunds")
    def create_refund(self, request: Request) -> Reply:
        found = next((one for one in self.charges if one["id"] == request.body.get("charge")), None)
        if found is None:
            return no_such("charge", request.body.get("charge"))
        amount = int(request.body.get("amount") or found["amount"])
        made = {"id": f"re_{len(self.refunds) + 1}", "object": "refund", "charge": found["id"], "amount": amount}
        made |= {"currency": found["currency"], "status": "succeeded"}
        self.refunds.append(made)
        return Reply(made)

    @route("GET", "/v1/invoices")
    def list_invoices(self, request: Request) -> Reply:
        wanted = request.query.get("status")
        return list_of([one for one in map(invoice, range(12)) if wanted in (None, one["status"])], request)

    @route("GET", "/v1/customers")
    def list_customers(self, request: Request) -> Reply:
        return list_of([customer(id) for id in CUSTOMERS], request)

    @route("GET", "/v1/customers/{id}")
    def get_customer(self, request: Request, id: str) -> Reply:
        return Reply(customer(id)) if id in CUSTOMERS else no_such("customer", id)

    @route("GET", "/v1/balance")
    def get_balance(self, request: Request) -> Reply:
        balance = {"available": [money(1_204_310, "eur"), money(88_050, "usd")], "pending": [money(51_000, "eur")]}
        return Reply({"object": "balance", "livemode": False, **balance})


def list_of(found: list[dict[str, Any]], request: Request) -> Reply:
    size, after = request.number("limit", 10), request.query.get("starting_after")
    if not 1 <= size <= 100:
        message = f"This value must be less than or equal to 100 (it currently is '{size}')."
        return Reply({"error": {"type": "invalid_request_error", "param": "limit", "message": message}}, 400)
    start = next((at + 1 for at, one in enumerate(found) if one["id"] == after), 0)
    shown = found[start : start + size]
    return Reply({"object": "list", "url": request.path, "has_more": start + size < len(found), "data": shown})


def no_such(what: str, id: Any) -> Reply:
    problem = {"type": "invalid_request_error", "code": "resource_missing", "param": what}
    return Reply({"error": problem | {"message": f"No such {what}: '{id}'"}}, 404)


def charge(number: int) -> dict[str, Any]:
    failed = number % 7 == 3
    return {
        "id": f"ch_{number:04}",
        "object": "charge",
        "amount": 500 + number * 137 % 9000,
        "amount_refunded": 0,
        "currency": "eur" if number % 3 else "usd",
        "created": TODAY - number * 3600,
        "customer": CUSTOMERS[number * number % len(CUSTOMERS)],
        "description": f"Order {7000 + number}",
        "disputed": number == 42,
        "paid": not failed,
        "refunded": False,
        "status": "failed" if failed else "succeeded",
        "billing_details": {"email": None, "name": None, "phone": None},
        "metadata": {},
    }


def invoice(number: int) -> dict[str, Any]:
    owner = CUSTOMERS[number % len(CUSTOMERS)]
    return {
        "id": f"in_{number:03}",
        "object": "invoice",
        "customer": owner,
        "customer_email": f"{owner[4:]}@acme.example",
        "amount_due": 10_000 + number * 250,
        "currency": "eur",
        "status": "open" if number % 2 else "paid",
        "due_date": TODAY + (number - 6) * 10 * DAY,
        "number": f"A-{number:03}",
    }


def customer(id: str) -> dict[str, Any]:
    name = id[4:]
    return {"id": id, "object": "customer", "name": name.title(), "email": f"{name}@acme.example", "metadata": {}}


def money(amount: int, currency: str) -> dict[str, Any]:
    return {"amount": amount, "currency": currency, "source_types": {"card": amount}}
