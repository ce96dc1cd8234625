"""Tokens as agents report them at the end of a turn."""

from __future__ import annotations

from typing import Any

from executor.sessions.protocol.messages import TokenUsage

_STANDARD = {
    "input": "inputTokens",
    "output": "outputTokens",
    "cache_read": "cachedReadTokens",
    "cache_write": "cachedWriteTokens",
}


def read_usage(response: dict[str, Any]) -> TokenUsage | None:
    """The field of the protocol, or Gemini's own; None if there is neither."""
    found = response.get("usage")
    if isinstance(found, dict):
        return _usage({ours: found.get(theirs) for ours, theirs in _STANDARD.items()})
    quota = (response.get("_meta") or {}).get("quota") if isinstance(response.get("_meta"), dict) else None
    count = quota.get("token_count") if isinstance(quota, dict) else None
    if isinstance(count, dict):
        return _usage({"input": count.get("input_tokens"), "output": count.get("output_tokens")})
    return None


def _usage(values: dict[str, Any]) -> TokenUsage:
    def number(name: str) -> int:
        value = values.get(name)
        return value if isinstance(value, int) and value >= 0 else 0

    return {
        "input": number("input"),
        "output": number("output"),
        "cache_read": number("cache_read"),
        "cache_write": number("cache_write"),
    }
