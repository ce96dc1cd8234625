"""What a refusal at `/mcp` says about getting in (RFC 6750, RFC 9728): clients start their login from it."""

from __future__ import annotations

from executor.errors import ExecutorError, InsufficientScope, Unauthorized
from executor.settings import Settings
from executor.surfaces.http.mcp_paths import toolkit_in

PATH = "/mcp"
METADATA = "/.well-known/oauth-protected-resource"


class Challenge:
    """Only where an authorization server is configured: elsewhere there is nothing that a client could do."""

    def __init__(self, settings: Settings) -> None:
        self._is_configured = bool(settings.mcp_issuer)
        self._metadata = f"{settings.address}{METADATA}{PATH}"
        self._scopes = " ".join(settings.mcp_scopes)

    def headers(self, path: str, error: ExecutorError, *, has_token: bool) -> dict[str, str]:
        is_ours = path == PATH or bool(toolkit_in(path))
        if not self._is_configured or not is_ours or not isinstance(error, (Unauthorized, InsufficientScope)):
            return {}
        parts = {"resource_metadata": self._metadata, "scope": self._scopes}
        if isinstance(error, InsufficientScope):
            parts |= {"error": "insufficient_scope", "error_description": error.message}
        elif has_token:
            parts |= {"error": "invalid_token", "error_description": error.message}
        return {
            "WWW-Authenticate": "Bearer "
            + ", ".join(f'{name}="{quote_value(text)}"' for name, text in parts.items() if text)
        }


def quote_value(text: str) -> str:
    """Inside the quotes of a header: whatever could end them early or is no plain character is left out."""
    return "".join(letter for letter in text if " " <= letter <= "~" and letter not in '"\\')
