from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import orjson
import pytest

from executor.model.source import Loaded
from executor.network.client import Egress
from executor.sources.graphql.kind import GraphQL
from executor.sources.source_request import Consent, SourceRequest
from tests.sources.graphql.service import Service, source_of, tool_of
from tests.sources.upstream import Upstream

Call = Callable[..., Awaitable[Any]]


@pytest.fixture
async def kind(egress: Egress) -> AsyncIterator[GraphQL]:
    yield GraphQL(egress, load_seconds=60.0, call_seconds=60.0, answer_bytes=100_000)


@pytest.fixture
def service(upstream: Upstream) -> Service:
    found = Service()
    upstream.routes["/graphql"] = found
    return found


@pytest.fixture
async def loaded(kind: GraphQL, service: Service, upstream: Upstream) -> Loaded:
    found = await kind.load(
        SourceRequest(location=upstream.url + "/graphql", namespace="blog", consented=Consent(private_network=True))
    )
    upstream.requests.clear()
    return found


@pytest.fixture
def call(kind: GraphQL, loaded: Loaded) -> Call:
    """Arguments go the way the catalog sends them: arranged, then invoked."""

    async def send(name: str, /, **arguments: Any) -> Any:
        tool = tool_of(loaded, name)
        arranged = kind.arrange(tool, arguments)
        return orjson.loads(await kind.invoke(source_of(loaded), tool, arranged, "key"))

    return send
