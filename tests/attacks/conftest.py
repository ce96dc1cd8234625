"""The whole product, attacked: a real Executor with its sandbox, its database and an upstream that counts effects."""

from __future__ import annotations

from tests.execution.conftest import harness, ledger, reopen, settings
from tests.support.shop import daemon, paused, shop

__all__ = ["daemon", "harness", "ledger", "paused", "reopen", "settings", "shop"]
