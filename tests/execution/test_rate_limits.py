"""Services that answer "later": reads wait and are sent again, writes never are."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
import pytest_asyncio

from executor.daemon.wiring.executor import Executor
from executor.settings import Settings
from executor.sources.source_request import Consent, SourceRequest
from executor.storage.executions import events
from tests.execution.conftest import ExecutorHarness, shared_state, value
from tests.sources.graphql.service import Service
from tests.sources.openapi.documents import document
from tests.sources.upstream import Got, Handler, Reply, Upstream, as_json, serving
from tests.support.conditions import until

ITEM = {"type": "object", "properties": {"id": {"type": "integer"}}}
LIST = {"200": {"description": "", "content": {"application/json": {"schema": {"type": "array", "items": ITEM}}}}}
PAGE = {"name": "page", "in": "query", "schema": {"type": "integer"}}
PATHS = {
    "/things": {
        "get": {"operationId": "listThings", "parameters": [PAGE], "responses": LIST},
        "post": {"operationId": "addThing", "responses": {"200": {"description": ""}}},
    }
}


class Limited:
    """Refuses the first requests, then lets all through."""

    def __init__(self, refuse: int, status: int = 429, then: Any = None, **headers: str) -> None:
        self.refuse, self.status, self.headers, self.then = refuse, status, headers, then
        self.got: list[str] = []

    def __call__(self, got: Got, handler: Handler) -> Reply:
        self.got.append(f"{got.method} {got.target}")
        if len(self.got) <= self.refuse:
            return as_json({"message": "slow down"}, self.status, **self.headers)
        return self.then(got, handler) if callable(self.then) else as_json(self.then or [{"id": 1}])


pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.fixture(scope="module")
def service() -> Iterator[Upstream]:
    with serving() as server:
        server.routes["/openapi.json"] = as_json(document(PATHS))
        yield server


@pytest.fixture
def upstream(service: Upstream) -> Upstream:
    service.requests.clear()
    return service


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    places = {
        "EXECUTOR_DATA_DIR": tmp_path_factory.mktemp("limits"),
        "EXECUTOR_STATE_DIR": shared_state(tmp_path_factory),
    }
    return Settings.load(
        {**{name: str(path) for name, path in places.items()}, "EXECUTOR_WORKERS": "1", "EXECUTOR_SLOTS": "8"}
    )


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def limited_harness(settings: Settings, service: Upstream) -> AsyncIterator[ExecutorHarness]:
    executor = await Executor.open(settings)
    request = SourceRequest(
        location=f"{service.url}/openapi.json", namespace="shop", consented=Consent(private_network=True)
    )
    await executor.catalog.add_source(executor.tenancy.workspace.id, request)
    harness = ExecutorHarness(executor, None)  # type: ignore[arg-type]
    await harness.policy("**", "allow")
    yield harness
    await harness.executor.close()


async def waits(harness: ExecutorHarness, execution_id: str) -> list[dict[str, Any]]:
    found = await harness.executor.database.read(
        lambda c: events.after(c, harness.executor.tenancy.workspace.id, execution_id=execution_id, limit=1_000)
    )
    return [event.data for event in found if event.type == "call.waiting"]


READ = {
    "typescript": "return await tools.shop.things.listThings({})",
    "python": "return await tools.shop.things.listThings({})",
}
CAUGHT = "try { await CALL } catch ({code, status, details, retryable}) { return {code, status, details, retryable} }"


async def test_a_read_waits_and_is_sent_again(limited_harness: ExecutorHarness, upstream: Upstream) -> None:
    for language, code in READ.items():
        for status, header in [(429, "Retry-After"), (503, "Retry-After"), (403, "X-RateLimit-Reset")]:
            more = {"X-RateLimit-Remaining": "0"} if status == 403 else {}
            service = upstream.routes["/things"] = Limited(1, status, **{header: "0", **more})
            outcome = await limited_harness.run(code, language=language)
            assert value(outcome) == [{"id": 1}]
            assert len(service.got) == 2
            seen = await waits(limited_harness, outcome.execution.id)
            assert [(one["status"], one["attempt"], one["path"]) for one in seen] == [
                (status, 1, "shop.things.listThings"),
            ]


async def test_a_page_in_the_middle_is_asked_for_again(limited_harness: ExecutorHarness, upstream: Upstream) -> None:
    def pages(got: Got, handler: Handler) -> Reply:
        if "page=2" in got.target and not seen:
            seen.append(got.target)
            return as_json({}, 429, **{"Retry-After": "0"})
        number = int(got.target.rpartition("page=")[2] or 1) if "page=" in got.target else 1
        return as_json([{"id": number * 10 + one} for one in range(3)] if number < 4 else [])

    seen: list[str] = []
    upstream.routes["/things"] = pages
    outcome = await limited_harness.run("return await tools.shop.things.listThings.all({})")
    assert len(value(outcome)["items"]) == 9
    assert [got.target for got in upstream.requests].count("/things?page=2") == 2


async def test_a_write_is_sent_once_and_says_when_to_try_again(
    limited_harness: ExecutorHarness, upstream: Upstream
) -> None:
    for status, seconds in [(429, "7"), (503, "12"), (429, "0")]:
        service = upstream.routes["/things"] = Limited(9, status, **{"Retry-After": seconds})
        outcome = await limited_harness.run(CAUGHT.replace("CALL", "tools.shop.things.addThing({})"))
        found = value(outcome)
        assert (found["code"], found["status"]) == ("upstream_error", status)
        assert found["details"] == {"message": "slow down", "retryAfter": int(seconds)}
        assert service.got == ["POST /things"]
        assert await waits(limited_harness, outcome.execution.id) == []


async def test_a_read_does_not_wait_longer_than_it_may(
    limited_harness: ExecutorHarness, upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = upstream.routes["/things"] = Limited(9, 429, **{"Retry-After": "3600"})
    found = value(await limited_harness.run(CAUGHT.replace("CALL", "tools.shop.things.listThings({})")))
    assert (found["details"]["retryAfter"], found["retryable"]) == (3600, True)
    assert len(service.got) == 1
    monkeypatch.setattr(limited_harness.executor.pipeline, "retry_seconds", 0)
    service = upstream.routes["/things"] = Limited(9, 429, **{"Retry-After": "1"})
    found = value(await limited_harness.run(CAUGHT.replace("CALL", "tools.shop.things.listThings({})")))
    assert found["details"]["retryAfter"] == 1
    assert len(service.got) == 1


async def test_a_wait_ends_when_the_execution_is_cancelled(
    limited_harness: ExecutorHarness, upstream: Upstream
) -> None:
    service = upstream.routes["/things"] = Limited(9, 429, **{"Retry-After": "90"})
    outcome = await limited_harness.run(READ["typescript"], seconds=0.0)
    await until(lambda: bool(service.got))
    await until(lambda: waits(limited_harness, outcome.execution.id))
    await limited_harness.executor.engine.cancel(limited_harness.executor.tenancy.operator, outcome.execution.id)
    assert (await limited_harness.wait(outcome.execution.id)).execution.status == "cancelled"
    assert len(service.got) == 1


async def test_a_query_of_graphql_waits_and_a_mutation_does_not(
    limited_harness: ExecutorHarness, upstream: Upstream
) -> None:
    service = Service()
    upstream.routes["/graphql"] = service
    request = SourceRequest(
        location=f"{upstream.url}/graphql", namespace="blog", consented=Consent(private_network=True)
    )
    await limited_harness.executor.catalog.add_source(limited_harness.executor.tenancy.workspace.id, request)
    await limited_harness.policy("blog.mutation.deletePost", "allow")
    throttled = as_json({"errors": [{"message": "slow", "extensions": {"code": "THROTTLED"}}]})
    for refusal in (as_json({}, 429, **{"Retry-After": "0"}), throttled):
        gate = Limited(1, then=service)
        upstream.routes["/graphql"] = lambda got, handler, gate=gate, refusal=refusal: (
            refusal if gate(got, handler).status == 429 else service(got, handler)
        )
        assert isinstance(value(await limited_harness.run("return await tools.blog.query.count({})")), int)
        assert len(gate.got) == 2
        gate.got.clear()
        outcome = await limited_harness.run(CAUGHT.replace("CALL", 'tools.blog.mutation.deletePost({id: "1"})'))
        assert value(outcome)["code"] == "upstream_error"
        assert len(gate.got) == 1


async def test_a_read_that_waited_when_the_daemon_ended_is_sent_by_the_next(
    settings: Settings, upstream: Upstream, limited_harness: ExecutorHarness
) -> None:
    service = upstream.routes["/things"] = Limited(1, 429, **{"Retry-After": "90"})
    outcome = await limited_harness.run(READ["typescript"], seconds=0.0)
    await until(lambda: bool(service.got))
    await limited_harness.executor.close()
    limited_harness.executor = await Executor.open(settings)
    assert value(await limited_harness.wait(outcome.execution.id)) == [{"id": 1}]
    assert service.got == ["GET /things"] * 2
