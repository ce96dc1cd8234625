"""How much a proof does: what continuous integration bears, or with `scripts/prove-sessions` all of it."""

from __future__ import annotations

import os

IS_FULL = os.environ.get("PROVE_SESSIONS") == "full"


def size(usual: int, full: int) -> int:
    return full if IS_FULL else usual
