"""Artifacts: large results that are kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic

from executor.sdk.flow import Flow, K, Method, Request
from executor.sdk.message import segment
from executor.sdk.resources.resource import Resource

if TYPE_CHECKING:
    from executor.surfaces.views.artifacts import ArtifactPage, ArtifactView


class Artifacts(Resource[K], Generic[K]):
    @Method
    def list(self, *, execution: str = "", limit: int = 50, before: str = "") -> Flow[ArtifactPage]:
        """Newest first. `next` is the `before` of the following page."""
        found: ArtifactPage = yield from self._get("/v1/artifacts", execution=execution, limit=limit, before=before)
        return found

    @Method
    def get(self, id: str) -> Flow[ArtifactView]:
        """Its details and its preview."""
        found: ArtifactView = yield from self._get(f"/v1/artifacts/{segment(id)}")
        return found

    @Method
    def content(self, id: str) -> Flow[bytes]:
        request = Request("GET", f"/v1/artifacts/{segment(id)}/content", headers={"Accept": "*/*"}, repeatable=True)
        return (yield from self._client._exchange.fetch(request)).body

    @Method
    def delete(self, id: str) -> Flow[ArtifactView]:
        """Delete its content permanently, once its execution has ended."""
        deleted: ArtifactView = yield from self._delete(f"/v1/artifacts/{segment(id)}")
        return deleted
