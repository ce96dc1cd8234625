"""The arguments of `executor.sources.add`: their schema, their familiar words, and what they ask for."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import orjson

from executor.connections.new_connection import Offer
from executor.connections.placement import Placement, check_placement
from executor.connections.schemes import BASIC, BEARER
from executor.errors import InvalidRequest
from executor.execution.builtins.declaration import text
from executor.model.tool import Schema
from executor.runtime.protocol import Proposal
from executor.sources.familiar_words import TRANSPORTS, URL, in_own_words
from executor.sources.source_request import Consent, SourceRequest
from executor.sources.tool_names import namespace_from

PATH = "executor.sources.add"
MAX_HEADERS = 20
STORED = "name of a stored secret, never its value"
PROPERTIES: Schema = {
    URL: text("address of a document, page or endpoint, or the name of a template such as `github`"),
    "endpoint": text("another word for url; with specUrl, the address the calls go to"),
    "command": {
        "type": "array",
        "items": {"type": "string"},
        "minItems": 1,
        "maxItems": 200,
        "description": "command line of an MCP server to run on this machine, instead of a url",
    },
    "namespace": text("first segment of its tools' paths, shown to the approver; default: made from the name"),
    "name": text("display name"),
    "baseUrl": text("address the calls go to, when the document doesn't say"),
    "specUrl": text("address of the document, when the url is that of the service"),
    "kind": text("openapi, graphql, mcp …; default: detected from the address"),
    "transport": {"enum": list(TRANSPORTS), "description": "of an MCP server; default: detected"},
    "headers": {
        "type": "object",
        "additionalProperties": text(STORED),
        "maxProperties": MAX_HEADERS,
        "description": f"header name → {STORED}",
    },
    "auth": {
        "type": "object",
        "properties": {
            "type": {"enum": ["none", "bearer", "apiKey", "basic"]},
            "secret": text(STORED),
            "header": text("default: Authorization; for apiKey X-API-Key"),
            "prefix": text("before the secret; default: Bearer for bearer"),
            "username": text("for basic"),
            "mode": {
                "enum": ["workspace", "static", "actor"],
                "description": "whose calls use it; default: workspace",
            },
        },
        "required": ["type"],
        "additionalProperties": False,
    },
}
_INPUT = re.compile(r"[^a-z0-9_-]+")


def read_proposal(proposal: Proposal) -> Proposal:
    """As it is journalled: in Executor's own words. One that contradicts itself stays as it is, and is refused."""
    if proposal.path != PATH:
        return proposal
    try:
        given = orjson.loads(proposal.arguments)
        words = with_namespace(in_own_words(given, URL)) if isinstance(given, dict) else given
    except (orjson.JSONDecodeError, InvalidRequest):
        return proposal
    return proposal if words == given else replace(proposal, arguments=orjson.dumps(words).decode())


def with_namespace(words: dict[str, Any]) -> dict[str, Any]:
    """From the name that code gives, never from the document: the approver sees it, and which policies cover it."""
    name = words.get("name")
    if words.get("namespace") or not isinstance(name, str) or not (found := namespace_from(name, "")):
        return words
    return {**words, "namespace": found}


def asked_source(arguments: dict[str, Any]) -> SourceRequest:
    transport = arguments.get("transport", "")
    return SourceRequest(
        kind=arguments.get("kind", ""),
        location=arguments.get(URL, ""),
        command=tuple(arguments.get("command", ())),
        namespace=arguments.get("namespace", ""),
        name=arguments.get("name", ""),
        base_url=arguments.get("baseUrl", ""),
        spec_url=arguments.get("specUrl", ""),
        options={"transport": transport} if transport and not arguments.get("command") else {},
        consented=Consent(by_code=True),
    )


def check_arguments(arguments: dict[str, Any]) -> None:
    """What no schema says. Raises InvalidRequest."""
    words = with_namespace(in_own_words(arguments, URL))
    if not words.get("namespace"):
        raise InvalidRequest("`namespace` is missing", hint="pass the first segment of its tools' paths")
    command = "command" in words
    if (URL in words) == command:
        raise InvalidRequest(
            "a source needs either an address (`url` or `endpoint`) or a `command`", hint="pass exactly one of them"
        )
    if "transport" in words and command != (words["transport"] == "stdio"):
        raise InvalidRequest("`stdio` is the transport of a `command`, `http` and `sse` are those of an address")
    if offered_connection(words) is not None and command:
        raise InvalidRequest("`headers` and `auth` are sent to an address, not to a `command`", hint="leave them out")


def offered_connection(arguments: dict[str, Any]) -> Offer | None:
    """The connection that `headers` and `auth` ask for. Their secrets are given by name."""
    placements: list[Placement] = []
    secrets: dict[str, str] = {}
    values: dict[str, str] = {}
    for number, (name, secret) in enumerate(arguments.get("headers", {}).items()):
        part = f"h{number}-{_INPUT.sub('-', name.lower())}"
        placements.append({"in": "header", "name": name, "template": f"{{{part}}}"})
        secrets[part] = secret
    auth = arguments.get("auth", {"type": "none"})
    if auth["type"] != "none":
        placements.append(auth_placement(auth))
        secrets["password" if auth["type"] == "basic" else "token"] = auth["secret"]
        values |= {"username": auth.get("username", "")} if auth["type"] == "basic" else {}
    if not placements:
        return None
    for placement in placements:
        check_placement(placement)
    return Offer(values, secrets, placements=placements, scope="actor" if auth.get("mode") == "actor" else "workspace")


def auth_placement(auth: dict[str, Any]) -> Placement:
    if "secret" not in auth:
        raise InvalidRequest("`auth` doesn't name its secret", hint=f"pass `secret`: the {STORED}")
    if auth["type"] == "basic":
        if "username" not in auth:
            raise InvalidRequest("`auth` of the type `basic` needs a `username`", hint="the secret is the password")
        return BASIC
    is_bearer = auth["type"] == "bearer"
    prefix = auth.get("prefix", "Bearer" if is_bearer else "").strip()
    if "{" in prefix or "}" in prefix:
        raise InvalidRequest("`prefix` of `auth` can't contain braces", hint="for example: Token")
    name = auth.get("header", BEARER["name"] if is_bearer else "X-API-Key")
    return {"in": "header", "name": name, "template": f"{prefix} {{token}}".strip()}


def shown_secrets(arguments: dict[str, Any]) -> list[str]:
    """For the approver: which secrets would be sent, and as what."""
    offered = offered_connection(arguments)
    if offered is None:
        return []
    names = ", ".join(f"`{name}`" for name in dict.fromkeys(offered.secrets.values()))
    headers = ", ".join(str(one["name"]) for one in offered.placements)
    return [f"sends the secret {names} there as {headers}"]
