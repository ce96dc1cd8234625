"""Headers: only those that are known to be harmless pass, in both directions."""

from __future__ import annotations

from collections.abc import Iterable

from executor.model.sessions.model_usage import ModelProvider

Pairs = list[tuple[str, str]]
# No credential, cookie, proxy or organization header is among these.
SENT: dict[ModelProvider, frozenset[str]] = {
    "anthropic": frozenset({"anthropic-version", "anthropic-beta", "x-app"}),
    "openai": frozenset({"openai-beta", "originator", "session_id", "conversation_id"}),
    "gemini": frozenset({"x-goog-api-client"}),
}
SENT_TO_ALL = frozenset({"accept", "content-type", "user-agent"})
SENT_PREFIX = "x-stainless-"
ANSWERED = frozenset(
    {
        *("content-type", "retry-after", "retry-after-ms", "request-id", "x-request-id", "x-should-retry"),
        *("openai-processing-ms", "openai-model", "openai-version", "cache-control"),
    }
)
ANSWERED_PREFIXES = ("anthropic-ratelimit-", "x-ratelimit-", "anthropic-priority-")
CREDENTIALS = ("authorization", "x-api-key", "x-goog-api-key")


def presented_keys(headers: Iterable[tuple[str, str]], query: Iterable[tuple[str, str]]) -> list[str]:
    """Everything that may be meant as a key, wherever a provider's SDK puts it."""
    found = []
    for name, value in headers:
        if name.lower() in CREDENTIALS:
            scheme, _, rest = value.strip().partition(" ")
            found.append(rest.strip() if scheme.lower() == "bearer" else value.strip())
    return found + [value for name, value in query if name == "key"]


def sent_headers(provider: ModelProvider, headers: Iterable[tuple[str, str]], key: str) -> Pairs:
    """What goes to the provider: of the client's the harmless ones as they are, and the real key."""
    allowed = SENT[provider] | SENT_TO_ALL
    passed = [
        (name, value) for name, value in headers if name.lower() in allowed or name.lower().startswith(SENT_PREFIX)
    ]
    return [*passed, ("Accept-Encoding", "identity"), key_header(provider, key)]


def key_header(provider: ModelProvider, key: str) -> tuple[str, str]:
    if provider == "anthropic":
        return "x-api-key", key
    return ("Authorization", f"Bearer {key}") if provider == "openai" else ("x-goog-api-key", key)


def answered_headers(headers: Iterable[tuple[str, str]]) -> Pairs:
    return [
        (name, value)
        for name, value in headers
        if name.lower() in ANSWERED or name.lower().startswith(ANSWERED_PREFIXES)
    ]
