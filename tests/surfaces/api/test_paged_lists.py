"""Whole lists through the daemon: reads at once, a search by POST after one approval, in both languages."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

from tests.sources.openapi.documents import answers, document, json_body
from tests.sources.openapi.paged_lists import NUMBER, TEXT, THINGS, fields, query, things
from tests.sources.upstream import Got, Handler, Reply, Upstream, as_json, serving
from tests.surfaces.api.daemon_server import Daemon

ANSWER = answers(fields(orders=THINGS, cursor=TEXT, total=NUMBER))


def orders(got: Got, handler: Handler) -> Reply:
    """Six of them, two a page; it speaks of seven to those who ask for `all`."""
    asked = {**dict(parse_qsl(urlsplit(got.target).query)), **json.loads(got.body or b"{}")}
    at = int(asked.get("cursor", 0))
    following = {"cursor": str(at + 2)} if at < 4 else {}
    return as_json({"orders": things(at, 2), **following, "total": 7 if asked.get("state") == "all" else 6})


@pytest.fixture(scope="module")
def orders_service(daemon: Daemon) -> Iterator[Upstream]:
    body = json_body(fields(state=TEXT, cursor=TEXT), required=True)
    search = {"operationId": "search", "requestBody": body, "responses": ANSWER}
    parameters = [query("state", TEXT), query("cursor", TEXT)]
    listed = {"operationId": "list", "parameters": parameters, "responses": ANSWER}
    with serving() as upstream:
        upstream.routes["/openapi.json"] = as_json(document({"/orders": {"get": listed, "post": search}}))
        upstream.routes["/orders"] = orders
        added = daemon.post("/v1/sources", {"location": f"{upstream.url}/openapi.json", "namespace": "orders"})
        assert added.status == 201, added.body
        yield upstream


CODE = {
    "typescript": "const r = await tools.orders.orders.%s.all({state: '%s'});\n"
    "return [r.items, r.complete, r.reason ?? '']",
    "python": "r = await tools.orders.orders.%s.all(state='%s')\n"
    "return [r['items'], r['complete'], r.get('reason', '')]",
}


@pytest.mark.parametrize("language", CODE)
def test_a_whole_list_comes_with_the_reason_if_it_is_not_whole(
    daemon: Daemon, orders_service: Upstream, language: str
) -> None:
    def read(state: str) -> Any:
        view = daemon.execute(CODE[language] % ("list", state), language=language)
        assert view["status"] == "completed", view
        return view["result"]

    assert read("open") == [things(0, 6), True, ""]
    items, complete, reason = read("all")
    assert (items, complete) == (things(0, 6), False)
    assert "reports 7 items but returned 6" in reason


@pytest.mark.parametrize("language", CODE)
def test_a_search_by_post_asks_once_and_reads_every_page(
    daemon: Daemon, orders_service: Upstream, language: str
) -> None:
    before = len(orders_service.requests)
    view = daemon.execute(CODE[language] % ("search", "open"), language=language)
    assert view["status"] == "paused" and len(view["interactions"]) == 1
    assert len(orders_service.requests) == before
    daemon.post(f"/v1/interactions/{view['interactions'][0]['id']}/approve", {})
    view = daemon.get(f"/v1/executions/{view['executionId']}?wait=60").json
    assert (view["status"], view["result"]) == ("completed", [things(0, 6), True, ""])
    bodies = [json.loads(got.body) for got in orders_service.requests[before:]]
    assert bodies == [{"state": "open"}, {"state": "open", "cursor": "2"}, {"state": "open", "cursor": "4"}]
