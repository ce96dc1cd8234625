from __future__ import annotations

from tests.support.shop import daemon, paused, shop

__all__ = ["daemon", "paused", "shop"]
