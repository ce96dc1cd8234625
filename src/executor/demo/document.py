"""The OpenAPI document of the sample service."""

from __future__ import annotations

from typing import Any

Schema = dict[str, Any]
INVOICE_ID: Schema = {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}, "example": "inv_1001"}
INVOICE: Schema = {
    "type": "object",
    "required": ["id", "customer", "amount", "currency", "status", "refunded"],
    "properties": {
        "id": {"type": "string"},
        "customer": {"type": "string", "description": "Who owes it."},
        "amount": {"type": "number", "description": "What was billed."},
        "currency": {"type": "string", "enum": ["EUR", "USD", "GBP"]},
        "status": {"$ref": "#/components/schemas/Status"},
        "refunded": {"type": "number", "description": "Sum of all refunds."},
    },
}
NEW_INVOICE: Schema = {
    "type": "object",
    "required": ["customer", "amount"],
    "properties": {
        "customer": {"type": "string", "minLength": 1, "maxLength": 200, "description": "Who will owe it."},
        "amount": {"type": "number", "exclusiveMinimum": 0, "maximum": 1_000_000, "description": "What to bill."},
        "currency": {"type": "string", "enum": ["EUR", "USD", "GBP"], "default": "EUR"},
    },
}
NEW_REFUND: Schema = {
    "type": "object",
    "required": ["amount"],
    "properties": {
        "amount": {"type": "number", "exclusiveMinimum": 0, "description": "How much to give back."},
        "reason": {"type": "string", "maxLength": 500, "description": "Why, for the records."},
    },
}
REFUND: Schema = {
    "type": "object",
    "required": ["id", "invoice", "amount"],
    "properties": {
        "id": {"type": "string"},
        "invoice": {"type": "string"},
        "amount": {"type": "number"},
        "reason": {"type": ["string", "null"]},
    },
}
PROBLEM: Schema = {"type": "object", "properties": {"title": {"type": "string"}, "detail": {"type": "string"}}}


def document() -> dict[str, Any]:
    return {
        "openapi": "3.1.0",
        "info": {"title": "Demo", "version": "1.0.0", "description": "Invoices of a small shop, kept in memory."},
        "paths": {
            "/invoices": {"get": list_invoices(), "post": create_invoice()},
            "/invoices/{id}": {"parameters": [INVOICE_ID], "get": get_invoice(), "delete": delete_invoice()},
            "/invoices/{id}/refunds": {"parameters": [INVOICE_ID], "get": list_refunds(), "post": create_refund()},
            "/customers": {"get": list_customers()},
        },
        "components": {
            "schemas": {
                "Invoice": INVOICE,
                "NewInvoice": NEW_INVOICE,
                "Refund": REFUND,
                "NewRefund": NEW_REFUND,
                "Problem": PROBLEM,
                "Status": {"type": "string", "enum": ["open", "paid", "refunded"]},
            }
        },
    }


def list_invoices() -> dict[str, Any]:
    parameters = [
        {"name": "status", "in": "query", "schema": {"$ref": "#/components/schemas/Status"}},
        {"name": "customer", "in": "query", "schema": {"type": "string"}, "description": "Only this customer's."},
        {"name": "limit", "in": "query", "schema": {"type": "integer", "minimum": 1, "maximum": 100, "default": 20}},
    ]
    answer = {"type": "array", "items": ref("Invoice")}
    return operation("listInvoices", "List invoices, newest first", answer, parameters=parameters)


def create_invoice() -> dict[str, Any]:
    return operation("createInvoice", "Create an invoice", ref("Invoice"), body="NewInvoice", status="201")


def get_invoice() -> dict[str, Any]:
    return operation("getInvoice", "Get one invoice", ref("Invoice"))


def delete_invoice() -> dict[str, Any]:
    return operation("deleteInvoice", "Delete an invoice for good", None, status="204")


def list_refunds() -> dict[str, Any]:
    answer = {"type": "array", "items": ref("Refund")}
    return operation("listRefunds", "List the refunds of an invoice", answer, tag="refunds")


def create_refund() -> dict[str, Any]:
    key = {"name": "Idempotency-Key", "in": "header", "schema": {"type": "string"}}
    return operation(
        "createRefund",
        "Refund an invoice, in full or in part",
        ref("Refund"),
        parameters=[key],
        body="NewRefund",
        status="201",
        tag="refunds",
    )


def list_customers() -> dict[str, Any]:
    customer = {
        "type": "object",
        "required": ["name", "invoices"],
        "properties": {"name": {"type": "string"}, "invoices": {"type": "integer"}},
    }
    answer = {"type": "array", "items": customer}
    return operation("listCustomers", "List customers and how many invoices each has", answer, tag="customers")


def operation(
    name: str,
    summary: str,
    answer: Schema | None,
    *,
    parameters: list[Schema] | None = None,
    body: str = "",
    status: str = "200",
    tag: str = "invoices",
) -> dict[str, Any]:
    success: Schema = {"description": "Done"}
    if answer is not None:
        success["content"] = {"application/json": {"schema": answer}}
    problem = {"description": "Problem", "content": {"application/problem+json": {"schema": ref("Problem")}}}
    described: dict[str, Any] = {
        "operationId": name,
        "summary": summary,
        "tags": [tag],
        "responses": {status: success, "default": problem},
    }
    if parameters:
        described["parameters"] = parameters
    if body:
        described["requestBody"] = {"required": True, "content": {"application/json": {"schema": ref(body)}}}
    return described


def ref(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}
