"""Sources: what is connected."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, Literal

from executor.errors import InvalidRequest, NotFound
from executor.sdk.flow import Flow, K, Method
from executor.sdk.message import segment
from executor.sdk.resources.resource import Resource, Rows

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from executor.surfaces.views.catalog.sources import AddedView, PreviewView, RefreshedView, SourceView
    from executor.surfaces.views.catalog.tools import ToolPage

READ_SECONDS = 600.0  # a large document, or a server that starts


class Sources(Resource[K], Generic[K]):
    @Method
    def list(self) -> Flow[Rows[SourceView]]:
        found: Rows[SourceView] = (yield from self._get("/v1/sources"))["items"]
        return found

    @Method
    def get(self, source: str) -> Flow[SourceView]:
        """By id or namespace."""
        found: SourceView = yield from self._get(f"/v1/sources/{segment(source)}")
        return found

    @Method
    def add(
        self,
        location: str = "",
        *,
        namespace: str = "",
        name: str = "",
        kind: str = "",
        document: str | None = None,
        command: Sequence[str] = (),
        base_url: str = "",
        headers: Mapping[str, str] | None = None,
        options: Mapping[str, Any] | None = None,
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
        hints: Literal["trust", "ask"] = "ask",
        consent: bool = False,
    ) -> Flow[AddedView]:
        """Connect a document, an endpoint, a `command`, `python:package.module` or a template by its name.

        `consent` agrees to run a command or a module. More options: `request("POST", "/v1/sources", {...})`.
        """
        body = self._body(
            location=location,
            namespace=namespace,
            name=name,
            kind=kind,
            document=document,
            command=[*command],
            baseUrl=base_url,
            headers=dict(headers or {}),
            options=dict(options or {}),
            include=[*include],
            exclude=[*exclude],
            hints=hints,
            consent=consent,
        )
        added: AddedView = yield from self._post("/v1/sources", body, seconds=READ_SECONDS)
        return added

    @Method
    def add_functions(self, namespace: str, *functions: Callable[..., Any]) -> Flow[SourceView]:
        """Functions of this program as tools, called in this process; only of an embedded Executor.

        Mark what they do with `@tool(effect="read")`: without that, each call needs approval. A namespace that was
        added before gets these functions instead.
        """
        if self._client._host is None:
            raise InvalidRequest(
                "a daemon can't call functions of this program",
                hint="use `Executor.embedded()`, or put them into a module that the daemon can import, and add "
                "`python:package.module`",
            )
        from executor.sdk.functions import publish

        location = publish(namespace, functions)
        try:
            known: SourceView = yield from self._get(f"/v1/sources/{segment(namespace)}")
        except NotFound:
            body = {"location": location, "namespace": namespace, "name": namespace, "consent": True}
            added: SourceView = yield from self._post("/v1/sources", body, seconds=READ_SECONDS)
            return added
        if known["location"] != location:
            raise InvalidRequest(f"the namespace {namespace} has another source", hint="use another namespace")
        refreshed: SourceView = yield from self._post(f"/v1/sources/{segment(namespace)}/refresh", seconds=READ_SECONDS)
        return refreshed

    @Method
    def preview(self, location: str, *, kind: str = "", document: str | None = None) -> Flow[PreviewView]:
        """The tools that a source would offer, without connecting it."""
        body = self._body(location=location, kind=kind, document=document)
        found: PreviewView = yield from self._post("/v1/sources/preview", body, seconds=READ_SECONDS)
        return found

    @Method
    def refresh(self, source: str) -> Flow[RefreshedView]:
        refreshed: RefreshedView = yield from self._post(f"/v1/sources/{segment(source)}/refresh", seconds=READ_SECONDS)
        return refreshed

    @Method
    def remove(self, source: str) -> Flow[SourceView]:
        """Disconnect it. Its pending approvals are denied."""
        removed: SourceView = yield from self._delete(f"/v1/sources/{segment(source)}")
        return removed

    @Method
    def tools(
        self, *, source: str | None = None, prefix: str = "", limit: int = 100, after: str = ""
    ) -> Flow[ToolPage]:
        """Tools by path. `next` is the `after` of the following page."""
        found: ToolPage = yield from self._get("/v1/tools", source=source, prefix=prefix, limit=limit, after=after)
        return found

    def _body(self, **fields: Any) -> dict[str, Any]:
        return {name: value for name, value in fields.items() if value not in ("", None, [], {})}
