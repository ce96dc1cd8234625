"""Policies: which calls run, need approval, or are denied."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic

from executor.sdk.flow import Flow, K, Method
from executor.sdk.message import segment
from executor.sdk.resources.resource import Resource, Rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from executor.model.policy import Action, Level
    from executor.model.tool import Effect
    from executor.surfaces.views.catalog.policies import ConditionView, DecisionView, PolicyView


class Policies(Resource[K], Generic[K]):
    @Method
    def list(self) -> Flow[Rows[PolicyView]]:
        """In order."""
        found: Rows[PolicyView] = (yield from self._get("/v1/policies"))["items"]
        return found

    @Method
    def get(self, id: str) -> Flow[PolicyView]:
        return (yield from self._find(id))

    def _find(self, id: str) -> Flow[PolicyView]:
        found: PolicyView = yield from self._get(f"/v1/policies/{segment(id)}")
        return found

    @Method
    def add(
        self,
        pattern: str,
        action: Action,
        *,
        conditions: Sequence[ConditionView] = (),
        actor: str = "",
        source: str = "",
        effect: Effect | None = None,
        note: str = "",
        level: Level = "workspace",
        position: int | None = None,
    ) -> Flow[PolicyView]:
        """`pattern` is a path such as `github.issues.*`."""
        body = {
            "pattern": pattern,
            "action": action,
            "conditions": [*conditions],
            "actor": actor,
            "source": source,
            "effect": effect,
            "note": note,
            "level": level,
            "position": position,
        }
        added: PolicyView = yield from self._create("/v1/policies", body, self._find)
        return added

    @Method
    def change(self, id: str, fields: dict[str, Any]) -> Flow[PolicyView]:
        """`{"action": "deny"}`; fields that are left out do not change."""
        changed: PolicyView = yield from self._patch(f"/v1/policies/{segment(id)}", fields)
        return changed

    @Method
    def remove(self, id: str) -> Flow[None]:
        yield from self._delete(f"/v1/policies/{segment(id)}")

    @Method
    def test(self, path: str, arguments: dict[str, Any] | None = None, *, actor: str = "") -> Flow[DecisionView]:
        """Which policy decides a call, and why."""
        body = {"path": path, "arguments": arguments, "actor": actor}
        decided: DecisionView = yield from self._post("/v1/policies/test", body)
        return decided
