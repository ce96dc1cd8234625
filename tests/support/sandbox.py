"""Tests that run an agent in a sandbox are skipped where the machine has none."""

from __future__ import annotations

import pytest

from executor.sessions.isolation.sandbox import why_unavailable

_missing = why_unavailable()
needs_sandbox = pytest.mark.skipif(bool(_missing), reason=f"no sandbox here: {_missing}")
