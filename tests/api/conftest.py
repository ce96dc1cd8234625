from __future__ import annotations

from typing import Any

import pytest

from tests.api.serving import Daemon
from tests.support.shop import daemon, shop

__all__ = ["daemon", "shop"]


@pytest.fixture
def paused(daemon: Daemon, shop: list[Any]) -> Any:
    """An execution that waits for approval of one write."""
    view = daemon.execute('return await tools.shop.things.createThing({name: "lamp"})')
    assert view["status"] == "paused", view
    return view
