from __future__ import annotations

import json

from executor.demo.server import DOCUMENT
from executor.sources.openapi.kind import build_catalog
from executor.sources.source_request import SourceRequest


def test_the_document_of_the_sample_service_gives_all_its_tools() -> None:
    location = "https://demo.example/openapi.json"
    loaded = build_catalog(SourceRequest(location=location), json.dumps(DOCUMENT).encode(), location)
    assert loaded.skipped == ()
    assert {tool.path: tool.effect for tool in loaded.tools} == {
        "demo.invoices.listInvoices": "read",
        "demo.invoices.createInvoice": "write",
        "demo.invoices.getInvoice": "read",
        "demo.invoices.deleteInvoice": "destructive",
        "demo.refunds.listRefunds": "read",
        "demo.refunds.createRefund": "write",
        "demo.customers.listCustomers": "read",
    }
    assert [tool.path for tool in loaded.tools if tool.idempotent] == ["demo.refunds.createRefund"]
