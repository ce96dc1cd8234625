"""/v1/templates: well-known sources whose name is enough to connect them."""

from __future__ import annotations

from fastapi import APIRouter

from executor.sources.templates import read_templates
from executor.surfaces.api.context import EdgeRoute, needs
from executor.surfaces.api.json_response import PROBLEMS, Answer, answer
from executor.surfaces.views.catalog.sources import TemplatePage, template_view

router = APIRouter(prefix="/v1/templates", route_class=EdgeRoute, tags=["sources"], responses=PROBLEMS)


@router.get("")
@needs("discover")
async def listing() -> Answer[TemplatePage]:
    """List templates. You can pass the `id` of one as the `location` of a source."""
    return answer({"items": [template_view(one) for one in read_templates().values()]})
