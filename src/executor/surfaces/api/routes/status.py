"""/healthz, /v1/status and /v1/doctor: how the daemon is."""

from __future__ import annotations

import os
import platform
from typing import cast

from fastapi import APIRouter

from executor import __version__
from executor.execution import history
from executor.identity import workspaces
from executor.model.ids import now_ms
from executor.surfaces.api.context import Context, EdgeRoute, needs, public
from executor.surfaces.api.json_response import PROBLEMS, Answer, answer
from executor.surfaces.views.base import time
from executor.surfaces.views.system import Check, Doctor, Health, Readiness, StatusView

router = APIRouter(route_class=EdgeRoute, tags=["daemon"], responses=PROBLEMS)


@router.get("/healthz")
@public
async def health() -> Answer[Health]:
    """Public, and only says that the daemon answers. The HTTP edge answers it, even before this is loaded."""
    return answer({"ok": True})


@router.get("/readyz", responses={503: {"description": "Not now: it starts, stops, or can't use its database"}})
@public
async def ready() -> Answer[Readiness]:
    """Public: whether requests should be sent here. The HTTP edge answers it, even before this is loaded."""
    return answer({"ready": True})


@router.get("/v1/status")
@needs("discover")
async def status(here: Context) -> Answer[StatusView]:
    """Get versions, process, counts and sandbox of this daemon."""
    layers = [layer.name for layer in here.executor.runtime.layers if layer.active]
    workspace, _ = await workspaces.current(here.executor.database, here.actor)
    connected = await here.executor.catalog.sources(here.workspace_id)
    return answer(
        {
            "version": __version__,
            "python": platform.python_version(),
            "database": here.executor.database.version,
            "pid": os.getpid(),
            "address": here.executor.settings.base_url,
            "startedAt": time(here.executor.started_at),
            "uptimeSeconds": (now_ms() - here.executor.started_at) / 1000,
            "workspace": {"id": workspace.id, "name": workspace.name},
            "executions": await history.count_by_status(here.executor.database, here.actor),
            "sources": len(connected),
            "tools": sum(source.tool_count for source in connected),
            "sandbox": {"runtime": "typescript", "workers": here.executor.settings.workers, "layers": layers},
        }
    )


@router.get("/v1/doctor")
@needs("administer")
async def doctor(here: Context) -> Answer[Doctor]:
    """Run all checks. Each comes with a suggested fix."""
    from executor.daemon.doctor import checks  # heavy, and rarely asked for

    return answer({"checks": cast("list[Check]", await checks.daemon_checks(here.executor))})
