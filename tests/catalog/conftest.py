"""A catalog on a real database, with one OpenAPI source served by a real server."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from executor.catalog.catalog import Catalog
from executor.model.source import Source
from executor.model.tool import Tool
from executor.network.client import Egress
from executor.sources.openapi.kind import OpenApi
from executor.sources.source_request import Consent, SourceRequest
from executor.storage.database import Database
from tests.sources.openapi.documents import document
from tests.sources.upstream import Upstream, as_json, serving
from tests.support.catalogs import open_catalog


@dataclass
class CatalogHarness:
    database: Database
    catalog: Catalog
    workspace: str
    upstream: Upstream

    async def connect(self, paths: dict[str, Any], namespace: str = "things", **parts: Any) -> Source:
        self.upstream.routes["/openapi.json"] = as_json(document(paths, **parts))
        location = self.upstream.url + "/openapi.json"
        request = SourceRequest(location=location, namespace=namespace, consented=Consent(private_network=True))
        return await self.catalog.add_source(self.workspace, request)

    async def tool(self, path: str) -> Tool:
        tool = await self.catalog.tool(self.workspace, path)
        assert tool is not None
        return tool


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    with serving() as server:
        yield server


@pytest.fixture
async def harness(tmp_path: Path, upstream: Upstream) -> AsyncIterator[CatalogHarness]:
    async with open_catalog(tmp_path, {"openapi": OpenApi(Egress())}) as made:
        yield CatalogHarness(made.database, made.catalog, made.workspace, upstream)
