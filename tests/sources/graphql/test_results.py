from __future__ import annotations

import json
import threading
from typing import Any

import pytest

from executor.errors import ToolError
from executor.network.client import Bounds
from executor.sources.graphql.kind import GraphQL
from tests.sources.graphql.conftest import Call
from tests.sources.graphql.service import Service
from tests.sources.upstream import Reply, Upstream, as_json


async def failure(call: Call, name: str = "query.count", /, **arguments: Any) -> ToolError:
    with pytest.raises(ToolError) as caught:
        await call(name, **arguments)
    assert caught.value.hint
    return caught.value


async def test_errors_with_partial_data_lose_nothing(call: Call) -> None:
    error = await failure(call, "query.user", id="1", select='{ name secret(of: "me") }')
    assert error.tool_code == "upstream_error"
    assert "not for you (at user.secret)" in error.message
    assert error.tool_details["data"] == {"name": "Ada", "secret": None}
    assert [one["message"] for one in error.tool_details["errors"]] == ["not for you"]
    assert "details.data" in error.hint


async def test_errors_without_data_say_what_the_service_said(call: Call) -> None:
    error = await failure(call, "mutation.renameUser", id="1", name="x")
    assert error.tool_code == "upstream_error"
    assert "no such right" in error.message
    assert error.tool_details["data"] is None
    assert "is not allowed to do this" in error.hint
    assert not error.retryable


async def test_a_mutation_that_half_succeeded_is_not_to_be_repeated(call: Call, upstream: Upstream) -> None:
    half = {"data": {"createPost": {"post": None}}, "errors": [{"message": "half"}, {"message": "more"}]}
    upstream.routes["/graphql"] = as_json(half)
    error = await failure(call, "mutation.createPost", input={"title": "T", "author": "1"})
    assert "(and 1 more)" in error.message
    assert "don't repeat it blindly" in error.hint
    assert error.tool_details["data"] == {"post": None}


async def test_errors_of_a_document_of_ones_own_keep_all_data(call: Call, upstream: Upstream) -> None:
    upstream.routes["/graphql"] = as_json({"data": {"a": 1, "b": None}, "errors": [{"message": "b is gone"}]})
    error = await failure(call, "graphql.query", query="{ a: count b: count }")
    assert error.tool_details["data"] == {"a": 1, "b": None}


@pytest.mark.parametrize(
    ("reply", "code", "status", "retryable"),
    [
        (as_json({"errors": [{"message": "no"}]}, 400), "upstream_error", 400, False),
        (as_json({"errors": "text"}, 200), "upstream_error", 200, False),
        (as_json({"errors": [None]}, 200), "upstream_error", 200, False),
        (as_json({"errors": [{"type": "RATE_LIMITED", "message": "slow"}]}), "upstream_error", 200, True),
        (as_json({"errors": [{"message": "x", "extensions": {"code": "THROTTLED"}}]}), "upstream_error", 200, True),
        (as_json({"message": "who"}, 401), "upstream_error", 401, False),
        (Reply(503, b"down", {"Content-Type": "text/plain"}), "upstream_error", 503, True),
        (as_json({"errors": [{"message": "down"}]}, 503), "upstream_error", 503, True),
        (Reply(200, b"<html>", {"Content-Type": "text/html"}), "unexpected_response", 200, False),
        (Reply(200, b"", {}), "unexpected_response", 200, False),
        (as_json([1]), "unexpected_response", 200, False),
        (as_json({"data": None}), "unexpected_response", 200, False),
        (as_json({"data": {"other": 1}}), "unexpected_response", 200, False),
        (Reply(200, b'{"data": ' + b"[" * 90_000, {}), "unexpected_response", 200, False),
        (Reply(200, b'"' + b"x" * 200_000 + b'"', {}), "result_too_large", None, False),
    ],
)
async def test_every_other_answer_is_a_typed_error(
    call: Call, upstream: Upstream, reply: Reply, code: str, status: int | None, retryable: bool
) -> None:
    upstream.routes["/graphql"] = reply
    error = await failure(call)
    assert (error.tool_code, error.http_status, error.retryable) == (code, status, retryable)
    json.dumps(error.to_dict())


async def test_a_service_that_hangs_up_or_never_answers_is_distinguished(
    kind: GraphQL, call: Call, upstream: Upstream
) -> None:
    upstream.routes["/graphql"] = lambda got, handler: None
    error = await failure(call, "mutation.deletePost", id="1")
    assert (error.tool_code, error.retryable) == ("upstream_unreachable", False)
    release = threading.Event()
    kind._call_bounds = Bounds(seconds=3.0)
    upstream.routes["/graphql"] = lambda got, handler: (release.wait(120), None)[1]
    error = await failure(call)
    release.set()
    assert (error.tool_code, error.retryable) == ("upstream_timeout", True)


async def test_control_characters_of_a_service_stay_out_of_messages(call: Call, upstream: Upstream) -> None:
    upstream.routes["/graphql"] = as_json({"errors": [{"message": "a\x1b[31m\nb", "path": ["x", "\x1b"]}]})
    assert "\x1b" not in (await failure(call)).message


async def test_numbers_that_are_too_large_for_an_integer_still_arrive(call: Call, upstream: Upstream) -> None:
    upstream.routes["/graphql"] = Reply(200, b'{"data": {"count": 123456789012345678901234567890}}', {})
    assert await call("query.count") == pytest.approx(1.2345678901234568e29)


async def test_a_redirect_to_elsewhere_gets_neither_body_nor_headers(
    call: Call, upstream: Upstream, elsewhere: Upstream, service: Service
) -> None:
    for place in (elsewhere.url + "/graphql", "/admin", "/graphql/../admin"):
        upstream.routes["/graphql"] = Reply(307, headers={"Location": place})
        assert (await failure(call)).tool_code == "egress_refused"
    assert not elsewhere.requests and {got.target for got in upstream.requests} == {"/graphql"}
