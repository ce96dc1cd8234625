"""Small documents with one list, and services that give it page by page."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from executor.model.source import Source
from executor.network.client import Egress
from executor.schemas.validation import compile_schema, problems
from executor.sources.openapi.kind import OpenApi
from executor.sources.source_request import Consent, SourceRequest
from tests.sources.openapi.documents import answers, document
from tests.sources.upstream import Got, Handler, Reply, Upstream, as_json

TEXT, NUMBER, FLAG = {"type": "string"}, {"type": "integer"}, {"type": "boolean"}
Asked = dict[str, str]
Service = Callable[[Asked], Any]


def fields(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


THINGS = {"type": "array", "items": fields(id=NUMBER)}


def query(name: str, schema: Any = NUMBER, description: str = "") -> dict[str, Any]:
    return {"name": name, "in": "query", "schema": schema, "description": description}


def things(start: int, count: int) -> list[dict[str, int]]:
    return [{"id": number} for number in range(start, start + count)]


class List:
    """One list of a service, whose behaviour may change between calls."""

    def __init__(
        self,
        egress: Egress,
        upstream: Upstream,
        parameters: list[Any],
        schema: Any,
        *,
        body: Any = None,
        **headers: Any,
    ) -> None:
        """With a `body`, it is a search by POST. `headers` are those that the document declares."""
        self.upstream, self.kind = upstream, OpenApi(egress, call_seconds=60.0)
        self.service: Service = lambda asked: []
        self.reason = ""
        operation = {"operationId": "list", "parameters": parameters, "responses": answers(schema)}
        operation["responses"]["200"]["headers"] = {name.replace("_", "-"): {"schema": TEXT} for name in headers}
        if body is not None:
            operation["requestBody"] = {"required": True, "content": {"application/json": {"schema": body}}}
        method = "get" if body is None else "post"
        upstream.routes["/openapi.json"] = as_json(document({"/list": {method: operation}}))
        upstream.routes["/list"] = self.answer

    def answer(self, got: Got, handler: Handler) -> Reply:
        asked = {**dict(parse_qsl(urlsplit(got.target).query)), **json.loads(got.body or b"{}")}
        reply = self.service(asked)
        return reply if isinstance(reply, Reply) else as_json(reply)

    @property
    def targets(self) -> list[str]:
        return [got.target for got in self.upstream.requests if got.target != "/openapi.json"]

    async def all(self, service: Service, **arguments: Any) -> tuple[list[Any], bool]:
        self.service = service
        request = SourceRequest(location=self.upstream.url + "/openapi.json", consented=Consent(private_network=True))
        loaded = await self.kind.load(request)
        (tool,) = (tool for tool in loaded.tools if tool.path.endswith(".all"))
        assert not problems(
            compile_schema(self.kind.strict_schema(tool)), self.kind.arrange(tool, arguments), arguments, tool
        )
        source = Source("s", "w", "openapi", loaded.namespace, loaded.name, loaded.config)
        found = json.loads(await self.kind.invoke(source, tool, arguments, ""))
        self.reason = found.get("reason", "")
        assert found["complete"] == (not self.reason)
        return found["items"], found["complete"]
