"""Small documents for tests."""

from __future__ import annotations

from typing import Any

from executor.model.source import Loaded
from executor.model.tool import Tool
from executor.sources.openapi.kind import build_catalog
from executor.sources.source_request import SourceRequest

LOCATION = "https://api.example.com/openapi.json"


def document(paths: dict[str, Any], **parts: Any) -> dict[str, Any]:
    return {"openapi": "3.1.0", "info": {"title": "Things", "version": "1"}, "paths": paths, **parts}


def load(paths: dict[str, Any], **parts: Any) -> Loaded:
    import json

    return build_catalog(SourceRequest(location=LOCATION), json.dumps(document(paths, **parts)).encode(), LOCATION)


def one_tool(path: str, operation: dict[str, Any], method: str = "get", **parts: Any) -> Tool:
    loaded = load({path: {method: operation}}, **parts)
    assert not loaded.skipped
    (tool,) = loaded.tools
    return tool


def json_body(schema: Any, **parts: Any) -> dict[str, Any]:
    return {"content": {"application/json": {"schema": schema}}, **parts}


def answers(schema: Any, status: str = "200") -> dict[str, Any]:
    return {status: {"description": "", "content": {"application/json": {"schema": schema}}}}
