from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest

from executor.network.client import Egress
from tests.sources.upstream import Upstream, serving


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    with serving() as server:
        yield server


@pytest.fixture
def elsewhere() -> Iterator[Upstream]:
    with serving() as server:
        yield server


@pytest.fixture
async def egress() -> AsyncIterator[Egress]:
    client = Egress(connect_seconds=60.0)
    yield client
    await client.close()
