"""Executions: the list, one of them, its calls and log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic

from executor.sdk.execution import Execution
from executor.sdk.flow import Flow, K, Method
from executor.sdk.message import segment
from executor.sdk.resources.resource import Resource, Rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from executor.model.execution import Status
    from executor.surfaces.views.executions import CallView, ExecutionPage, LogLine, ReplayView


class Executions(Resource[K], Generic[K]):
    @Method
    def list(
        self,
        *,
        status: Sequence[Status] = (),
        tool: str = "",
        text: str = "",
        actor: str = "",
        limit: int = 50,
        before: str = "",
    ) -> Flow[ExecutionPage]:
        """Newest first. `next` is the `before` of the following page."""
        found: ExecutionPage = yield from self._get(
            "/v1/executions", status=[*status], tool=tool, text=text, actor=actor, limit=limit, before=before
        )
        return found

    @Method
    def get(self, id: str) -> Flow[Execution]:
        return (yield from self._client._show(id, 0))

    @Method
    def cancel(self, id: str) -> Flow[Execution]:
        view = yield from self._post(f"/v1/executions/{segment(id)}/cancel")
        return Execution.read(view, has_pages=self._client._host is None)

    @Method
    def calls(self, id: str) -> Flow[Rows[CallView]]:
        """The journal of its calls."""
        found: Rows[CallView] = (yield from self._get(f"/v1/executions/{segment(id)}/calls"))["items"]
        return found

    @Method
    def logs(self, id: str) -> Flow[Rows[LogLine]]:
        found: Rows[LogLine] = (yield from self._get(f"/v1/executions/{segment(id)}/logs"))["items"]
        return found

    @Method
    def replay(self, id: str) -> Flow[ReplayView]:
        """Replay its journal without sending anything, and compare."""
        compared: ReplayView = yield from self._post(f"/v1/executions/{segment(id)}/replay")
        return compared
