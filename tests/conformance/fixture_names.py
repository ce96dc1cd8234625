"""The suite calls its fixtures by its own names, so names are translated for it.

Nothing else is changed, and answers not at all. A fixture tool is one of the conformance source, which a toolkit passes
through; a fixture resource is an artifact, a fixture prompt the guide.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

NAMESPACE = "conformance"
REPLACED = (b"content-length", b"authorization")
PATH = f"/mcp/toolkits/{NAMESPACE}"
LOGGING = f"return await tools.{NAMESPACE}.test_tool_with_logging({{}})"
# What the suite calls them, where that differs from what the conformance source does.
SAME = {"test_logging_tool": "test_tool_with_logging", "test_streaming_elicitation": "test_tool_with_logging"}
FIXTURES = frozenset({
    "test_simple_text", "test_image_content", "test_audio_content", "test_embedded_resource",
    "test_multiple_content_types", "test_error_handling", "test_tool_with_logging", "greet", "failing_job",
})  # fmt: skip
CODE = {
    # Progress counts calls.
    "test_tool_with_progress": (
        f"for (let i = 0; i < 3; i++) await tools.{NAMESPACE}.test_simple_text({{}}); return 'done'"
    ),
    # A timer is cancelled at once. A call of a source that may write is waited for first.
    "slow_compute": "await new Promise(done => setTimeout(done, given.seconds * 1000)); return given.label",
    # A person has to decide: the client gets the link, and no task that waits for input.
    "confirm_delete": 'return await tools.executor.sources.add({endpoint: "https://mcp.invalid/", namespace: "asked"})',
}


class Translator:
    """In front of a daemon's surfaces. It also adds the agent's token: the suite knows of none."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._token = token
        self.uris: dict[str, str] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] != PATH:
            await self._app(scope, receive, send)
            return
        body = await _body(receive)
        changed, name = self._translate(body)
        headers = [(key, value) for key, value in scope["headers"] if key not in REPLACED]
        headers += [(b"authorization", f"Bearer {self._token}".encode())]
        headers += [(b"content-length", str(len(changed)).encode())] if body else []
        if name:
            headers = [(key, name.encode() if key == b"mcp-name" else value) for key, value in headers]
        first: Message | None = {"type": "http.request", "body": changed, "more_body": False}

        async def replay() -> Message:
            nonlocal first
            message, first = first, None
            return message if message is not None else await receive()

        await self._app({**scope, "headers": headers}, replay, send)

    def _translate(self, body: bytes) -> tuple[bytes, str]:
        """The body, and the name in it if that has changed."""
        try:
            message = json.loads(body)
            params = message["params"]
            changed, name = self._params(message["method"], params)
        except (ValueError, KeyError, TypeError):
            return body, ""
        if changed is None:
            return body, ""
        return json.dumps({**message, "params": {**params, **changed}}).encode(), name

    def _params(self, method: str, params: Mapping[str, Any]) -> tuple[dict[str, Any] | None, str]:
        if method == "tools/call" and params["name"] in CODE:
            code = f"const given = {json.dumps(params.get('arguments') or {})}; {CODE[params['name']]}"
            return {"name": "execute", "arguments": {"code": code}}, "execute"
        if method == "tools/call" and (known := SAME.get(params["name"], params["name"])) in FIXTURES:
            return {"name": f"{NAMESPACE}_{known}"}, f"{NAMESPACE}_{known}"
        if method == "resources/read" and params["uri"] in self.uris:
            uri = self.uris[params["uri"]]
            return {"uri": uri}, uri
        if method == "prompts/get" and params["name"].startswith("test_"):
            return {"name": "guide", "arguments": {"task": " ".join(params.get("arguments", {}).values())}}, "guide"
        if method == "completion/complete":
            ref = {"type": "ref/resource", "uri": "executor://artifacts/{id}"}
            return {"ref": ref, "argument": {"name": "id", "value": ""}}, ""
        return None, ""


async def _body(receive: Receive) -> bytes:
    body, more = b"", True
    while more:
        message = await receive()
        body, more = body + message.get("body", b""), message.get("more_body", False)
    return body
