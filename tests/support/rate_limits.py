"""Rate limits whose clock does not move: on a busy machine the attempts would come back while a test uses them up."""

from __future__ import annotations

import pytest

from executor.identity.rate_limit import RateLimit
from tests.surfaces.api.daemon_server import Daemon


def stop_rate_limit_clocks(daemon: Daemon, monkeypatch: pytest.MonkeyPatch) -> None:
    executor = daemon.executor
    for owner in (executor.authenticator, executor.anonymous, executor.issuers.sign_ins):
        for limit in vars(owner).values() if owner is not None else ():
            if isinstance(limit, RateLimit):
                now = limit._clock()
                monkeypatch.setattr(limit, "_clock", lambda now=now: now)
