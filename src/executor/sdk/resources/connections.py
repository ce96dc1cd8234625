"""Connections: credentials of sources."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, Literal

from executor.sdk.flow import Flow, K, Method
from executor.sdk.message import segment
from executor.sdk.resources.resource import Resource, Rows

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from executor.surfaces.views.credentials import ConnectionTest, ConnectionView, WayPage


class Connections(Resource[K], Generic[K]):
    @Method
    def list(self) -> Flow[Rows[ConnectionView]]:
        found: Rows[ConnectionView] = (yield from self._get("/v1/connections"))["items"]
        return found

    @Method
    def ways(self, source: str) -> Flow[WayPage]:
        """Which credentials a source takes, and where they would be sent."""
        found: WayPage = yield from self._get(f"/v1/sources/{segment(source)}/ways")
        return found

    @Method
    def add(
        self,
        source: str,
        values: Mapping[str, str] | None = None,
        *,
        secrets: Mapping[str, str] | None = None,
        way: str = "",
        placements: Sequence[Mapping[str, str]] = (),
        name: str = "",
        scope: Literal["actor", "workspace"] = "workspace",
        replace: bool = False,
    ) -> Flow[ConnectionView]:
        """`values` are entered now, `secrets` names existing ones; both by input."""
        body: dict[str, Any] = {
            "source": source,
            "values": dict(values or {}),
            "secrets": dict(secrets or {}),
            "way": way,
            "placements": [dict(one) for one in placements],
            "name": name,
            "scope": scope,
            "replace": replace,
        }
        added: ConnectionView = yield from self._post("/v1/connections", body)
        return added

    @Method
    def test(self, id: str) -> Flow[ConnectionTest]:
        """Check that the service accepts it."""
        tested: ConnectionTest = yield from self._post(f"/v1/connections/{segment(id)}/test")
        return tested

    @Method
    def remove(self, id: str) -> Flow[ConnectionView]:
        removed: ConnectionView = yield from self._delete(f"/v1/connections/{segment(id)}")
        return removed
