"""Well-known sources by name: facts about where they are, kept as data in `templates.toml`."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

from executor.dataclass import dataclass
from executor.sources.source_request import SourceRequest


@dataclass(frozen=True, slots=True)
class Template:
    """`auth` says in words what a call needs; `note` what has to be given by hand."""

    id: str
    name: str
    kind: str
    location: str
    namespace: str
    base_url: str = ""
    auth: str = ""
    note: str = ""


@cache
def read_templates() -> dict[str, Template]:
    import tomllib

    text = Path(__file__).with_name("templates.toml").read_text(encoding="utf-8")
    return {name: Template(id=name, **facts) for name, facts in tomllib.loads(text).items()}


def apply_template(request: SourceRequest) -> SourceRequest:
    """A location that is the name of a template means that template; what was given by hand wins."""
    template = read_templates().get(request.location) if request.document is None and not request.command else None
    if template is None:
        return request
    return replace(
        request,
        location=template.location,
        kind=request.kind or template.kind,
        namespace=request.namespace or template.namespace,
        name=request.name or template.name,
        base_url=request.base_url or template.base_url,
    )
