"""An API of notes whose document changes while it is connected."""

from __future__ import annotations

from typing import Any

from tests.sources.upstream import Got, Handler, Reply, as_json

DONE = {"200": {"description": "done", "content": {"application/json": {"schema": {"type": "object"}}}}}


class Notes:
    """An API of notes whose document can be changed. `sent` are the targets of its writes."""

    def __init__(self, url: str, title: str = "Notes") -> None:
        self.url, self.title = url, title
        self.sent: list[str] = []
        self.fields = {"text": {"type": "string"}}
        self.path, self.server, self.more = "/notes", url, dict[str, Any]()

    def document(self) -> dict[str, Any]:
        schema = {"type": "object", "properties": self.fields}
        body = {"content": {"application/json": {"schema": schema}}}
        add = {"tags": ["n"], "operationId": "add", "requestBody": body, "responses": DONE}
        return {
            "openapi": "3.1.0",
            "info": {"title": self.title, "version": "1"},
            "servers": [{"url": self.server}],
            "paths": {self.path: {"post": add}, **self.more},
        }

    def __call__(self, got: Got, handler: Handler) -> Reply:
        if got.target.endswith("openapi.json"):
            return as_json(self.document())
        if got.method != "GET":
            self.sent.append(f"{got.method} {got.target}")
        return as_json({"at": got.target})
