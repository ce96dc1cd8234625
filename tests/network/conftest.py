from __future__ import annotations

from tests.sources.conftest import egress, elsewhere, upstream

__all__ = ["egress", "elsewhere", "upstream"]
