"""A daemon with the sample API."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.daemon import Daemon


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    daemon = Daemon(tmp_path_factory.mktemp("daemon"))
    daemon.start()
    daemon.post("/v1/sources/demo")
    yield daemon
    daemon.stop()
