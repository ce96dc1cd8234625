"""Fixtures for tests of a surface: a daemon in this process, and a source that it knows.

One for each file: files are given to processes in any order, so they must not see what another one left.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.surfaces.api.daemon_server import Daemon, running_daemon, running_upstream


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    with running_daemon(tmp_path_factory.mktemp("daemon")) as daemon:
        yield daemon


@pytest.fixture(scope="module")
def shop(daemon: Daemon) -> Iterator[list[Any]]:
    """A source `shop` with a read and a write; what was created so far."""
    with running_upstream() as (address, made):
        added = daemon.post("/v1/sources", {"location": f"{address}/openapi.json", "namespace": "shop"})
        assert added.status == 201, added.body
        yield made


@pytest.fixture
def paused(daemon: Daemon, shop: list[Any]) -> Any:
    """An execution that waits for approval of one write."""
    view = daemon.execute('return await tools.shop.things.createThing({name: "lamp"})')
    assert view["status"] == "paused", view
    return view
