"""/v1/templates: well-known sources whose name is enough to connect them."""

from __future__ import annotations

from dataclasses import asdict

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from executor.sources.templates import Template, read_templates
from executor.surfaces import views
from executor.surfaces.api.context import EdgeRoute, needs
from executor.surfaces.api.json_response import PROBLEMS, answer
from executor.surfaces.api.schemas.sources import TemplatePage

router = APIRouter(prefix="/v1/templates", route_class=EdgeRoute, tags=["sources"], responses=PROBLEMS)


@router.get("", response_model=TemplatePage)
@needs("discover")
async def listing(request: Request) -> Response:
    """The `id` of each can be given as the `location` of a source."""
    return answer({"items": [template_view(one) for one in read_templates().values()]})


def template_view(template: Template) -> views.View:
    told = asdict(template)
    told["baseUrl"] = told.pop("base_url") or None
    return {**told, "auth": template.auth or None, "note": template.note or None}
