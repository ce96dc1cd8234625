"""What a session gets to reach a model with, and on which terms."""

from __future__ import annotations

from dataclasses import field
from pathlib import Path

from executor.dataclass import dataclass
from executor.model.sessions.model_usage import ModelProvider

# What the SDKs of a provider expect behind the origin of their base URL.
BASE_PATHS: dict[ModelProvider, str] = {"anthropic": "", "openai": "/v1", "gemini": ""}


@dataclass(frozen=True, slots=True)
class Terms:
    """What one session may use. Each can only narrow what the installation's settings allow.

    `budget` is in nanodollars, for the whole life of the session; None for no budget of its own. `models` are patterns
    such as `claude-*`. `provider_tools` lets the provider search, fetch and run code for the agent: that is egress.
    """

    budget: int | None = None
    models: tuple[str, ...] = ()
    requests_per_minute: int | None = None
    provider_tools: bool = False


@dataclass(frozen=True, slots=True)
class VirtualKey:
    """Good for one provider, through the sockets of one session, until `expires_at` (ms) or the session's end.

    `base_url` is set if the proxy also listens on loopback; behind a relay of `socket` it is `base_url_at(relay)`.
    """

    api_key: str = field(repr=False)
    provider: ModelProvider
    socket: Path
    base_url: str
    expires_at: int

    def base_url_at(self, origin: str) -> str:
        """For an agent that reaches the socket at `origin`, such as `http://127.0.0.1:9000`."""
        return f"{origin.rstrip('/')}{BASE_PATHS[self.provider]}"
