"""The network as identity uses it: only authorization servers that the operator named."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol


class HttpClient(Protocol):
    """Through the one outbound client. Raises OAuthFailed when there is no answer."""

    async def document(self, url: str, bearer: str = "") -> dict[str, Any] | None:
        """A JSON object, or None if this address has none."""

    async def post_form(
        self, url: str, form: Mapping[str, str], headers: Mapping[str, str]
    ) -> tuple[int, dict[str, Any]]: ...
