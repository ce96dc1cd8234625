"""The endpoints that are served. Everything else is refused, whatever the provider would make of it."""

from __future__ import annotations

import re
from typing import Literal
from urllib.parse import parse_qsl, urlencode

from executor.dataclass import dataclass
from executor.model.sessions.model_usage import ModelProvider
from executor.sessions.model_proxy.wire.refusals import refuse

Dialect = Literal["messages", "responses", "chat", "generate"]
MODEL = r"(?P<model>[A-Za-z0-9][A-Za-z0-9._-]{0,199})"
KEY_PARAMETER = "key"  # Gemini's; it is a credential, and never passed on
COUNT = "count_tokens"
MAX_TARGET = 4096


@dataclass(frozen=True, slots=True)
class Endpoint:
    """`dialect` is how its body is read, None if it has none; `is_metered` if it generates, and so costs.

    `query` are the parameters that may be passed on.
    """

    provider: ModelProvider
    name: str
    method: Literal["GET", "POST"]
    path: re.Pattern[str]
    dialect: Dialect | None = None
    query: frozenset[str] = frozenset()

    @property
    def is_metered(self) -> bool:
        return self.dialect is not None and self.name != COUNT


@dataclass(frozen=True, slots=True)
class Route:
    """`target` is path and query as they are sent on, without any key. `model` is set if the path names it."""

    endpoint: Endpoint
    target: str
    model: str


def endpoint(
    provider: ModelProvider, name: str, line: str, dialect: Dialect | None = None, query: tuple[str, ...] = ()
) -> Endpoint:
    method, path = line.split(" ")
    assert method in ("GET", "POST")  # noqa: S101 - for the type checker; the lines are below
    return Endpoint(provider, name, method, re.compile(path + r"\Z", re.ASCII), dialect, frozenset(query))  # type: ignore[arg-type]


ENDPOINTS = (
    endpoint("anthropic", "messages", "POST /v1/messages", "messages", ("beta",)),
    endpoint("anthropic", COUNT, "POST /v1/messages/count_tokens", "messages", ("beta",)),
    endpoint("anthropic", "models", f"GET /v1/models(?:/{MODEL})?", query=("limit", "after_id", "before_id", "beta")),
    endpoint("openai", "responses", "POST /v1/responses", "responses"),
    endpoint("openai", "chat", "POST /v1/chat/completions", "chat"),
    endpoint("openai", "models", f"GET /v1/models(?:/{MODEL})?", query=("client_version",)),
    endpoint("gemini", "generate", f"POST /v1beta/models/{MODEL}:generateContent", "generate", ("alt",)),
    endpoint("gemini", "stream", f"POST /v1beta/models/{MODEL}:streamGenerateContent", "generate", ("alt",)),
    endpoint("gemini", COUNT, f"POST /v1beta/models/{MODEL}:countTokens", "generate"),
    endpoint("gemini", "models", f"GET /v1beta/models(?:/{MODEL})?", query=("pageSize", "pageToken")),
)


def split_target(raw: str) -> tuple[str, list[tuple[str, str]]]:
    """Path and parameters of a request line, in origin form only: a proxy request names another host."""
    if not raw.startswith("/") or raw.startswith("//"):
        raise refuse("invalid", "absolute_form", "only requests to this address are served, not to another host")
    if len(raw) > MAX_TARGET or not raw.isascii() or not raw.isprintable() or "#" in raw:
        raise refuse("invalid", "target", "the address of the request is not valid")
    path, _, query = raw.partition("?")
    return path, parse_qsl(query, keep_blank_values=True, max_num_fields=20) if query else []


def find_route(provider: ModelProvider, method: str, path: str, query: list[tuple[str, str]]) -> Route:
    """Matched letter by letter: nothing is decoded, so nothing can mean another path to the provider."""
    at_path = [(one, match) for one in ENDPOINTS if one.provider == provider and (match := one.path.match(path))]
    if not at_path:
        raise refuse("not_found", "endpoint", f"{path[:200]} is not served to agent sessions")
    found = next(((one, match) for one, match in at_path if one.method == method), None)
    if found is None:
        raise refuse("method", "method", f"{method[:20]} is not served at {path[:200]}")
    known, match = found
    passed = [(name, value) for name, value in query if name != KEY_PARAMETER]
    for name, _ in passed:
        if name not in known.query:
            raise refuse("invalid", "parameter", f"the parameter {name[:100]!r} is not served")
    model = match["model"] if "model" in known.path.groupindex else None
    return Route(known, f"{path}?{urlencode(passed)}" if passed else path, model or "")
