"""Virtual keys: random, known here only by their digests, and gone with the process or their session.

They are kept in memory and nowhere else. A daemon that starts again knows none of them.
"""

from __future__ import annotations

import hashlib
import secrets
from collections import OrderedDict
from collections.abc import Callable, Iterable

from executor.dataclass import dataclass
from executor.model.ids import now_ms
from executor.model.sessions.model_usage import ModelProvider

# As the providers' keys begin: some agents look.
PREFIXES: dict[ModelProvider, str] = {"anthropic": "sk-ant-", "openai": "sk-", "gemini": "AIza"}
KEPT = 32
MAX_LENGTH = 200


@dataclass(frozen=True, slots=True)
class Issued:
    provider: ModelProvider
    expires_at: int


class VirtualKeys:
    """Those of one session. Of more than `KEPT`, the oldest ends."""

    def __init__(self, clock: Callable[[], int] = now_ms) -> None:
        self._clock = clock
        self._by_digest: OrderedDict[bytes, Issued] = OrderedDict()

    def issue(self, provider: ModelProvider, expires_at: int) -> str:
        key = f"{PREFIXES[provider]}executor-{secrets.token_urlsafe(32)}"
        self._by_digest[digest(key)] = Issued(provider, expires_at)
        while len(self._by_digest) > KEPT:
            self._by_digest.popitem(last=False)
        return key

    def find(self, presented: Iterable[str]) -> Issued | None:
        """The first that is good. Whatever else was presented is not looked at, and never passed on."""
        now = self._clock()
        found = (self._by_digest.get(digest(key)) for key in presented if 0 < len(key) <= MAX_LENGTH)
        return next((issued for issued in found if issued is not None and now < issued.expires_at), None)

    def revoke(self) -> None:
        self._by_digest.clear()


def digest(key: str) -> bytes:
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()
