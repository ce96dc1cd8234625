"""Toolkits: named, narrowed views of the catalog, with keys and an MCP address of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic

from executor.sdk.flow import Flow, K, Method
from executor.sdk.message import segment
from executor.sdk.resources.resource import Resource, Rows

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from executor.surfaces.views.toolkits import NewToolkitKeyView, ToolkitKeyView, ToolkitToolView, ToolkitView


class Toolkits(Resource[K], Generic[K]):
    @Method
    def list(self) -> Flow[Rows[ToolkitView]]:
        found: Rows[ToolkitView] = (yield from self._get("/v1/toolkits"))["items"]
        return found

    @Method
    def get(self, toolkit: str) -> Flow[ToolkitView]:
        """By slug or ID."""
        found: ToolkitView = yield from self._get(f"/v1/toolkits/{segment(toolkit)}")
        return found

    @Method
    def add(
        self,
        slug: str,
        patterns: Sequence[str],
        *,
        name: str = "",
        description: str = "",
        policies: Sequence[Mapping[str, Any]] = (),
        pass_through: Sequence[str] = (),
    ) -> Flow[ToolkitView]:
        """`policies` are like `{"pattern": "github.*.delete", "action": "deny"}`: they only narrow."""
        body = {
            "slug": slug,
            "patterns": [*patterns],
            "name": name or None,
            "description": description or None,
            "policies": [dict(one) for one in policies],
            "passThrough": [*pass_through],
        }
        added: ToolkitView = yield from self._post("/v1/toolkits", body)
        return added

    @Method
    def change(self, toolkit: str, fields: dict[str, Any]) -> Flow[ToolkitView]:
        """`{"patterns": ["github.issues.*"]}`; fields that are left out do not change."""
        changed: ToolkitView = yield from self._patch(f"/v1/toolkits/{segment(toolkit)}", fields)
        return changed

    @Method
    def remove(self, toolkit: str) -> Flow[None]:
        yield from self._delete(f"/v1/toolkits/{segment(toolkit)}")

    @Method
    def tools(self, toolkit: str, *, limit: int = 200, after: str = "") -> Flow[Rows[ToolkitToolView]]:
        path = f"/v1/toolkits/{segment(toolkit)}/tools"
        found: Rows[ToolkitToolView] = (yield from self._get(path, limit=limit, after=after))["items"]
        return found

    @Method
    def keys(self, toolkit: str) -> Flow[Rows[ToolkitKeyView]]:
        found: Rows[ToolkitKeyView] = (yield from self._get(f"/v1/toolkits/{segment(toolkit)}/keys"))["items"]
        return found

    @Method
    def create_key(self, toolkit: str, name: str, *, days: int | None = None) -> Flow[NewToolkitKeyView]:
        """`["token"]` is in no other answer."""
        body = {"name": name, "expiresInDays": days}
        made: NewToolkitKeyView = yield from self._post(f"/v1/toolkits/{segment(toolkit)}/keys", body)
        return made

    @Method
    def revoke_key(self, toolkit: str, key_id: str) -> Flow[None]:
        yield from self._delete(f"/v1/toolkits/{segment(toolkit)}/keys/{segment(key_id)}")
