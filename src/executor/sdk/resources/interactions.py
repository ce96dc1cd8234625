"""Interactions: what waits for a decision, and the decisions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, Literal

from executor.sdk.execution import Answer, Approve, Deny, Interaction
from executor.sdk.flow import Flow, K, Method
from executor.sdk.message import segment
from executor.sdk.resources.resource import Resource, Rows

if TYPE_CHECKING:
    from executor.model.interaction import InteractionStatus
    from executor.surfaces.views.interactions import InteractionView


class Interactions(Resource[K], Generic[K]):
    @Method
    def list(
        self, *, status: InteractionStatus | None = "pending", execution: str | None = None, limit: int = 50
    ) -> Flow[Rows[Interaction]]:
        """Newest first, of executions and of sessions."""
        found = yield from self._get("/v1/interactions", status=status, executionId=execution, limit=limit)
        return [self._read(view) for view in found["items"]]

    @Method
    def get(self, id: str) -> Flow[Interaction]:
        """With all of its arguments, however long."""
        return self._read((yield from self._get(f"/v1/interactions/{segment(id)}")))

    @Method
    def approve(
        self, id: str, *, scope: Literal["once", "execution", "session", "always"] = "once", result: Any = ...
    ) -> Flow[Interaction]:
        """Allow exactly this call. `always` creates a policy for it."""
        return self._read((yield from self._client._decide(id, Approve(scope, result))))

    @Method
    def deny(self, id: str, reason: str = "") -> Flow[Interaction]:
        return self._read((yield from self._client._decide(id, Deny(reason))))

    @Method
    def answer(self, id: str, content: dict[str, Any] | None = None) -> Flow[Interaction]:
        """Accept an `elicitation`."""
        return self._read((yield from self._client._decide(id, Answer(content))))

    @Method
    def give_credential(self, id: str, values: dict[str, str], *, way: str = "") -> Flow[Interaction]:
        """What a `credential` interaction needs. Every call that waits for the same credential continues."""
        body = {"values": values, "way": way}
        return self._read((yield from self._post(f"/v1/interactions/{segment(id)}/credential", body)))

    def _read(self, view: InteractionView) -> Interaction:
        return Interaction.read(view, has_pages=self._client._host is None)
