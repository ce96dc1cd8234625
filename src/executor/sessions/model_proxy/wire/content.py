"""What a request asks for: which model, how much output, and whether the provider would reach out for it.

A body is parsed and written again, so that what was judged is what is sent: a field that occurs twice, or is escaped,
can't mean one thing here and another to the provider.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson

from executor.dataclass import dataclass
from executor.sessions.model_proxy.wire import provider_tools
from executor.sessions.model_proxy.wire.endpoints import Dialect
from executor.sessions.model_proxy.wire.refusals import refuse

BYTES_PER_TOKEN = 2  # fewer than any ordinary text has, so that an estimate is rather too high
TOKENS_PER_IMAGE = 16_000
MAX_CHOICES = 8
OUTPUT_FIELDS: dict[Dialect, tuple[str, ...]] = {
    "messages": ("max_tokens",),
    "responses": ("max_output_tokens",),
    "chat": ("max_completion_tokens", "max_tokens"),
    "generate": ("maxOutputTokens", "max_output_tokens"),
}
# What needs something that the provider has stored, continues without anyone reading, or costs more than is listed.
REFUSED_FIELDS: dict[Dialect, tuple[str, ...]] = {
    "messages": ("container", "inference_geo"),
    "responses": ("previous_response_id", "conversation", "prompt"),
    "chat": ("audio",),
    "generate": ("cachedContent", "cached_content"),
}
# Fields that decide something. A gateway may read them in any spelling; here there is one.
DECISIVE = ("model", "stream", "tools", "n", "service_tier", "speed", "background")
TIERS = (None, "auto", "default", "standard", "standard_only", "flex")


@dataclass(frozen=True, slots=True)
class Asked:
    """`output` is the most it may generate, None if it does not say. `input` is an estimate in tokens.

    `removed` names the provider's tools that were taken out. `hides_usage` says that the client has not asked for the
    usage that the proxy requests in its place.
    """

    body: bytes
    model: str
    output: int | None
    input: int
    removed: tuple[str, ...] = ()
    hides_usage: bool = False


def read_body(raw: bytes) -> dict[str, Any]:
    try:
        body = orjson.loads(raw)
    except orjson.JSONDecodeError:
        raise refuse("invalid", "body", "the body is not valid JSON") from None
    if not isinstance(body, dict):
        raise refuse("invalid", "body", "the body is not a JSON object")
    return body


def judge(dialect: Dialect, raw: bytes, model: str, *, allow_provider_tools: bool) -> Asked:
    """`model` is set if the path names it."""
    body = read_body(raw)
    check_spelling(dialect, body)
    check_fields(dialect, body)
    removed = () if allow_provider_tools else provider_tools.remove_or_refuse(dialect, body)
    hides_usage = dialect == "chat" and request_usage(body)
    if dialect != "generate":
        model = str(body["model"]) if isinstance(body.get("model"), str) else ""
        if not model or len(model) > 200 or not model.isprintable():
            raise refuse("invalid", "model", "the body names no model")
    written = orjson.dumps(body)
    images, image_bytes = provider_tools.inspect_content(dialect, body, written, allowed=allow_provider_tools)
    tokens = (len(written) - image_bytes) // BYTES_PER_TOKEN + images * TOKENS_PER_IMAGE
    return Asked(written, model, most_output(dialect, body), tokens, removed, hides_usage)


def check_spelling(dialect: Dialect, body: dict[str, Any]) -> None:
    """Gemini's JSON has exactly two spellings of each name, and both are looked at."""
    if dialect == "generate":
        return
    exact = {*DECISIVE, *OUTPUT_FIELDS[dialect], *REFUSED_FIELDS[dialect]}
    plain = {bare(name) for name in exact}
    for name in body:
        if bare(name) in plain and name not in exact:
            raise refuse("invalid", "spelling", f"the field {name[:100]!r} is misspelt")


def bare(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()


def check_fields(dialect: Dialect, body: dict[str, Any]) -> None:
    for name in REFUSED_FIELDS[dialect]:
        if body.get(name) is not None:
            raise refuse("invalid", "field", f"{name} is not available to agent sessions")
    if body.get("background"):
        raise refuse("invalid", "field", "background responses are not available to agent sessions")
    tier = body.get("service_tier", body.get("serviceTier"))
    if tier not in TIERS or body.get("speed", "standard") != "standard":
        raise refuse("invalid", "field", "only the standard service tier and speed are available to agent sessions")


def request_usage(body: dict[str, Any]) -> bool:
    """True if the client streams and did not ask for usage itself."""
    if body.get("stream") is not True:
        return False
    options = body.get("stream_options")
    asked = options if isinstance(options, dict) else {}
    body["stream_options"] = {**asked, "include_usage": True}
    return asked.get("include_usage") is not True


def most_output(dialect: Dialect, body: dict[str, Any]) -> int | None:
    """Tokens of all choices together. The largest number counts where several say it."""
    configs = list(generation_configs(body)) if dialect == "generate" else [body]
    said = [int(one[name]) for one in configs for name in OUTPUT_FIELDS[dialect] if is_count(one.get(name))]
    thinking = body.get("thinking") if dialect == "messages" else None
    if isinstance(thinking, dict) and is_count(thinking.get("budget_tokens")):
        said.append(int(thinking["budget_tokens"]))
    if not said:
        return None if choices(configs) == 1 else refuse_choices()
    return max(said) * choices(configs)


def choices(configs: list[dict[str, Any]]) -> int:
    said = [one.get(name, 1) for one in configs for name in ("n", "candidateCount", "candidate_count")]
    if not all(value is None or (is_count(value) and 1 <= value <= MAX_CHOICES) for value in said):
        raise refuse("invalid", "choices", f"a request may ask for 1 to {MAX_CHOICES} answers")
    return max((value for value in said if value is not None), default=1)


def refuse_choices() -> int:
    raise refuse("invalid", "choices", "a request for several answers must limit their length")


def generation_configs(body: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for name in ("generationConfig", "generation_config"):
        if isinstance(body.get(name), dict):
            yield body[name]


def is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10_000_000
