"""The state of the sample service: a few invoices, their refunds, and the constraints between them."""

from __future__ import annotations

import itertools
import threading
from typing import Any

SAMPLES = (
    ("Ada Lovelace", 120.0, "EUR", "paid"),
    ("Grace Hopper", 64.5, "USD", "open"),
    ("Alan Turing", 980.0, "GBP", "paid"),
    ("Ada Lovelace", 45.0, "EUR", "open"),
)


class Refused(Exception):
    def __init__(self, status: int, detail: str) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail


class Shop:
    """Safe to use from several threads. A repeated Idempotency-Key returns the refund that it created."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._numbers = itertools.count(1001)
        self._refund_numbers = itertools.count(1)
        self._invoices: dict[str, dict[str, Any]] = {}
        self._refunds: dict[str, list[dict[str, Any]]] = {}
        self._by_key: dict[str, dict[str, Any]] = {}
        for customer, amount, currency, status in SAMPLES:
            self.create({"customer": customer, "amount": amount, "currency": currency}, status)

    def invoices(self, *, status: str = "", customer: str = "", limit: int = 20) -> list[dict[str, Any]]:
        with self._lock:
            found = [
                dict(invoice)
                for invoice in reversed(self._invoices.values())
                if status in ("", invoice["status"]) and customer in ("", invoice["customer"])
            ]
            return found[:limit]

    def customers(self) -> list[dict[str, Any]]:
        with self._lock:
            names = sorted({invoice["customer"] for invoice in self._invoices.values()})
            return [
                {"name": name, "invoices": sum(i["customer"] == name for i in self._invoices.values())}
                for name in names
            ]

    def invoice(self, invoice_id: str) -> dict[str, Any]:
        with self._lock:
            return dict(self._find(invoice_id))

    def create(self, wanted: Any, status: str = "open") -> dict[str, Any]:
        if (
            not isinstance(wanted, dict)
            or not isinstance(wanted.get("customer"), str)
            or not is_amount(wanted.get("amount"))
        ):
            raise Refused(422, "an invoice needs a customer and an amount above 0")
        with self._lock:
            invoice = {
                "id": f"inv_{next(self._numbers)}",
                "customer": wanted["customer"],
                "amount": wanted["amount"],
                "currency": wanted.get("currency", "EUR"),
                "status": status,
                "refunded": 0.0,
            }
            self._invoices[invoice["id"]] = invoice
            return dict(invoice)

    def delete(self, invoice_id: str) -> None:
        with self._lock:
            self._find(invoice_id)
            del self._invoices[invoice_id]
            self._refunds.pop(invoice_id, None)

    def refunds(self, invoice_id: str) -> list[dict[str, Any]]:
        with self._lock:
            self._find(invoice_id)
            return list(self._refunds.get(invoice_id, []))

    def refund(self, invoice_id: str, wanted: Any, key: str = "") -> dict[str, Any]:
        if not isinstance(wanted, dict) or not is_amount(wanted.get("amount")):
            raise Refused(422, "a refund needs an amount above 0")
        with self._lock:
            if key and key in self._by_key:
                return self._by_key[key]
            invoice = self._find(invoice_id)
            left = invoice["amount"] - invoice["refunded"]
            if wanted["amount"] > left:
                raise Refused(409, f"only {left:g} {invoice['currency']} of {invoice_id} can still be refunded")
            refund = {
                "id": f"ref_{next(self._refund_numbers)}",
                "invoice": invoice_id,
                "amount": wanted["amount"],
                "reason": wanted.get("reason"),
            }
            self._refunds.setdefault(invoice_id, []).append(refund)
            invoice["refunded"] += wanted["amount"]
            invoice["status"] = "refunded" if invoice["refunded"] >= invoice["amount"] else invoice["status"]
            if key:
                self._by_key[key] = refund
            return refund

    def _find(self, invoice_id: str) -> dict[str, Any]:
        invoice = self._invoices.get(invoice_id)
        if invoice is None:
            raise Refused(404, f"there is no invoice {invoice_id!r}")
        return invoice


def is_amount(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value > 0
